"""Trainings that are stopped, orphaned, taken over: each goes on where it was, and nothing is trained twice."""

import threading
import time
from typing import Any

import psutil
import pytest
from django.db import InterfaceError, OperationalError, connections

from accounts.models import User
from generation.models import Generator
from jobs.models import Job, JobState
from jobs.progress import worker_is_ending
from jobs.services import cancel_job, run_job
from preference import child_process
from preference.evaluation.models import Evaluation
from preference.runs.files import folder_of_run
from preference.runs.job import TrainerWatch
from preference.runs.models import TrainingRun
from preference.runs.selectors import curve_of
from preference.runs.services import registration
from preference.runs.services.trainings import resume_training
from projects.models import Project
from tests.faults.test_generation import break_connections
from tests.preference.conftest import refused
from tests.preference.fake_trainer import STEPS
from tests.preference.learning import carried_out, training
from tests.preference.learning import fakes as fakes
from tests.preference.learning import local as local
from tests.processes import PATIENCE, wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes")]
Fakes = pytest.MonkeyPatch


class Meanwhile:
    """Carries a training out in a thread of its own, as a worker does, while the test goes on."""

    def __init__(self, run: TrainingRun) -> None:
        self.run = run
        self.thread = threading.Thread(target=self._carry_out)
        self.thread.start()

    def _carry_out(self) -> None:
        try:
            run_job(job_id=self.run.job_id)
        finally:
            connections.close_all()

    def until(self, step: int) -> None:
        deadline = time.monotonic() + 30 * PATIENCE
        while self.job().done < step:
            assert time.monotonic() < deadline, self.job().error
            time.sleep(0.02)

    def job(self) -> Job:
        return Job.objects.get(pk=self.run.job_id)

    def ended(self) -> Job:
        self.thread.join(30 * PATIENCE)
        assert not self.thread.is_alive()
        return self.job()


