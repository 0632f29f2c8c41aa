"""A host whose clock is a minute ahead or behind does no harm: what decides goes by the database's time."""

from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from uuid import uuid4

import pytest
from django.utils import timezone

from annotation.tasks.models.work import Assignment
from annotation.tasks.services.assignment import reap_expired_leases
from assessment.sessions.selectors.turns import remaining_ms
from common import clock
from dialogues.models import CandidateSet
from generation.models import RequestState
from generation.selectors import describe_request
from generation.services import take_over_lost_requests
from generation.worker import claim_batch, drain
from jobs.models import Job, JobState, Worker
from jobs.progress import Progress
from jobs.selectors import live_workers
from jobs.services import record_heartbeat, start_job, take_over_lost_jobs
from projects.models import Project
from tests.candidate_requests import create_dialogue, create_generator, create_request, wait_for_state
from tests.processes import Stack, wait_until

Skew = Callable[[int], None]
MINUTE = 60
either_way = pytest.mark.parametrize("seconds", [-MINUTE, MINUTE])


@pytest.fixture
def skew(monkeypatch: pytest.MonkeyPatch) -> Skew:
    """skew(60) sets this process's clock a minute ahead, also for defaults of models, which hold `timezone.now`."""

    def set_clock(seconds: int) -> None:
        class Skewed(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
                return datetime.now(tz) + timedelta(seconds=seconds)

        monkeypatch.setattr(timezone, "datetime", Skewed)

    return set_clock


@pytest.mark.django_db
@either_way
def test_the_time_is_that_of_the_database(skew: Skew, seconds: int) -> None:
    skew(seconds)
    ahead = (timezone.now() - clock.now()).total_seconds()
    assert abs(ahead - seconds) < 5


@pytest.mark.django_db
@either_way
def test_a_running_request_is_not_taken_from_its_worker(project: Project, skew: Skew, seconds: int) -> None:
    skew(seconds)
    request = create_request(create_dialogue(project, "Hello"))
    assert claim_batch("worker-1") == [request]
    skew(0)
    assert take_over_lost_requests() == 0
    skew(-seconds)
    assert take_over_lost_requests() == 0


@pytest.mark.django_db
@either_way
def test_a_second_try_comes_after_its_pause(project: Project, skew: Skew, seconds: int) -> None:
    request = create_request(create_dialogue(project, "Hello"), create_generator("shaky", fail_calls=2))
    skew(seconds)
    drain("worker-1")
    request.refresh_from_db()
    assert request.state == RequestState.QUEUED  # an annotator waits for less than a minute
    assert request.not_before is not None
    assert abs((request.not_before - clock.now()).total_seconds()) < 5


@pytest.mark.django_db
@either_way
def test_the_time_that_people_waited_is_not_a_minute_off(project: Project, skew: Skew, seconds: int) -> None:
    request = create_request(create_dialogue(project, "Hello"))
    skew(seconds)
    drain("worker-1")
    request.refresh_from_db()
    skew(0)
    assert describe_request(request)["waited_ms"] < MINUTE * 500
    assert request.ended_at is not None
    assert request.ended_at >= request.created_at


@pytest.mark.django_db
@either_way
def test_workers_and_their_jobs_are_alive(skew: Skew, seconds: int) -> None:
    skew(seconds)
    record_heartbeat(name="worker-1", queues=["default"], details={})
    job = start_job(
        id=uuid4(), kind="dialogues.import", project=None, actor=None, parameters={}, enqueue=False
    )
    Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING)
    job.refresh_from_db()
    Progress(job).heartbeat()
    skew(0)
    assert live_workers("default").count() == 1
    take_over_lost_jobs()
    job.refresh_from_db()
    assert (job.state, job.losses) == (JobState.RUNNING, 0)


@pytest.mark.django_db
@either_way
def test_a_dialogue_that_somebody_works_on_stays_theirs(
    anns_assignment: Assignment, skew: Skew, seconds: int
) -> None:
    left = clock.now() + timedelta(seconds=MINUTE // 2)
    Assignment.objects.filter(pk=anns_assignment.pk).update(lease_until=left)
    skew(seconds)
    assert reap_expired_leases() == 0


@either_way
def test_a_reply_is_shown_when_it_is_due(db: None, skew: Skew, seconds: int) -> None:
    due = clock.now()
    skew(seconds)
    assert remaining_ms(due) == 0
    assert remaining_ms(due + timedelta(seconds=30)) <= 30_000


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_worker_a_minute_ahead_answers_and_keeps_what_it_holds(project: Project, stack: Stack) -> None:
    folder = str(Path(__file__).parent.parent / "skewed_clock")
    stack.worker("gpu", "ahead", PYTHONPATH=folder, CLOCK_AHEAD=str(MINUTE))
    wait_until(lambda: live_workers("gpu").exists(), 30, "the worker's heartbeat")
    worker = Worker.objects.get()
    # Its own clock shows in a time by which nobody decides.
    assert worker.started_at - worker.seen_at > timedelta(seconds=MINUTE // 2)
    request = create_request(create_dialogue(project, "Hello"), create_generator("slow", delay=5))
    wait_for_state(request, RequestState.RUNNING)
    assert take_over_lost_requests() == 0
    wait_for_state(request)
    assert (request.state, request.attempts, CandidateSet.objects.count()) == (RequestState.DONE, 1, 1)
    described = describe_request(request)
    assert described["waited_ms"] < MINUTE * 1000
