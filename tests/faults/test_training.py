"""What dies while a model is trained: the worker, the trainer, the worker in good order. Each goes on where it was."""

import hashlib
import os
import signal
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
from django.utils import timezone

from accounts.models import User
from jobs.models import Job, JobState
from jobs.selectors import live_workers
from jobs.services import LOST_AFTER, retry_job, take_over_lost_jobs
from preference.data.models.snapshots import Snapshot
from preference.registry.files import folder_of_model
from preference.runs.files import folder_of_run
from preference.runs.models import TrainingRun
from preference.runs.selectors import Point, curve_of
from preference.runs.services.trainings import start_training
from projects.models import Project
from tests.generation.conftest import tiny_model as tiny_model
from tests.preference.learning import snapshot_of
from tests.processes import Running, Stack, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults, pytest.mark.slow]
STEPS = 360
CHANGES = {"batch": 2, "epochs": 20, "warmup": 5}
Begins = Callable[[], TrainingRun]


@pytest.fixture
def stack(stack: Stack, settings: Any) -> Stack:
    """The test reads the files that the workers write."""
    settings.FILES_ROOT = stack.folder / "files"
    settings.MODELS_ROOT = settings.FILES_ROOT / "models"
    return stack


@pytest.fixture
def snapshot(stack: Stack, project: Project) -> Snapshot:
    return snapshot_of(project)


@pytest.fixture
def begins(project: Project, snapshot: Snapshot, tiny_model: Callable[..., Path]) -> Begins:
    """Start a training of STEPS steps, some seconds even on a fast machine; always the same one."""

    def begin() -> TrainingRun:
        about: dict[str, Any] = {"recipe": "quick", "changes": CHANGES, "model": str(tiny_model("llama"))}
        return start_training(run_id=uuid4(), project=project, actor=None, snapshot=snapshot, **about)

    return begin


def worker(stack: Stack, name: str) -> Running:
    before = set(live_workers("training").values_list("name", flat=True))
    made = stack.worker("training", name)
    wait_until(lambda: bool(set(live_workers("training").values_list("name", flat=True)) - before), 60, name)
    return made


def job_of(run: TrainingRun) -> Job:
    return Job.objects.get(pk=run.job_id)


def wait_for_step(run: TrainingRun, step: int) -> None:
    """By what the trainer writes: the job learns of it later, when a short training may have ended."""
    wait_until(lambda: len(points_of(run)) >= step, 120, f"step {step}")
    assert len(points_of(run)) < STEPS - 60, "there is no time left to disturb this training"


def points_of(run: TrainingRun) -> Sequence[Point]:
    return curve_of(run, most=STEPS).points


def wait_for_end(run: TrainingRun) -> Job:
    wait_until(lambda: job_of(run).state not in (JobState.QUEUED, JobState.RUNNING), 180, "the training")
    return job_of(run)


def trainer_of(run: TrainingRun) -> psutil.Process:
    return psutil.Process(int((folder_of_run(run) / "process").read_text()))


def weights_of(run: TrainingRun) -> str:
    run = TrainingRun.objects.select_related("model").get(pk=run.pk)
    return hashlib.sha256((folder_of_model(run.model) / "model.safetensors").read_bytes()).hexdigest()


def test_a_worker_killed_in_training_is_taken_over_and_ends_at_the_same_weights(
    stack: Stack, begins: Begins
) -> None:
    first = worker(stack, "first")
    run = begins()
    wait_for_step(run, 20)
    trainer = trainer_of(run)
    first.kill()
    long_ago = timezone.now() - LOST_AFTER - timedelta(seconds=1)
    Job.objects.filter(pk=run.job_id).update(heartbeat_at=long_ago, created_at=long_ago)
    assert take_over_lost_jobs() == 1
    worker(stack, "second")
    done = wait_for_end(run)
    assert done.state == JobState.DONE, (done.error, done.remedy)
    assert (done.attempts, done.losses) == (2, 1)
    assert not trainer.is_running()
    run.refresh_from_db()
    assert [point.step for point in points_of(run)] == list(range(1, STEPS + 1))
    undisturbed = begins()
    assert wait_for_end(undisturbed).state == JobState.DONE
    assert weights_of(run) == weights_of(undisturbed)


def test_a_worker_that_ends_in_good_order_puts_the_training_back(stack: Stack, begins: Begins) -> None:
    first = worker(stack, "first")
    run = begins()
    wait_for_step(run, 20)
    assert first.process is not None
    first.process.send_signal(signal.SIGTERM)
    first.process.wait(60)
    left = job_of(run)
    assert (left.state, left.losses) == (JobState.QUEUED, 0)
    assert left.done >= 20
    worker(stack, "second")
    done = wait_for_end(run)
    assert done.state == JobState.DONE, (done.error, done.remedy)
    assert not list(folder_of_run(run).glob("checkpoints"))


def test_a_trainer_killed_by_the_system_leaves_the_worker_and_goes_on_when_asked(
    stack: Stack, begins: Begins, eric: User
) -> None:
    alone = worker(stack, "only")
    run = begins()
    wait_for_step(run, 10)
    os.kill(trainer_of(run).pid, signal.SIGKILL)
    failed = wait_for_end(run)
    assert failed.state == JobState.FAILED
    assert "memory" in failed.error
    assert alone.alive
    retry_job(job=failed, actor=eric)
    done = wait_for_end(run)
    assert done.state == JobState.DONE, (done.error, done.remedy)
