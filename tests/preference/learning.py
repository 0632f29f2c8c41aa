"""A frozen data set to learn from, trainings on it, and models that came of them, without waiting for torch."""

import dataclasses
import hashlib
import json
import random
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from generation.models import BackendKind, Generator
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.data.models.snapshots import Snapshot
from preference.data.storage import snapshots_root
from preference.registry.hashing import files_in, sha256_of
from preference.registry.models import RegisteredModel
from preference.runs.files import folder_of_run
from preference.runs.models import TrainingRun
from preference.runs.selectors import log_of
from preference.runs.services.registration import TrainingResult, register_model
from preference.runs.services.trainings import start_training
from preference.runs.trainers import TRAINERS
from projects.models import Project

WORDS = ["tea", "rain", "walk", "cat", "book", "song", "river", "lamp", "bread", "hill"]


def snapshot_of(project: Project, dialogues: int = 12, held_out: bool = True) -> Snapshot:
    """Every fourth dialogue is of the split test, unless nothing is held out."""
    made = uuid4()
    folder = snapshots_root() / str(made)
    folder.mkdir(parents=True)
    rows = [
        dialogue(number, "test" if held_out and number % 4 == 0 else "train") for number in range(dialogues)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "dialogues.jsonl").write_text(text)
    (folder / "snapshot.json").write_text('{"files": {}}')
    (folder / "README.md").write_text("made by a test")
    job = Job.objects.create(id=made, project=project, kind="snapshot", state=JobState.DONE)
    counts = {split: sum(row["split"] == split for row in rows) for split in ("train", "test")}
    return Snapshot.objects.create(
        id=made,
        project=project,
        job=job,
        name="First snapshot",
        filters={
            "splits": ["train", "valid", "test"],
            "include_unreviewed": False,
            "include_withheld": False,
        },
        path=str(made),
        bytes=len(text),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        card={"splits": [{"split": split, "dialogues": count} for split, count in counts.items()]},
    )


def dialogue(number: int, split: str, turns: int = 4) -> dict[str, Any]:
    chance = random.Random(number)

    def sentence() -> str:
        return " ".join(chance.choice(WORDS) for _ in range(5))

    said: list[dict[str, Any]] = [{"utterance": sentence(), "response_candidates": []}]
    for _turn in range(turns):
        shown = [sentence() for _ in range(7)]
        said.append(
            {
                "utterance": shown[2],
                "response_candidates": shown,
                "action": "select",
                "source": 3,
                "model_version": "m",
            }
        )
    return {"dialogue_id": str(number), "split": split, "language": "en", "conversation": said}


def training(
    project: Project, actor: User | None, snapshot: Snapshot | None = None, **asked: Any
) -> TrainingRun:
    """A training that waits for a worker."""
    chosen = {"run_id": uuid4(), **({} if "kind" in asked else {"recipe": "quick"}), **asked}
    return start_training(project=project, actor=actor, snapshot=snapshot or snapshot_of(project), **chosen)


def carried_out(run: TrainingRun) -> TrainingRun:
    """As a worker of the queue `training` does."""
    run_job(job_id=run.job_id)
    return TrainingRun.objects.select_related("job", "project", "snapshot").get(pk=run.pk)


def trained_model(
    project: Project, actor: User | None = None, snapshot: Snapshot | None = None, **asked: Any
) -> RegisteredModel:
    """A registered model whose folder holds two small files."""
    run = training(project, actor, snapshot, **asked)
    folder = folder_of_run(run) / "model"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_text(str(run.pk))
    Job.objects.filter(pk=run.job_id).update(state=JobState.DONE)
    trained = TrainingResult(
        config={"commit": "abc123"},
        metrics={"loss": 1.5, "step": 8, "steps": 8},
        files=files_in(folder),
        sha256=sha256_of(folder),
        version=f"{run.folder}/model@0123456789ab",
    )
    return register_model(run=run, trained=trained)


def log_text(run: TrainingRun) -> str:
    """What the trainer has written to its log."""
    with log_of(run) as log:
        return log.read().decode()


def run_of(model: RegisteredModel) -> TrainingRun:
    """Of a model that was trained here."""
    assert model.training_run is not None
    return model.training_run


def data_of(model: RegisteredModel) -> Snapshot:
    """The snapshot that it was trained on, of a model that was trained here."""
    assert model.snapshot is not None
    return model.snapshot


def generator_of(model: RegisteredModel) -> Generator:
    assert model.generator is not None
    return model.generator


@pytest.fixture
def local(project: Project) -> Generator:
    """The project's candidates come from a local model."""
    made = Generator.objects.create(slug="plato", backend=BackendKind.HF, options={"model": "/models/plato"})
    project.authoring.generator = made
    project.authoring.save()
    return made


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Scripts that replace trainer, loader and evaluator: the same command lines, without torch."""
    for kind, trainer in TRAINERS.items():
        fake = dataclasses.replace(trainer, module="tests.preference.fake_trainer")
        monkeypatch.setitem(TRAINERS, kind, fake)
    monkeypatch.setattr("preference.runs.loading.CHECKER", "tests.preference.fake_checker")
    monkeypatch.setattr("preference.evaluation.job.EVALUATOR", "tests.preference.fake_evaluator")
    monkeypatch.setattr("preference.child_process.LOOK_EVERY", 0.02)
    return monkeypatch
