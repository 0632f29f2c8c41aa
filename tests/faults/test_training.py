"""Workers and trainers that are killed or shut down during a training: it goes on where it was."""

import os
import signal
from collections.abc import Callable
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
from jobs.services import LOST_AFTER, cancel_job, retry_job, take_over_lost_jobs
from preference.data.models.snapshots import Snapshot
from preference.runs.files import folder_of_run
from preference.runs.models import TrainingRun
from preference.runs.services.trainings import start_training
from preference.training.common.progress import read_lines
from preference.training.common.stopping import is_alive
from projects.models import Project
from tests.generation.conftest import tiny_model as tiny_model
from tests.preference.learning import snapshot_of
from tests.processes import PATIENCE, Running, Stack, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults, pytest.mark.slow]
# So many epochs that the training only ends when a test stops it, however fast the machine is.
CHANGES = {"batch": 1, "epochs": 1000, "warmup": 5}
Begins = Callable[[], TrainingRun]


@pytest.fixture
def stack(stack: Stack, settings: Any) -> Stack:
    """The test reads the files that the workers write."""
    settings.FILES_ROOT = stack.folder / "files"
    settings.MODELS_ROOT = settings.FILES_ROOT / "models"
    return stack


@pytest.fixture
def snapshot(stack: Stack, project: Project) -> Snapshot:
    return snapshot_of(project, dialogues=120)


@pytest.fixture
def begins(project: Project, snapshot: Snapshot, tiny_model: Callable[..., Path]) -> Begins:
    """begins() starts a training that never ends by itself."""

    def begin() -> TrainingRun:
        about: dict[str, Any] = {"recipe": "quick", "changes": CHANGES, "model": str(tiny_model("llama"))}
        return start_training(run_id=uuid4(), project=project, actor=None, snapshot=snapshot, **about)

    return begin


def worker(stack: Stack, name: str) -> Running:
    """A worker of the queue `training` that has registered itself."""
    before = set(live_workers("training").values_list("name", flat=True))
    running = stack.worker("training", name)
    wait_until(lambda: bool(set(live_workers("training").values_list("name", flat=True)) - before), 120, name)
    return running


def job_of(run: TrainingRun) -> Job:
    return Job.objects.get(pk=run.job_id)


def steps_of(run: TrainingRun) -> list[int]:
    """As the trainer reports them; the job learns of them later."""
    return [line["step"] for line in read_lines(folder_of_run(run) / "progress.jsonl")]


def wait_for_step(run: TrainingRun, step: int) -> None:
    wait_until(lambda: steps_of(run)[-1:] >= [step], 240, f"step {step}")


def wait_for_end(run: TrainingRun) -> Job:
    wait_until(lambda: job_of(run).state not in (JobState.QUEUED, JobState.RUNNING), 240, "the training")
    return job_of(run)


def trainer_of(run: TrainingRun) -> psutil.Process:
    return psutil.Process(int((folder_of_run(run) / "process").read_text()))


def assert_goes_on(run: TrainingRun, *, after: int) -> None:
    """The training goes past step `after` without a gap or a repeated step; then it is cancelled."""
    wait_for_step(run, after + 5)
    cancel_job(job=job_of(run), actor=None)
    assert wait_for_end(run).state == JobState.CANCELLED
    steps = steps_of(run)
    assert steps == list(range(1, len(steps) + 1))


def test_a_training_whose_worker_is_killed_is_taken_over(stack: Stack, begins: Begins) -> None:
    """That it ends at the same weights is in tests/preference/training/joint/test_resume.py."""
    first = worker(stack, "first")
    run = begins()
    wait_for_step(run, 10)
    trainer = trainer_of(run)
    first.kill()
    wait_until(lambda: not is_alive(trainer.pid), 120, "the end of the trainer")  # after a checkpoint
    reached = steps_of(run)[-1]
    long_ago = timezone.now() - LOST_AFTER - timedelta(seconds=1)
    Job.objects.filter(pk=run.job_id).update(heartbeat_at=long_ago, created_at=long_ago)
    assert take_over_lost_jobs() == 1
    worker(stack, "second")
    assert_goes_on(run, after=reached)
    job = job_of(run)
    assert (job.attempts, job.losses) == (2, 1)


def test_a_worker_that_shuts_down_puts_the_training_back(stack: Stack, begins: Begins) -> None:
    first = worker(stack, "first")
    run = begins()
    wait_for_step(run, 10)
    assert first.process is not None
    first.process.send_signal(signal.SIGTERM)
    first.process.wait(120 * PATIENCE)
    job = job_of(run)
    assert (job.state, job.losses) == (JobState.QUEUED, 0)
    assert job.done >= 10
    worker(stack, "second")
    assert_goes_on(run, after=job.done)


def test_a_killed_trainer_leaves_the_worker_alive_and_can_be_resumed(
    stack: Stack, begins: Begins, eric: User
) -> None:
    only = worker(stack, "only")
    run = begins()
    wait_for_step(run, 5)
    os.kill(trainer_of(run).pid, signal.SIGKILL)
    failed = wait_for_end(run)
    assert failed.state == JobState.FAILED
    assert "memory" in failed.error
    assert only.alive
    retry_job(job=failed, actor=eric)
    assert_goes_on(run, after=failed.done)
