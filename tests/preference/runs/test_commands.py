"""`manage.py train` and `manage.py promote_model`."""

import io
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from jobs.models import Job, JobState
from preference.evaluation.job import arguments_of
from preference.evaluation.services import evaluate_trained
from preference.registry.models import Promotion, RegisteredModel
from preference.registry.selectors.trained_models import current_model
from preference.runs.models import TrainingRun
from projects.models import Project
from tests.preference.learning import fakes as fakes
from tests.preference.learning import snapshot_of, trained_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes")]


def said(command: str, *arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(command, *arguments, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def test_a_training_in_the_foreground(project: Project) -> None:
    snapshot = snapshot_of(project)
    asked = ["--snapshot", snapshot.name, "--model", "/models/base", "--recipe", "quick", "--set", "batch=4"]
    assert "chit-chat-1" in said("train", "chit-chat", *asked)
    run = TrainingRun.objects.get()
    assert (run.job.state, run.changes, run.base) == (JobState.DONE, {"batch": 4}, "/models/base")


def test_a_failed_training_says_why_and_goes_on_later(project: Project, fakes: pytest.MonkeyPatch) -> None:
    snapshot_of(project)
    fakes.setenv("FAKE_TRAINER", "fails")
    asked = ["--snapshot", "First snapshot", "--model", "/models/base", "--recipe", "quick"]
    with pytest.raises(CommandError, match="no longer a number") as failed:
        said("train", "chit-chat", *asked)
    assert "train.log" in str(failed.value)
    fakes.setenv("FAKE_TRAINER", "learns")
    assert "chit-chat-1" in said("train", "chit-chat", "--resume", str(TrainingRun.objects.get().pk))


def test_a_training_can_be_left_to_a_worker(project: Project) -> None:
    snapshot_of(project)
    asked = ["--snapshot", "First snapshot", "--model", "/models/base", "--recipe", "quick", "--background"]
    said("train", "chit-chat", *asked)
    assert Job.objects.get(kind="training").state == JobState.QUEUED


@pytest.mark.parametrize(
    "arguments, why",
    [
        (["nowhere"], "no project"),
        (["chit-chat"], "--snapshot NAME"),
        (["chit-chat", "--snapshot", "none"], "no such snapshot"),
        (["chit-chat", "--snapshot", "First snapshot", "--set", "batch"], "NAME=VALUE"),
        (["chit-chat", "--snapshot", "First snapshot", "--set", "batch=0"], "batch is 0"),
    ],
)
def test_what_cannot_be_trained_is_said(project: Project, arguments: list[str], why: str) -> None:
    snapshot_of(project)
    with pytest.raises(CommandError, match=why):
        said("train", *arguments)
    assert not TrainingRun.objects.exists()


def test_a_model_is_promoted_and_taken_back(project: Project) -> None:
    model = trained_model(project, None, model="/models/base")
    assert said("promote_model", "chit-chat", model.slug, "--reason", "better").strip() == (
        f"chit-chat: scripted → {model.slug}"
    )
    assert Promotion.objects.get().reason == "better"
    assert said("promote_model", "chit-chat", "--roll-back").strip() == f"chit-chat: {model.slug} → scripted"
    now = current_model(project)
    assert now is not None
    assert now.name == "scripted"


@pytest.mark.parametrize("arguments", [["chit-chat"], ["chit-chat", "none"], ["nowhere", "x"]])
def test_what_cannot_be_promoted_is_said(project: Project, arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        said("promote_model", *arguments)


def test_a_base_is_measured_as_the_model_trained_from_it_reads(project: Project, tmp_path: Path) -> None:
    model = trained_model(project, model="/models/base")
    _trained, base = evaluate_trained(model=model, ids=(uuid4(), uuid4()), enqueue=False)
    assert arguments_of(base, tmp_path)[-1] == "--untrained-head"
    RegisteredModel.objects.filter(pk=model.pk).update(config={"recipe": {"chat_template": True}})
    assert arguments_of(base, tmp_path)[-2:] == ["--untrained-head", "--chat-template"]
