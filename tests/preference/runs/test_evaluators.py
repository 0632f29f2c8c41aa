"""Trainings of evaluators: PairEval on dialogues with candidates, an assessor on final labels."""

import json
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from accounts.models import User
from common.refusals import Invalid
from generation.models import Generator
from jobs.models import JobState
from jobs.services import run_job
from preference.data.models.snapshots import Snapshot
from preference.evaluation.models import Evaluation
from preference.evaluation.services import start_evaluation
from preference.registry.models import ModelKind, RegisteredModel
from preference.registry.selectors.bases import selectable_bases
from preference.registry.services.promotion import promote_model
from preference.runs.assessor_options import BASELINES, fitting_questions
from preference.runs.files import folder_of_run
from preference.runs.models import TrainingRun
from preference.runs.services.trainings import resume_training, start_training
from projects.models import Membership, Project, Role
from tests.conftest import Joins
from tests.preference.conftest import refused
from tests.preference.labelled import labelled_project, labelled_snapshot
from tests.preference.learning import (
    carried_out,
    data_of,
    generator_of,
    log_text,
    snapshot_of,
    trained_model,
    training,
)
from tests.preference.learning import fakes as fakes
from tests.preference.learning import local as local

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fakes")]


def arguments_in(run: TrainingRun) -> dict[str, Any]:
    """What the fake trainer was started with."""
    line = log_text(run).splitlines()[0]
    return dict(json.loads(line.removeprefix("arguments: ")))


def paireval(project: Project, actor: User | None, **asked: Any) -> TrainingRun:
    return training(project, actor, kind=ModelKind.PAIREVAL, **asked)


@pytest.fixture
def quality(mara: User, eric: User) -> Project:
    """Final labels 2, 0, 1, 2, 0; eric is its engineer."""
    project = labelled_project(mara)
    Membership.objects.create(project=project, user=eric, roles=[Role.ENGINEER])
    return project


@pytest.fixture
def frozen(quality: Project, eric: User) -> Snapshot:
    return labelled_snapshot(quality, eric)


def assessor(snapshot: Snapshot, actor: User | None, **asked: Any) -> TrainingRun:
    """A training that waits for a worker."""
    chosen = {"run_id": uuid4(), "models": ["majority", "gru"], **asked}
    return start_training(
        project=snapshot.project, actor=actor, snapshot=snapshot, kind=ModelKind.ASSESSOR, **chosen
    )


# --- PairEval ---------------------------------------------------------------------------------------------------------


def test_paireval_is_registered_without_a_generator(project: Project, eric: User, local: Generator) -> None:
    run = carried_out(paireval(project, eric, changes={"epochs": "2"}))
    assert run.job.state == JobState.DONE, run.job.error
    model = run.model
    assert (model.slug, model.kind, model.generator) == ("chit-chat-paireval-1", "paireval", None)
    assert (model.base, model.parent, model.writes_replies) == ("/models/plato", None, False)
    assert not Evaluation.objects.exists()
    sent = arguments_in(run)
    assert (sent["action"], sent["recipe"], sent["model"]) == ("train", "paper", "/models/plato")
    assert (sent["set"], sent["lora"]) == (["epochs=2"], False)


def test_paireval_may_begin_from_a_reply_model_but_not_the_reverse(
    project: Project, eric: User, local: Generator
) -> None:
    reply_model = trained_model(project, eric)
    judge = carried_out(paireval(project, eric, model=reply_model.slug)).model
    assert judge.parent == reply_model
    with refused("wrong_kind"):
        training(project, eric, model=judge.slug)
    assert judge.slug not in [base.name for base in selectable_bases(eric, project)]
    kinds = (ModelKind.JOINT, ModelKind.PAIREVAL)
    assert judge.slug in [base.name for base in selectable_bases(eric, project, kinds)]


