"""The pages of collections: the list, the form of each kind, the progress, the report, and its files."""

import csv
import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.collections.models import CollectedDialogue, CollectedState, Collection, CollectionKind
from assessment.systems.models import System
from jobs.models import Job, JobState
from jobs.services import run_job
from projects.models import Project, Role
from tests.assessment.collections import conftest as parts
from tests.assessment.collections.conftest import Collects, FakeSystems
from tests.assessment.collections.raters import rate_everything
from tests.assessment.steps import begin, converse, opened_run
from tests.conftest import Joins

collects, fakes, pair = parts.collects, parts.fakes, parts.pair
raters, rating, source = parts.raters, parts.rating, parts.source


@pytest.fixture
def maras(client: Client, mara: User) -> Client:
    client.force_login(mara)
    return client


def address(name: str, *args: Any) -> str:
    return reverse(name, args=["study", *args])


def fields(client: Client, kind: str, **changes: Any) -> dict[str, Any]:
    form = client.get(address("collection_new", kind)).context["form"]
    initial = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    return {name: value for name, value in {**initial, **changes}.items() if value is not None}


def test_raters_who_are_asked_other_questions_are_named(
    maras: Client, mara: User, study: Project, source: Project, rating: Project
) -> None:
    other = create_project(slug="helpdesk", preset="dch", actor=mara, title="Helpdesk")
    systems = list(System.objects.filter(name__in=["a", "b"]).values_list("pk", flat=True))
    page = maras.get(address("collection_new", "static")).content.decode()
    assert "Helpdesk · other questions" in page
    sent = fields(maras, "static", systems=systems, source=source.pk, count=1, target=other.pk)
    page = maras.post(address("collection_new", "static"), sent, follow=True).content.decode()
    assert "asks other questions than the preset" in page


def test_raters_without_a_scale_are_refused(
    maras: Client, mara: User, study: Project, source: Project
) -> None:
    other = create_project(slug="quality", preset="diqad", actor=mara, title="Quality")
    systems = list(System.objects.filter(name__in=["a", "b"]).values_list("pk", flat=True))
    sent = fields(maras, "static", systems=systems, source=source.pk, count=1, target=other.pk)
    answer = maras.post(address("collection_new", "static"), sent)
    assert answer.status_code == 422
    assert "asks for no score on a scale" in answer.content.decode()


def test_the_list_says_what_to_do_while_it_is_empty(maras: Client, study: Project) -> None:
    page = maras.get(address("collections")).content.decode()
    assert "No collection yet" in page
    assert address("collection_new", "static") in page


@pytest.mark.parametrize("kind", CollectionKind.values)
def test_a_form_without_raters_says_what_to_do(maras: Client, study: Project, kind: str) -> None:
    opened_run(study)
    page = maras.get(address("collection_new", kind)).content.decode()
    assert "diamante-evaluation" in page
    assert reverse("new_project") in page


def test_a_form_without_systems_says_what_to_do(maras: Client, study: Project) -> None:
    System.objects.filter(project=study).delete()
    assert "No system can do this yet" in maras.get(address("collection_new", "static")).content.decode()


def test_a_collection_is_started_once_from_the_form(
    maras: Client, pair: tuple[System, ...], source: Project, rating: Project
) -> None:
    sent = fields(maras, "static", systems=[each.pk for each in pair], source=source.pk, count=2, seed="")
    assert sent["target"] == rating.pk
    first, second = (maras.post(address("collection_new", "static"), sent) for _ in range(2))
    collection = Collection.objects.get()
    assert first.headers["Location"] == second.headers["Location"] == address("collection", collection.pk)
    assert CollectedDialogue.objects.filter(collection=collection).count() == 6
    assert str(collection.pk) in maras.get(address("collections")).content.decode()
    job_page = maras.get(address("job", collection.job_id)).content.decode()
    assert "Collection of dialogues" in job_page


def test_wrong_fields_are_named_and_keep_what_was_entered(
    maras: Client, study: Project, source: Project, rating: Project
) -> None:
    sent = fields(maras, "self_chat", source=source.pk, count=0, rounds=99, seed="7")
    answer = maras.post(address("collection_new", "self_chat"), sent)
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {"systems", "count", "rounds"}
    assert 'value="7"' in answer.content.decode()


def test_a_refusal_of_the_service_is_shown_beside_its_field(
    maras: Client, pair: tuple[System, ...], mara: User, study: Project, rating: Project
) -> None:
    """The study itself has no dialogues to draw contexts from."""
    sent = fields(maras, "static", systems=[pair[0].pk], source=study.pk, seed="")
    answer = maras.post(address("collection_new", "static"), sent)
    assert answer.status_code == 422
    assert "no finished dialogue" in str(answer.context["form"].errors["source"])


