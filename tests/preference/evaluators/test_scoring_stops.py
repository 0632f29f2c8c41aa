"""Scoring runs that are cancelled or killed: each goes on where it was, and no reply is scored twice."""

import threading
import time
from pathlib import Path

import psutil
import pytest
from django.db import connections

from accounts.models import User
from jobs.models import Job, JobState
from jobs.services import cancel_job, retry_job, run_job
from preference import child_process
from preference.evaluators.files import folder_of_scoring
from preference.evaluators.models import Score, ScoringRun
from preference.evaluators.services.scoring import start_scoring
from projects.models import Project
from tests.preference.evaluators.conftest import imported
from tests.preference.evaluators.test_scoring import carried_out, waiting
from tests.processes import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)
REPLIES = 12


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file with the ids of all replies that were scored, in their order."""
    monkeypatch.setattr("preference.evaluators.job.EVALUATORS", "tests.preference.slow_scorer")
    monkeypatch.setattr(child_process, "LOOK_EVERY", 0.02)
    monkeypatch.setattr("jobs.progress.WRITE_EVERY", 0.02)
    monkeypatch.setenv("SLOW_SCORER_LOG", str(tmp_path / "scored"))
    return tmp_path / "scored"


@pytest.fixture
def under_way(quality: Project, mara: User) -> ScoringRun:
    imported(quality, REPLIES - 3)
    return waiting(quality, mara)


def begin(run: ScoringRun) -> threading.Thread:
    """Carry it out in a thread of its own, until two replies are scored."""

    def carry_out() -> None:
        try:
            run_job(job_id=run.job_id)
        finally:
            connections.close_all()

    thread = threading.Thread(target=carry_out)
    thread.start()
    deadline = time.monotonic() + 30 * PATIENCE
    while job_of(run).done < 2:
        assert time.monotonic() < deadline, job_of(run).error
        time.sleep(0.02)
    return thread


def job_of(run: ScoringRun) -> Job:
    return Job.objects.get(pk=run.job_id)


def go_on(run: ScoringRun, mara: User, slow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOW_SCORER_SECONDS", "0")
    retry_job(job=job_of(run), actor=mara, enqueue=False)
    done = carried_out(run)
    assert done.scored == Score.objects.filter(run=run).count() == REPLIES
    names = slow.read_text().split()
    # The reply that was being scored when the process ended is scored again.
    assert len(names) - len(set(names)) <= 1
    assert not folder_of_scoring(run).exists()


def test_a_cancelled_run_goes_on_behind_the_last_score(
    under_way: ScoringRun, mara: User, slow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = begin(under_way)
    cancel_job(job=job_of(under_way), actor=mara)
    thread.join(30 * PATIENCE)
    assert job_of(under_way).state == JobState.CANCELLED
    assert not Score.objects.exists()
    go_on(under_way, mara, slow, monkeypatch)


def test_a_killed_evaluator_leaves_the_worker_alive_and_its_scores_on_disk(
    under_way: ScoringRun, mara: User, slow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = begin(under_way)
    pid = int((folder_of_scoring(under_way) / child_process.PID_FILE).read_text())
    psutil.Process(pid).kill()
    thread.join(30 * PATIENCE)
    job = job_of(under_way)
    assert (job.state, bool(job.remedy)) == (JobState.FAILED, True)
    go_on(under_way, mara, slow, monkeypatch)


def test_a_second_attempt_kills_the_process_of_a_lost_worker(
    under_way: ScoringRun, mara: User, slow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of_scoring(under_way)
    folder.mkdir(parents=True)
    arguments = ["--data", str(folder / "none"), "--output", str(folder / "none")]
    monkeypatch.setenv("SLOW_SCORER_SECONDS", "0")
    orphan = child_process.start("tests.preference.print_environment", arguments, folder, "log")
    assert carried_out(under_way).scored == REPLIES
    orphan.wait(10)


def test_ids_are_made_by_the_client(quality: Project, mara: User) -> None:
    first = waiting(quality, mara)
    again = start_scoring(run_id=first.pk, project=quality, actor=mara, evaluator="length", enqueue=False)
    assert again == first
