"""The pages of models: compared, put to use, taken back, measured again, removed."""

import json
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.systems.models import Connector, System
from frontend.charts.evaluation import draw_group
from jobs.models import JobState
from jobs.services import run_job
from preference.data.models.snapshots import Snapshot
from preference.evaluation.models import Evaluation
from preference.registry.models import Promotion, RegisteredModel
from preference.registry.selectors.trained_models import current_model
from preference.registry.services.promotion import promote_model
from projects.models import Membership, Project, Role
from tests.assessment.rating_files import careful, import_ratings, rating_file
from tests.conftest import Joins
from tests.frontend.data_pages import erics_browser, files_root, html
from tests.frontend.trained import evaluated
from tests.preference.elsewhere import (
    HASH,
    OTHER_DATA,
    come_home,
    incoming,
    measured,
    registration,
    trained_folder,
)
from tests.preference.learning import fakes as fakes
from tests.preference.learning import generator_of, snapshot_of, trained_model

__all__ = ["erics_browser", "files_root"]
MODELS, EVALUATIONS = "/p/chit-chat/models/", "/p/chit-chat/evaluations/"
BACK = "/p/chit-chat/promotions/roll-back/"


@pytest.fixture(autouse=True)
def models_root(settings: Settings, files_root: Path, project: Project) -> None:
    settings.MODELS_ROOT = files_root / "models"
    project.authoring.generator = None
    project.authoring.save()


@pytest.fixture
def snapshot(project: Project) -> Snapshot:
    return snapshot_of(project)


@pytest.fixture
def first(project: Project, eric: User, snapshot: Snapshot) -> RegisteredModel:
    return trained_model(project, eric, snapshot)


@pytest.fixture
def second(project: Project, eric: User, snapshot: Snapshot, first: RegisteredModel) -> RegisteredModel:
    return trained_model(project, eric, snapshot, model=first.slug)


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html(response)))


def promote(browser: Client, model: RegisteredModel, expected: str = "", reason: str = "") -> Any:
    sent = {"request_id": uuid4(), "expected": expected, "reason": reason}
    return browser.post(f"{MODELS}{model.slug}/promote/", sent)


def in_use(project: Project) -> str | None:
    current = current_model(project)
    assert current is not None
    return current.name


# ---- putting to use --------------------------------------------------------------------------------------------------


def test_without_a_model_the_page_leads_to_training(erics_browser: Client, project: Project) -> None:
    text = text_of(erics_browser.get(MODELS))
    assert "No model was trained yet" in text
    assert "the server's own model" in text.replace("&#x27;", "'")


def test_a_model_is_put_to_use_with_a_reason(
    erics_browser: Client, project: Project, first: RegisteredModel
) -> None:
    answer = promote(erics_browser, first, reason="Ranks better.")
    assert answer.status_code == 302
    assert in_use(project) == first.slug
    text = text_of(erics_browser.get(MODELS))
    assert f"The next candidates come from {first.slug}." in text
    assert "Ranks better." in text
    assert "Roll back" in text


def test_a_promotion_is_rolled_back(erics_browser: Client, project: Project, first: RegisteredModel) -> None:
    promote(erics_browser, first)
    erics_browser.post(BACK, {"request_id": uuid4(), "expected": first.slug})
    assert in_use(project) is None
    text = text_of(erics_browser.get(MODELS))
    assert "rolled back" in text
    assert "Roll back" not in text


def test_the_second_of_two_promotions_learns_who_was_first(
    erics_browser: Client, project: Project, mara: User, first: RegisteredModel, second: RegisteredModel
) -> None:
    User.objects.filter(pk=mara.pk).update(display_name="Mara Mayer")
    promote_model(promotion_id=uuid4(), model=first, project=project, actor=mara, expected_current=None)
    answer = promote(erics_browser, second, reason="Mine is better.")
    text = text_of(answer)
    assert answer.status_code == 409
    assert f"Mara Mayer chose “{first.slug}”" in text
    assert "Mine is better." in text, "the reason is kept"
    assert in_use(project) == first.slug
    assert promote(erics_browser, second, expected=first.slug).status_code == 302


def test_rolling_back_after_another_change_is_refused(
    erics_browser: Client, project: Project, mara: User, first: RegisteredModel, second: RegisteredModel
) -> None:
    promote(erics_browser, first)
    promote_model(
        promotion_id=uuid4(), model=second, project=project, actor=mara, expected_current=first.slug
    )
    answer = erics_browser.post(BACK, {"request_id": uuid4(), "expected": first.slug})
    assert (answer.status_code, "after you looked" in text_of(answer)) == (409, True)
    assert in_use(project) == second.slug


