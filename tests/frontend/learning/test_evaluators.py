"""Training evaluators in pages: the form, the way of several models, the report."""

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import User
from generation.models import BackendKind, Generator
from jobs.models import JobState
from jobs.services import run_job
from preference.data.models.snapshots import Snapshot
from preference.registry.models import RegisteredModel
from preference.runs.files import STATES, folder_of_run
from preference.runs.models import TrainingRun
from projects.models import Membership, Project, Role
from tests.conftest import Joins
from tests.frontend.data_pages import erics_browser, files_root, html
from tests.preference.labelled import labelled_project, labelled_snapshot
from tests.preference.learning import fakes as fakes
from tests.preference.learning import snapshot_of

__all__ = ["erics_browser", "files_root"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fakes")]
NEW, TRAININGS = "/p/quality/trainings/new/", "/p/quality/trainings/"


@pytest.fixture(autouse=True)
def models_root(settings: Settings, files_root: Path) -> None:
    settings.MODELS_ROOT = files_root / "models"


@pytest.fixture
def quality(mara: User, eric: User) -> Project:
    project = labelled_project(mara)
    Membership.objects.create(project=project, user=eric, roles=[Role.ENGINEER])
    return project


@pytest.fixture
def frozen(quality: Project, eric: User) -> Snapshot:
    return labelled_snapshot(quality, eric)


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html(response)))


def fields(snapshot: Snapshot, **more: Any) -> dict[str, Any]:
    chosen = {"question": "quality", "models": ["majority", "gru"], "model": "", "seed": 1}
    return {"id": uuid4(), "snapshot": snapshot.pk, **chosen, **more}


def trained(browser: Client, snapshot: Snapshot, **more: Any) -> RegisteredModel:
    answer = browser.post(NEW, fields(snapshot, **more))
    run = TrainingRun.objects.get()
    assert answer["Location"] == reverse("training_run", args=["quality", run.pk])
    assert run_job(job_id=run.job_id).state == JobState.DONE
    return RegisteredModel.objects.get()


def test_the_form_offers_questions_and_models(frozen: Snapshot, erics_browser: Client) -> None:
    page = text_of(erics_browser.get(NEW))
    assert "Train an assessor" in page
    assert "GRU, trained from scratch" in page
    assert "PairEval learns" not in page
    assert "One process trains the compared models" in page


def test_without_a_snapshot_the_form_says_what_to_do(quality: Project, erics_browser: Client) -> None:
    assert "Take a snapshot first" in text_of(erics_browser.get(NEW))
    assert "Take a snapshot first" in text_of(erics_browser.get(TRAININGS))


def test_without_a_fitting_question_the_form_says_so(mara: User, eric: User, erics_browser: Client) -> None:
    project = labelled_project(mara, [1, 1])
    Membership.objects.create(project=project, user=eric, roles=[Role.ENGINEER])
    labelled_snapshot(project, mara)
    assert "No question to learn" in text_of(erics_browser.get(NEW))


def test_a_training_ends_in_a_report(frozen: Snapshot, erics_browser: Client) -> None:
    model = trained(erics_browser, frozen, changes="epochs=2\n batch = 8 ")
    assert TrainingRun.objects.get().changes == {"epochs": 2, "batch": 8}
    page = text_of(erics_browser.get(reverse("model", args=["quality", model.slug])))
    for words in (
        "Which model agrees best with people?",
        "0.750 (0.50 to 0.90)",
        "What does it mistake for what?",
        "Is it as sure as it is right?",
        "Registered: gru, for the question “Rate the quality of the dialogue”.",
        "A note.",
    ):
        assert words in page
    assert "Put it to use" not in page
    assert "Evaluate again" not in page
    listed = text_of(erics_browser.get("/p/quality/models/"))
    assert "quality-assessor-1" in listed
    assert "P@1" not in listed


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_the_report_is_downloaded(frozen: Snapshot, erics_browser: Client, suffix: str) -> None:
    model = trained(erics_browser, frozen)
    url = reverse("model_report", args=["quality", model.slug, "metrics", suffix])
    assert b"gru" in b"".join(erics_browser.get(url))
    missing = reverse("model_report", args=["quality", model.slug, "nothing", suffix])
    assert erics_browser.get(missing).status_code == 404


def test_the_page_shows_where_several_models_are(frozen: Snapshot, erics_browser: Client) -> None:
    erics_browser.post(NEW, fields(frozen))
    run = TrainingRun.objects.get()
    folder = folder_of_run(run)
    folder.mkdir(parents=True)
    (folder / STATES).write_text('{"majority": "done", "gru": "training"}')
    page = text_of(erics_browser.get(reverse("training_run", args=["quality", run.pk])))
    assert "the most frequent label done" in page
    assert "GRU, trained from scratch training" in page


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"changes": "epochs"}, "write NAME=VALUE"),
        ({"changes": "epochs=0"}, "must be at least 1"),
        ({"models": ["majority"]}, "None of these models can be kept"),
        ({"seed": -1}, "greater than or equal to 0"),
    ],
)
def test_wrong_choices_stay_in_the_form(
    frozen: Snapshot, erics_browser: Client, wrong: dict[str, Any], words: str
) -> None:
    answer = erics_browser.post(NEW, fields(frozen, **wrong))
    assert answer.status_code in (400, 422)
    assert words in text_of(answer)
    assert not TrainingRun.objects.exists()


def test_authoring_projects_offer_paireval_beside_reply_models(
    project: Project, erics_browser: Client
) -> None:
    project.authoring.generator = Generator.objects.create(
        slug="plato", backend=BackendKind.HF, options={"model": "/models/plato"}
    )
    project.authoring.save()
    snapshot = snapshot_of(project)
    new = reverse("training_new", args=["chit-chat"])
    assert f'href="{new}?kind=paireval"' in html(erics_browser.get(new))
    assert "Train PairEval" in text_of(erics_browser.get(f"{new}?kind=paireval"))
    body = {"id": uuid4(), "snapshot": snapshot.pk, "model": "/models/plato", "recipe": "paper", "seed": 1}
    assert erics_browser.post(f"{new}?kind=paireval", {**body, "processes": 0}).status_code == 422
    answer = erics_browser.post(f"{new}?kind=paireval", {**body, "processes": 1})
    run = TrainingRun.objects.get()
    assert run.processes == 1
    assert answer["Location"] == reverse("training_run", args=["chit-chat", run.pk])
    run_job(job_id=run.job_id)
    page = text_of(erics_browser.get(reverse("model", args=["chit-chat", run.model.slug])))
    assert "it cannot be promoted" in page
    assert "Put it to use" not in page
    shown = text_of(erics_browser.get(reverse("training_run", args=["chit-chat", run.pk])))
    assert "PairEval · " in shown


def test_pages_cost_the_same_however_many_assessors_there_are(
    frozen: Snapshot, erics_browser: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    model = trained(erics_browser, frozen)
    for number in range(4):
        erics_browser.post(NEW, fields(frozen, seed=number + 2))
    with django_assert_max_num_queries(25):
        erics_browser.get(TRAININGS)
    with django_assert_max_num_queries(30):
        erics_browser.get(reverse("model", args=["quality", model.slug]))


def test_annotators_and_strangers_do_not_train(frozen: Snapshot, client: Client, joins: Joins) -> None:
    client.force_login(joins("ann", frozen.project, Role.ANNOTATOR))
    assert client.get(NEW).status_code == 403
    assert client.post(NEW, fields(frozen)).status_code == 403
    client.force_login(joins("nora"))
    assert client.get(NEW).status_code == 404
    assert not TrainingRun.objects.exists()
