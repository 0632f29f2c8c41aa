"""Undoing an import: what nobody has begun with goes, the rest stays and is named."""

from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Task
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from dialogues.models import Dialogue, Utterance
from dialogues.selectors import undoings_of
from dialogues.services import undoing
from dialogues.services.undoing import undo_import, undo_preview
from jobs.models import Job, JobState
from jobs.progress import JobCancelled, Progress
from jobs.services import retry_job, run_job
from projects.models import Event, Project, Role
from tests.annotation.conftest import imported
from tests.conftest import Joins

pytestmark = pytest.mark.django_db


@pytest.fixture
def quality(mara: User) -> Project:
    return create_project(slug="quality", preset="diqad", actor=mara)


@pytest.fixture
def earlier(quality: Project) -> Job:
    """An import of three dialogues that can be labelled."""
    job = Job.objects.create(
        project=quality,
        kind="import",
        state=JobState.DONE,
        parameters={"name": "chats.jsonl", "format": "eou"},
    )
    imported(quality, 3)
    Dialogue.objects.update(import_job=job)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    return job


def undone(earlier: Job) -> Job:
    started = undo_import(job=earlier, actor=None, request_id=uuid4())
    return run_job(job_id=started.pk)


def test_an_import_that_nobody_has_begun_with_goes_completely(earlier: Job, quality: Project) -> None:
    kept = imported(quality, 1)[0]  # of no import
    job = undone(earlier)
    assert (job.state, job.result) == (JobState.DONE, {"removed": 3, "kept": 0})
    assert list(Dialogue.objects.all()) == [kept]
    assert not Task.objects.exists()
    assert set(Utterance.objects.values_list("dialogue", flat=True)) == {kept.pk}
    assert Event.objects.filter(kind="import_undone", project=quality).count() == 1


def test_what_somebody_holds_or_a_batch_has_stays_and_is_named(
    earlier: Job, quality: Project, joins: Joins
) -> None:
    anna = joins("anna", quality, Role.ANNOTATOR)
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    assert undo_preview(earlier) == {"removable": 2, "kept": {"begun": 1}}
    assert undone(earlier).result == {"removed": 2, "kept": 1}
    assert Dialogue.objects.get().pk == held.dialogue_id


def test_a_running_import_is_not_undone(earlier: Job) -> None:
    Job.objects.filter(pk=earlier.pk).update(state=JobState.RUNNING)
    earlier.refresh_from_db()
    with pytest.raises(Refusal) as caught:
        undo_import(job=earlier, actor=None, request_id=uuid4())
    assert caught.value.code == "not_ready"


def test_the_page_and_the_api_say_what_goes_and_start_one_job(
    earlier: Job, quality: Project, mara: User, client: Client
) -> None:
    client.force_login(mara)
    address = f"/p/quality/imports/{earlier.pk}/undo/"
    assert "Remove 3 dialogues" in client.get(address).content.decode()
    sent = {"request_id": str(uuid4())}
    for _n in range(2):
        assert client.post(address, sent).headers["Location"] == f"/p/quality/jobs/{sent['request_id']}/"
    assert Job.objects.filter(kind="undo_import").count() == 1
    api = f"/api/v1/imports/{earlier.pk}/undo/"
    assert client.get(api).json() == {"removable": 3, "kept": {}}
    body = {"id": str(uuid4())}
    assert client.post(api, body, content_type="application/json").json() == {"job": body["id"]}


def shown_to(client: Client, address: str) -> str:
    return " ".join(client.get(address).content.decode().split())


def test_the_pages_of_an_undone_import_say_so_and_offer_nothing_pointless(
    earlier: Job, mara: User, client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    Job.objects.filter(pk=earlier.pk).update(
        result={"stored": 3, "dialogues": 3}, parameters={**earlier.parameters, "size": 9, "sha256": ""}
    )
    client.force_login(mara)
    page = f"/p/quality/imports/{earlier.pk}/"
    assert "See the dialogues" in shown_to(client, page)
    job = undo_import(job=earlier, actor=mara, request_id=uuid4())
    assert "This import is being undone." in shown_to(client, page)
    assert "Undo the import" not in shown_to(client, page)
    run_job(job_id=job.pk)
    with django_assert_max_num_queries(25):
        shown = shown_to(client, page)
    assert "Undone by <bdi>mara</bdi> on" in shown
    assert "3 dialogues were removed." in shown
    assert "<dt>of these removed again</dt><dd>3</dd>" in shown
    for pointless in ("Undo the import", "See the dialogues", "People per dialogue", "still there"):
        assert pointless not in shown
    listed = shown_to(client, "/p/quality/imports/")
    assert "Undone by <bdi>mara</bdi> on" in listed
    assert "Undone</span>" in listed
    assert "Partly undone" not in listed
    assert f'href="{page}"' in shown_to(client, f"/p/quality/jobs/{job.pk}/")


def test_the_page_of_an_import_says_what_its_undoing_left(
    earlier: Job, quality: Project, mara: User, client: Client, joins: Joins
) -> None:
    Job.objects.filter(pk=earlier.pk).update(
        result={"stored": 3}, parameters={**earlier.parameters, "size": 9, "sha256": ""}
    )
    claim_next_task(annotator=joins("anna", quality, Role.ANNOTATOR), project=quality, claim_id=uuid4())
    undone(earlier)
    client.force_login(mara)
    shown = shown_to(client, f"/p/quality/imports/{earlier.pk}/")
    assert "2 dialogues were removed." in shown
    assert "1 dialogue is still there." in shown
    assert "See the dialogues" in shown
    listed = shown_to(client, "/p/quality/imports/")
    assert "Partly undone" in listed
    assert "2 dialogues were removed. <span" in listed
    assert "1 dialogue is still there." in listed


def test_a_job_that_goes_on_counts_what_it_removed_before(
    earlier: Job, quality: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undoing, "BATCH", 1)
    report, reports = Progress.report, iter((0, 1))

    def stop_after_one(progress: Progress, done: int) -> None:
        report(progress, done)
        if next(reports, None) == 1:
            raise JobCancelled

    monkeypatch.setattr(Progress, "report", stop_after_one)
    job = undone(earlier)
    assert (job.state, job.result) == (JobState.CANCELLED, {"removed": 1})
    assert undoings_of(quality, [earlier])[str(earlier.pk)].left == 2
    monkeypatch.undo()
    retry_job(job=job, actor=None, enqueue=False)
    job = run_job(job_id=job.pk)
    assert (job.state, job.done, job.total) == (JobState.DONE, 3, 3)
    assert job.result == {"removed": 3, "kept": 0}
    undoing_of_it = undoings_of(quality, [earlier])[str(earlier.pk)]
    assert (undoing_of_it.removed, undoing_of_it.left) == (3, 0)