@pytest.mark.django_db(transaction=True)
def test_a_stopped_training_goes_on_where_it_was(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    fakes.setenv("FAKE_TRAINER", "waits")
    under_way = Meanwhile(training(project, eric))
    under_way.until(2)
    cancel_job(job=under_way.job(), actor=eric)
    assert under_way.ended().state == JobState.CANCELLED
    run = TrainingRun.objects.get()
    at = run.latest["step"]
    assert 2 <= at < STEPS
    resume_training(run=run, actor=eric)
    run = carried_out(run)
    assert run.job.state == JobState.DONE, run.job.error
    assert [point.step for point in curve_of(run).points] == list(range(1, STEPS + 1))


@pytest.mark.django_db(transaction=True)
def test_a_training_that_hears_nothing_is_killed(
    project: Project, eric: User, local: Generator, fakes: Fakes, settings: Any
) -> None:
    settings.TRAINING_STOP_SECONDS = 1.0
    fakes.setenv("FAKE_TRAINER", "hangs")
    under_way = Meanwhile(training(project, eric))
    under_way.until(3)
    cancel_job(job=under_way.job(), actor=eric)
    assert under_way.ended().state == JobState.CANCELLED


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_is_to_end_leaves_the_training_to_the_next_one(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    fakes.setenv("FAKE_TRAINER", "waits")
    under_way = Meanwhile(training(project, eric))
    under_way.until(2)
    worker_is_ending.set()
    try:
        job = under_way.ended()
    finally:
        worker_is_ending.clear()
    assert (job.state, job.losses) == (JobState.QUEUED, 0)
    assert carried_out(under_way.run).job.state == JobState.DONE


@pytest.mark.django_db(transaction=True)
def test_a_database_that_breaks_off_stops_no_training(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    fakes.setenv("FAKE_TRAINER", "waits")
    under_way = Meanwhile(training(project, eric))
    under_way.until(2)
    before = under_way.job().heartbeat_at
    break_connections()
    wait_until(lambda: under_way.job().heartbeat_at != before, 30, "a heartbeat over a new connection")
    (folder_of_run(under_way.run) / "go").touch()
    job = under_way.ended()
    assert (job.state, job.attempts, job.done) == (JobState.DONE, 1, STEPS), job.error


@pytest.mark.django_db(transaction=True)
def test_a_finished_training_is_stored_when_the_database_fails_at_its_end(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    store, register = TrainerWatch.store, registration.register_model
    failing = {"store": 2, "register": 1}

    def fail_first(name: str) -> None:
        if failing[name]:
            failing[name] -= 1
            raise OperationalError("the connection is closed")

    def unsteady_store(watch: TrainerWatch) -> None:
        if watch.tail.read().get("step") == STEPS:
            fail_first("store")
        store(watch)

    def unsteady_register(**values: Any) -> Any:
        fail_first("register")
        return register(**values)

    fakes.setattr(TrainerWatch, "store", unsteady_store)
    fakes.setattr("preference.runs.job.register_model", unsteady_register)
    fakes.setattr("preference.runs.job.STORE_AGAIN_AFTER", (0.01, 0.01))
    run = carried_out(training(project, eric))
    assert (run.job.state, run.latest["step"], failing) == (JobState.DONE, STEPS, {"store": 0, "register": 0})


@pytest.mark.django_db(transaction=True)
def test_a_finished_training_is_registered_though_its_last_step_cannot_be_stored(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    def failing_store(_watch: TrainerWatch) -> None:
        raise InterfaceError("connection already closed")

    fakes.setattr(TrainerWatch, "store", failing_store)
    fakes.setattr("preference.runs.job.STORE_AGAIN_AFTER", ())
    run = carried_out(training(project, eric))
    assert (run.job.state, run.job.done) == (JobState.DONE, STEPS), run.job.error
    assert run.model.version


@pytest.mark.django_db(transaction=True)
def test_a_failed_training_says_why_though_its_last_step_cannot_be_stored(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    def failing_store(_watch: TrainerWatch) -> None:
        raise OperationalError("the connection is closed")

    fakes.setenv("FAKE_TRAINER", "fails")
    fakes.setattr(TrainerWatch, "store", failing_store)
    fakes.setattr("preference.runs.job.STORE_AGAIN_AFTER", ())
    run = carried_out(training(project, eric))
    assert (run.job.state, run.job.error) == (JobState.FAILED, "The loss is no longer a number.")


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_was_believed_dead_ends_its_trainer(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    """The one that takes over waits until nobody writes into the folder any more."""
    fakes.setenv("FAKE_TRAINER", "waits")
    under_way = Meanwhile(training(project, eric))
    under_way.until(2)
    Job.objects.filter(pk=under_way.run.job_id).update(state=JobState.QUEUED)  # the reaper
    run = carried_out(under_way.run)
    under_way.ended()
    assert run.job.state == JobState.DONE
    assert [point.step for point in curve_of(run).points] == list(range(1, STEPS + 1))


def test_an_orphan_that_does_not_stop_is_killed(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    run = training(project, eric)
    folder = folder_of_run(run)
    folder.mkdir(parents=True)
    fakes.setenv("FAKE_TRAINER", "hangs")
    orphan = child_process.start(
        "tests.preference.fake_trainer", ["--output", str(folder)], folder, "train.log"
    )
    deadline = time.monotonic() + 20 * PATIENCE
    while not (folder / "progress.jsonl").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    fakes.setenv("FAKE_TRAINER", "learns")
    fakes.setattr("preference.runs.job.child_process.ORPHAN_SECONDS", 0.3)
    threading.Thread(target=orphan.wait).start()
    assert carried_out(run).job.state == JobState.DONE
    orphan.wait(10 * PATIENCE)
    assert not psutil.pid_exists(orphan.pid)


def test_a_finished_training_is_registered_by_the_worker_that_takes_over(
    project: Project, eric: User, local: Generator, fakes: Fakes
) -> None:
    """The first one was killed between the trainer's end and the registration."""
    run = carried_out(training(project, eric))
    model = run.model
    Job.objects.filter(pk=run.job_id).update(state=JobState.QUEUED)
    fakes.setenv("FAKE_TRAINER", "fails")
    run = carried_out(run)
    assert (run.job.state, run.model) == (JobState.DONE, model)
    assert Evaluation.objects.count() == 2


def test_a_training_that_has_ended_does_not_go_on(project: Project, eric: User, local: Generator) -> None:
    run = carried_out(training(project, eric))
    with refused("already_done"):
        resume_training(run=run, actor=eric)