def test_an_evaluator_is_neither_promoted_nor_ranked(project: Project, eric: User, local: Generator) -> None:
    judge = carried_out(paireval(project, eric)).model
    with refused("wrong_kind") as why:
        promote_model(
            promotion_id=uuid4(), model=judge, project=project, actor=eric, expected_current="plato"
        )
    assert "PairEval" in str(why.value.message)
    with refused("wrong_kind"):
        start_evaluation(
            evaluation_id=uuid4(),
            project=project,
            actor=eric,
            snapshot=data_of(judge),
            model=judge.slug,
        )
    project.authoring.refresh_from_db()
    assert project.authoring.generator == local


def test_the_recipe_of_paireval_decides_about_adapters(
    project: Project, eric: User, local: Generator
) -> None:
    with pytest.raises(Invalid) as why:
        paireval(project, eric, is_lora=True)
    assert why.value.details["field"] == "is_lora"


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"recipe": "diamante"}, "recipe"),
        ({"changes": {"warmup": 3}}, "changes"),
        ({"changes": {"negatives": "invented"}}, "changes"),
    ],
)
def test_settings_of_another_kind_are_refused(
    project: Project, eric: User, local: Generator, asked: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as why:
        paireval(project, eric, **asked)
    assert why.value.details["field"] == field
    assert not TrainingRun.objects.exists()


def test_an_unknown_kind_is_refused(project: Project, eric: User, local: Generator) -> None:
    with pytest.raises(Invalid) as why:
        training(project, eric, kind="oracle")
    assert why.value.details["field"] == "kind"


def test_joint_models_stay_as_they_were(project: Project, eric: User, local: Generator) -> None:
    model = carried_out(training(project, eric)).model
    assert (model.kind, model.slug, generator_of(model).slug) == ("joint", "chit-chat-1", "chit-chat-1")


# --- assessor ---------------------------------------------------------------------------------------------------------


def test_an_assessor_learns_one_question(frozen: Snapshot, eric: User) -> None:
    assert fitting_questions(frozen) == ["quality"]
    run = carried_out(assessor(frozen, eric))
    assert run.job.state == JobState.DONE, run.job.error
    assert run.options == {"question": "quality", "models": ["majority", "gru"]}
    rows = [json.loads(line) for line in (folder_of_run(run) / "labelled.jsonl").read_text().splitlines()]
    assert [(row["label"], row["split"], row["domain"]) for row in rows] == [
        (2, "train", "bank"),
        (0, "train", "shop"),
        (1, "train", "bank"),
        (2, "valid", "shop"),
        (0, "test", "bank"),
    ]
    sent = arguments_in(run)
    assert (sent["models"], sent["recipe"]) == (["majority", "gru"], None)
    assert sent["data"] == str(folder_of_run(run) / "labelled.jsonl")


def test_its_report_is_kept_with_the_model(frozen: Snapshot, eric: User) -> None:
    model = carried_out(assessor(frozen, eric)).model
    assert (model.slug, model.kind, model.generator) == ("quality-assessor-1", "assessor", None)
    assert (model.base, model.parent) == ("", None)
    assert model.report["chosen"] == "gru"
    assert set(model.report["models"]) == {"majority", "gru"}


def test_a_pretrained_model_is_where_the_assessor_comes_from(
    frozen: Snapshot, eric: User, settings: Any
) -> None:
    settings.TRAINING_BASE_MODELS = ["some/encoder"]
    run = carried_out(assessor(frozen, eric, model="some/encoder", models=["majority"]))
    assert arguments_in(run)["models"] == ["majority", "some/encoder"]
    assert run.model.base == "some/encoder"


def test_all_baselines_are_compared_by_default(frozen: Snapshot, eric: User) -> None:
    assert assessor(frozen, eric, models=[]).options["models"] == list(BASELINES)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"question": "nothing"}, "question"),
        ({"models": ["oracle"]}, "models"),
        ({"models": ["majority"]}, "models"),
        ({"changes": {"epochs": 0}}, "changes"),
        ({"recipe": "quick"}, "recipe"),
    ],
)
def test_wrong_choices_are_refused(frozen: Snapshot, eric: User, asked: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as why:
        assessor(frozen, eric, **asked)
    assert why.value.details["field"] == field


def test_questions_with_other_labels_are_not_learned(mara: User) -> None:
    one_label = labelled_snapshot(labelled_project(mara, [1, 1, 1]), mara)
    assert fitting_questions(one_label) == []
    with pytest.raises(Invalid, match="final labels are 0, 1 and 2"):
        assessor(one_label, mara)


def test_each_kind_needs_its_protocol(
    project: Project, frozen: Snapshot, eric: User, local: Generator
) -> None:
    with refused("no_authoring"):
        start_training(
            run_id=uuid4(), project=frozen.project, actor=eric, snapshot=frozen, kind=ModelKind.PAIREVAL
        )
    with refused("no_labelling"):
        training(project, eric, kind=ModelKind.ASSESSOR)


def test_the_same_request_again_is_the_same_training(frozen: Snapshot, eric: User) -> None:
    request = uuid4()
    first = assessor(frozen, eric, run_id=request)
    assert assessor(frozen, eric, run_id=request) == first
    with refused("id_in_use"):
        assessor(frozen, eric, run_id=request, models=["gru"])
    assert TrainingRun.objects.count() == 1


def test_a_failed_assessor_goes_on_with_the_same_rows(
    frozen: Snapshot, eric: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_TRAINER", "fails")
    run = carried_out(assessor(frozen, eric))
    assert (run.job.state, run.job.error) == (JobState.FAILED, "The loss is no longer a number.")
    rows = (folder_of_run(run) / "labelled.jsonl").stat()
    monkeypatch.setenv("FAKE_TRAINER", "learns")
    done = carried_out(resume_training(run=run, actor=eric))
    assert done.job.state == JobState.DONE, done.job.error
    assert (folder_of_run(run) / "labelled.jsonl").stat().st_mtime_ns == rows.st_mtime_ns


# --- API and command --------------------------------------------------------------------------------------------------


def test_the_api_starts_an_assessor(frozen: Snapshot, eric: User, joins: Joins) -> None:
    client = APIClient()
    client.force_authenticate(eric)
    url = "/api/v1/projects/quality/training-runs/"
    body = {
        "id": str(uuid4()),
        "snapshot": str(frozen.pk),
        "kind": "assessor",
        "question": "quality",
        "models": ["majority", "gru"],
    }
    answer = client.post(url, body, format="json")
    assert answer.status_code == 202, answer.content
    assert (answer.json()["kind"], answer.json()["options"]["question"]) == ("assessor", "quality")
    assert client.post(url, body, format="json").json()["id"] == body["id"]
    run_job(job_id=TrainingRun.objects.get().job_id)
    model = client.get("/api/v1/models/quality-assessor-1/").json()
    assert (model["kind"], model["generator"], model["report"]["chosen"]) == ("assessor", None, "gru")
    curve = client.get(f"/api/v1/training-runs/{body['id']}/curve/").json()
    assert curve["points"]
    bases = client.get(f"{url}bases/?kind=assessor").json()["bases"]
    assert "quality-assessor-1" in [base["name"] for base in bases]
    wrong = client.post(url, body | {"id": str(uuid4()), "models": ["oracle"]}, format="json")
    assert wrong.status_code == 400
    client.force_authenticate(joins("nora"))
    assert client.post(url, body, format="json").status_code in (403, 404)
    assert client.get("/api/v1/models/quality-assessor-1/").status_code == 404


def test_the_command_trains_an_assessor(frozen: Snapshot) -> None:
    out = StringIO()
    call_command(
        "train", "quality", "--snapshot", str(frozen.pk), "--kind", "assessor", "--models", "gru",
        stdout=out, stderr=StringIO(),
    )  # fmt: skip
    assert "quality-assessor-1" in out.getvalue()
    assert RegisteredModel.objects.get().kind == "assessor"


def test_the_command_refuses_a_project_that_does_not_fit(project: Project, local: Generator) -> None:
    snapshot = snapshot_of(project)
    with pytest.raises(CommandError, match="nobody labels"):
        call_command("train", "chit-chat", "--snapshot", str(snapshot.pk), "--kind", "assessor")