def test_a_form_that_is_sent_twice_promotes_once(erics_browser: Client, first: RegisteredModel) -> None:
    sent = {"request_id": uuid4(), "expected": ""}
    for _time in range(2):
        assert erics_browser.post(f"{MODELS}{first.slug}/promote/", sent).status_code == 302
    assert Promotion.objects.count() == 1


def test_a_model_that_cannot_be_loaded_says_why(erics_browser: Client, first: RegisteredModel) -> None:
    RegisteredModel.objects.update(fault="Its weights are not numbers.", remedy="Train again.", version="")
    assert "cannot be used" in text_of(erics_browser.get(MODELS))
    assert "Its weights are not numbers." in text_of(erics_browser.get(f"{MODELS}{first.slug}/"))
    answer = promote(erics_browser, first)
    assert (answer.status_code, "Its weights are not numbers." in text_of(answer)) == (409, True)


# ---- compared --------------------------------------------------------------------------------------------------------


def test_models_are_compared_with_intervals_and_n(
    erics_browser: Client, project: Project, snapshot: Snapshot, first: RegisteredModel
) -> None:
    evaluated(project, snapshot, first, 0.6)
    evaluated(project, snapshot, None, 0.3, base="/models/plato")
    answer = erics_browser.get(MODELS)
    text = text_of(answer)
    assert "Which model ranks the human reply first?" in text
    assert "0.600 0.553–0.647" in text
    assert "models/plato" in text
    assert "n = 420 turns" in text
    assert f"<title>{first.slug} by preference score: 0.600 (0.553–0.647), n = 420</title>" in html(answer)
    table = html(erics_browser.get("/p/chit-chat/comparison/p-at-1.csv")).splitlines()
    assert table[0] == "\ufeffmodel,measure,value,95 % from,95 % to,n"
    assert len(table) == 1 + 2 * (2 * 6 + 1)
    assert html(erics_browser.get("/p/chit-chat/comparison/p-at-1.svg")).startswith("<svg xmlns=")


def test_another_data_set_is_chosen_to_compare_on(
    erics_browser: Client, project: Project, snapshot: Snapshot, first: RegisteredModel
) -> None:
    other = snapshot_of(project)
    Snapshot.objects.filter(pk=other.pk).update(name="Second snapshot")
    evaluated(project, snapshot, first, 0.6)
    evaluated(project, other, first, 0.7)
    text = html(erics_browser.get(f"{MODELS}?on={snapshot.pk}:test"))
    assert f'value="{snapshot.pk}:test" selected' in text
    assert "0.600" in text
    assert erics_browser.get(f"{MODELS}?on=nonsense").status_code == 200


def test_a_model_shows_all_of_its_report(
    erics_browser: Client, project: Project, snapshot: Snapshot, first: RegisteredModel
) -> None:
    row = evaluated(project, snapshot, first, 0.6)
    text = text_of(erics_browser.get(f"{MODELS}{first.slug}/"))
    for question in ("How high does it rank", "Which of two replies", "by domain?", "by what people did?"):
        assert question in text
    assert "by language?" not in text, "one group says nothing more"
    assert "oldest utterances were dropped" in text
    table = html(erics_browser.get(f"{EVALUATIONS}{row.pk}/by-domain.csv"))
    assert '"food, by preference score",0.63' in table
    whole = json.loads(html(erics_browser.get(f"{EVALUATIONS}{row.pk}/report.json")))
    assert whole == row.report
    assert erics_browser.get(f"{EVALUATIONS}{row.pk}/nothing.csv").status_code == 404


def test_the_largest_group_comes_first(project: Project, snapshot: Snapshot, first: RegisteredModel) -> None:
    """The database keeps no order of names."""
    evaluated(project, snapshot, first, 0.6)
    groups = draw_group(Evaluation.objects.get().report, "by_domain")
    assert [str(row[0]).split(",")[0] for row in groups.rows] == ["pets", "pets", "food", "food"]