def test_conversations_of_a_run_are_collected_from_the_form(
    maras: Client, study: Project, rating: Project
) -> None:
    run = opened_run(study)
    converse(begin(study, "ann"))
    converse(begin(study, "bob"))
    answer = maras.post(address("collection_new", "human_bot"), fields(maras, "human_bot", run=run.pk))
    assert answer.status_code == 302
    assert Collection.objects.get().run == run


def test_a_running_collection_shows_its_progress_and_can_be_stopped(
    maras: Client, collects: Collects
) -> None:
    collection = collects()
    Job.objects.filter(pk=collection.job_id).update(state=JobState.RUNNING, done=3, total=6)
    here = address("collection", collection.pk)
    page = maras.get(here).content.decode()
    assert f'hx-get="{here}?part=live"' in page
    assert address("collection_cancel", collection.pk) in page
    assert "50&nbsp;%" in maras.get(f"{here}?part=live").content.decode()
    maras.post(address("collection_cancel", collection.pk))
    assert Job.objects.get(pk=collection.job_id).cancel_requested_at is not None
    Job.objects.filter(pk=collection.job_id).update(state=JobState.CANCELLED)
    assert maras.get(f"{here}?part=live").headers["HX-Refresh"] == "true"
    maras.post(address("collection_retry", collection.pk))
    assert Job.objects.get(pk=collection.job_id).state == JobState.QUEUED


def test_missing_dialogues_are_listed_and_can_be_tried_again(maras: Client, collects: Collects) -> None:
    collection = collects()
    CollectedDialogue.objects.filter(system__name="b").update(
        state=CollectedState.MISSING, error="It is down."
    )
    Job.objects.filter(pk=collection.job_id).update(state=JobState.DONE)
    page = maras.get(address("collection", collection.pk)).content.decode()
    assert page.count("It is down.") == 2
    maras.post(address("collection_retry", collection.pk))
    assert Collection.objects.get().job_id != collection.job_id


@pytest.mark.parametrize(
    ("role", "sees", "starts"),
    [(Role.MANAGER, 200, 200), (Role.TRAINER, 200, 200), (Role.ANNOTATOR, 403, 403)],
)
def test_roles_that_see_and_start_collections(
    client: Client, joins: Joins, collects: Collects, study: Project, role: Role, sees: int, starts: int
) -> None:
    client.force_login(joins("kim", study, role))
    collection = collects()
    for name, args in (("collections", ()), ("collection", (collection.pk,))):
        assert client.get(address(name, *args)).status_code == sees
    assert client.get(address("collection_new", "static")).status_code == starts
    if starts == 403:
        assert client.post(address("collection_cancel", collection.pk)).status_code == 403


def test_projects_that_the_person_may_not_use_are_not_offered(
    client: Client, joins: Joins, study: Project, rating: Project, source: Project
) -> None:
    client.force_login(joins("kim", study, Role.MANAGER))
    form = client.get(address("collection_new", "static")).context["form"]
    assert not form.fields["target"].queryset.exists()
    assert list(form.fields["source"].queryset) == [study]


@pytest.mark.django_db(transaction=True)
def test_the_report_shows_verdict_tables_and_files(
    maras: Client, collects: Collects, fakes: FakeSystems, rating: Project, raters: list[User]
) -> None:
    collection = collects("static", count=2)
    run_job(job_id=collection.job_id)
    here = address("collection", collection.pk)
    assert "Nobody has rated yet" in maras.get(here).content.decode()
    scores = {"a": (2, 2), "b": (1, 1), "": (1, 1)}
    rate_everything(rating, raters, lambda rater, system: scores[system])
    page = maras.get(here).content.decode()
    for text in ("Coherence: ", "human reply", "Which system do raters prefer?", "Do raters agree?"):
        assert text in page
    for name in ("scores", "by-engagingness", "comparisons", "agreement", "better-than-human", "missing"):
        file = maras.get(address("collection_download", collection.pk, name, "csv"))
        assert next(csv.reader(file.content.decode("utf-8-sig").splitlines())), name
    assert maras.get(address("collection_download", collection.pk, "by-safety", "svg")).status_code == 200
    report = maras.get(address("collection_download", collection.pk, "report", "json"))
    assert json.loads(report.content)["systems"][0]["system"] == "a"
    assert maras.get(address("collection_download", collection.pk, "nothing", "csv")).status_code == 404