def test_a_model_without_a_preference_head_is_shown_by_probability_alone(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    row = evaluated(project, snapshot, None, 0.3, base="/models/plato")
    for figures in (
        row.report["overall"],
        *row.report["by_domain"].values(),
        *row.report["by_action"].values(),
    ):
        for name in ("preference", "difference", "pairs"):
            del figures[name]
    row.save()
    for address in (f"{EVALUATIONS}{row.pk}/", MODELS):
        assert "by generation probability" in text_of(erics_browser.get(address))


def test_a_model_is_measured_again(erics_browser: Client, snapshot: Snapshot, first: RegisteredModel) -> None:
    sent = {"id": uuid4(), "model": first.slug, "snapshot": snapshot.pk, "split": ""}
    answer = erics_browser.post(EVALUATIONS, sent)
    row = Evaluation.objects.get()
    assert answer.headers["Location"] == reverse("evaluation", args=["chit-chat", row.pk])
    assert (row.model, row.split) == (first, "test")
    assert f"Evaluation of {first.slug}" in text_of(erics_browser.get(MODELS))
    assert "0 rows" not in text_of(erics_browser.get(MODELS)), "an evaluation counts none"
    assert "Every reply of every turn is scored" in text_of(erics_browser.get(answer.headers["Location"]))
    erics_browser.post(f"{EVALUATIONS}{row.pk}/cancel/")
    row.job.refresh_from_db()
    assert row.job.state == JobState.CANCELLED


def test_a_failed_evaluation_is_reported_and_can_be_retried(
    erics_browser: Client, project: Project, snapshot: Snapshot, first: RegisteredModel
) -> None:
    row = evaluated(project, snapshot, first, 0.5, state=JobState.FAILED, error="There is no memory left.")
    assert "There is no memory left." in text_of(erics_browser.get(MODELS))
    erics_browser.post(f"{EVALUATIONS}{row.pk}/retry/")
    row.job.refresh_from_db()
    assert row.job.state == JobState.QUEUED


def test_an_impossible_evaluation_is_refused_with_its_reason(
    erics_browser: Client, project: Project, first: RegisteredModel
) -> None:
    empty = snapshot_of(project, held_out=False)
    sent = {"id": uuid4(), "model": first.slug, "snapshot": empty.pk, "split": ""}
    answer = erics_browser.post(EVALUATIONS, sent)
    assert (answer.status_code, "has no held-out dialogues" in text_of(answer)) == (422, True)


# ---- where from, renamed, removed ------------------------------------------------------------------------------------


def test_the_lineage_is_shown_from_the_base_model_on(
    erics_browser: Client, settings: Settings, first: RegisteredModel, second: RegisteredModel
) -> None:
    text = text_of(erics_browser.get(f"{MODELS}{second.slug}/"))
    assert re.search(f"the demo model base model {first.slug} on “First snapshot” {second.slug}", text)
    assert second.slug in text_of(erics_browser.get(f"{MODELS}{first.slug}/")), "what was trained from it"


def test_models_of_other_projects_are_named_without_a_link(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    theirs = trained_model(create_project(slug="elsewhere", preset="diamante", actor=None))
    project.authoring.generator = theirs.generator
    project.authoring.save()
    ours = trained_model(project, None, snapshot)
    run = f"/p/chit-chat/trainings/{ours.training_run_id}/"
    for address in (MODELS, f"{MODELS}{ours.slug}/", run):
        answer = erics_browser.get(address)
        assert theirs.slug in text_of(answer)
        assert f"/models/{theirs.slug}/" not in html(answer), "there it is not"


def test_a_model_is_renamed_and_noted(
    erics_browser: Client, first: RegisteredModel, second: RegisteredModel
) -> None:
    answer = erics_browser.post(
        f"{MODELS}{first.slug}/edit/", {"slug": "short-replies", "note": "For the tests."}
    )
    assert answer.headers["Location"] == f"{MODELS}short-replies/"
    answer = erics_browser.post(f"{MODELS}{second.slug}/edit/", {"slug": "short-replies", "note": "typed"})
    assert (answer.status_code, "named “short-replies” already" in text_of(answer)) == (409, True)
    assert "typed" in html(answer)


def test_files_are_removed_unless_somebody_needs_them(
    erics_browser: Client, first: RegisteredModel, second: RegisteredModel
) -> None:
    answer = erics_browser.post(f"{MODELS}{first.slug}/remove/")
    assert (answer.status_code, "was trained from" in text_of(answer)) == (409, True)
    erics_browser.post(f"{MODELS}{second.slug}/remove/")
    text = text_of(erics_browser.get(f"{MODELS}{second.slug}/"))
    assert "files removed" in text
    assert "Put it to use" not in text


def test_the_trainers_files_are_downloaded(erics_browser: Client, first: RegisteredModel) -> None:
    answer = erics_browser.get(f"{MODELS}{first.slug}/training.json")
    assert json.loads(html(answer)) == first.config


def test_only_members_who_may_train_see_models(
    client: Client, joins: Joins, project: Project, first: RegisteredModel, ann: User
) -> None:
    for person in (ann, joins("tina", project, Role.TRAINER), joins("stranger")):
        client.force_login(person)
        assert client.get(MODELS).status_code in (403, 404)
        assert client.get(f"{MODELS}{first.slug}/").status_code == 404
        assert promote(client, first).status_code == 404
    assert in_use(project) is None


def test_the_list_costs_the_same_however_many_models(
    erics_browser: Client,
    project: Project,
    snapshot: Snapshot,
    first: RegisteredModel,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    expected = ""
    for number in range(8):
        model = trained_model(project, None, snapshot, model=first.slug)
        evaluated(project, snapshot, model, 0.3 + number / 50)
        evaluated(project, snapshot, model, 0.3, state=JobState.QUEUED)
        promote(erics_browser, model, expected)
        expected = generator_of(model).slug
    with django_assert_max_num_queries(26):
        assert "P@1" in html(erics_browser.get(MODELS))


def test_a_model_shows_what_people_think_of_it(
    erics_browser: Client, first: RegisteredModel, mara: User, eric: User
) -> None:
    study = create_project(actor=mara, slug="ratings", title="Which is best?", preset="live-assessment")
    System.objects.create(
        project=study, name="good", connector=Connector.GENERATOR, generator=generator_of(first)
    )
    import_ratings(study, rating_file(careful("a", "w1"), careful("b", "w2", shift=3)))
    page = f"{MODELS}{first.slug}/"
    assert "What people think of it" not in text_of(erics_browser.get(page)), "eric may not read the report"
    Membership.objects.create(project=study, user=eric, roles=[Role.MANAGER])
    text = text_of(erics_browser.get(page))
    assert "Which is best? · Run 1 place 1 of 2" in text
    assert "n = 14" in text
    assert "/p/ratings/report/?run=1" in html(erics_browser.get(page))


# ---- trained elsewhere -----------------------------------------------------------------------------------------------


def test_a_model_that_was_trained_elsewhere_says_so(
    erics_browser: Client, project: Project, tmp_path: Path, fakes: pytest.MonkeyPatch
) -> None:
    folder = trained_folder(tmp_path)
    measured(folder, OTHER_DATA)
    model = come_home(project, folder)
    assert "Qwen/Qwen3-8B → other data · trained elsewhere" in text_of(erics_browser.get(MODELS))
    answer = erics_browser.get(f"{MODELS}{model.slug}/")
    text = text_of(answer)
    assert "Training trained elsewhere Snapshot none of this project" in text
    assert f"Data (SHA-256) {OTHER_DATA}" in text
    assert re.search(r"Recipe As in the paper, except: .* LoRA rank: 16 Loss of the last step 1\.500", text)
    assert re.search(r"Measured elsewhere.* P@1, by preference score 0\.450 0\.\d+–0\.\d+", text)
    assert "Put it to use" in text
    assert promote(erics_browser, model).status_code == 302
    assert in_use(project) == model.slug


def test_its_snapshot_and_parent_are_linked_where_the_project_has_them(
    erics_browser: Client,
    first: RegisteredModel,
    snapshot: Snapshot,
    tmp_path: Path,
    fakes: pytest.MonkeyPatch,
) -> None:
    folder = trained_folder(tmp_path, data=snapshot.sha256, base_hash=HASH)
    measured(folder, snapshot.sha256)
    model = come_home(first.project, folder)
    answer = erics_browser.get(f"{MODELS}{model.slug}/")
    assert f"/snapshots/{snapshot.pk}/" in html(answer)
    assert re.search(
        f"{first.slug} on “First snapshot” {model.slug} on “First snapshot” trained elsewhere",
        text_of(answer),
    )
    assert "How high does it rank" in text_of(answer), "its report is one of the evaluations"


def test_a_model_on_its_way_home_is_shown_and_can_be_stopped(
    erics_browser: Client, project: Project, eric: User, settings: Settings, fakes: pytest.MonkeyPatch
) -> None:
    incoming(Path(settings.MODELS_ROOT))
    job = registration(project, "run7b", eric)
    assert "Registering the model in run7b" in text_of(erics_browser.get(MODELS))
    page = f"/p/chit-chat/jobs/{job.pk}/"
    assert "Folder run7b" in text_of(erics_browser.get(page))
    erics_browser.post(f"{page}cancel/")
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    erics_browser.post(f"{page}retry/")
    model = RegisteredModel.objects.get(slug=run_job(job_id=job.pk).result["model"])
    assert f"/models/{model.slug}/" in html(erics_browser.get(page))
