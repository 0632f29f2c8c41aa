"""Jobs over the API: who sees them, how far they are, stop, start again."""

from uuid import uuid4

import pytest

from accounts.models import User
from jobs.models import Job, JobState
from jobs.services import record_heartbeat
from projects.models import Project, Role
from tests.api.conftest import Program
from tests.conftest import Joins

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(project: Project, eric: User) -> Job:
    return Job.objects.create(
        project=project, kind="import", created_by=eric, state=JobState.RUNNING, done=3, total=10, attempts=1
    )


def test_the_list_is_newest_first_and_can_be_filtered(
    program: Program, project: Project, eric: User, job: Job
) -> None:
    newer = Job.objects.create(project=project, kind="export")
    asks = program(eric)
    rows = asks.get("/api/v1/projects/chit-chat/jobs/").json()["results"]
    assert [row["id"] for row in rows] == [str(newer.pk), str(job.pk)]
    only = asks.get("/api/v1/projects/chit-chat/jobs/", {"state": "running", "kind": "import"}).json()[
        "results"
    ]
    assert [row["id"] for row in only] == [str(job.pk)]
    assert asks.get("/api/v1/projects/chit-chat/jobs/", {"state": "asleep"}).status_code == 400


def test_a_job_says_how_far_it_is(program: Program, eric: User, job: Job) -> None:
    shown = program(eric).get(f"/api/v1/jobs/{job.pk}/").json()
    assert (shown["state"], shown["done"], shown["total"], shown["created_by"]) == ("running", 3, 10, "eric")


def test_a_queued_job_says_what_it_waits_for(
    program: Program, eric: User, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waits_for() -> str:
        shown: str = program(eric).get(f"/api/v1/jobs/{job.pk}/").json()["waits_for"]
        return shown

    assert waits_for() == ""
    Job.objects.update(state=JobState.QUEUED)
    assert waits_for() == "worker"
    record_heartbeat(name="w", queues=["default"], details={})
    assert waits_for() == ""
    monkeypatch.setattr("jobs.api.broker_answers", lambda: False)
    assert waits_for() == "queue"


def test_stopping_is_safe_to_repeat(program: Program, eric: User, job: Job) -> None:
    asks = program(eric)
    first, second = (asks.post(f"/api/v1/jobs/{job.pk}/cancel/").json() for _time in range(2))
    assert first["cancel_requested_at"] == second["cancel_requested_at"] is not None


def test_a_waiting_job_stops_at_once_and_starts_again(program: Program, eric: User, job: Job) -> None:
    Job.objects.update(state=JobState.QUEUED)
    asks = program(eric)
    assert asks.post(f"/api/v1/jobs/{job.pk}/cancel/").json()["state"] == "cancelled"
    started = asks.post(f"/api/v1/jobs/{job.pk}/retry/").json()
    assert (started["state"], started["cancel_requested_at"], started["ended_at"]) == ("queued", None, None)


def test_a_finished_job_does_not_start_again(program: Program, eric: User, job: Job) -> None:
    Job.objects.update(state=JobState.DONE)
    answer = program(eric).post(f"/api/v1/jobs/{job.pk}/retry/")
    assert (answer.status_code, answer.json()["code"]) == (409, "illegal_move")


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER])
def test_annotators_and_controllers_see_no_jobs(
    program: Program, project: Project, joins: Joins, job: Job, role: Role
) -> None:
    asks = program(joins("nora", project, role))
    assert asks.get("/api/v1/projects/chit-chat/jobs/").status_code == 403
    for method, path in [("get", ""), ("post", "cancel/"), ("post", "retry/")]:
        assert getattr(asks, method)(f"/api/v1/jobs/{job.pk}/{path}").status_code == 404
    job.refresh_from_db()
    assert job.cancel_requested_at is None


def test_there_is_no_such_job(program: Program, eric: User) -> None:
    assert program(eric).get(f"/api/v1/jobs/{uuid4()}/").status_code == 404


@pytest.mark.parametrize("kind", ["export", "push", "training"])
def test_a_person_who_may_not_start_such_a_job_may_not_steer_it(
    program: Program, project: Project, joins: Joins, job: Job, kind: str
) -> None:
    """A trainer configures projects and sees their jobs, and moves no data and trains no model."""
    Job.objects.update(kind=kind)
    asks = program(joins("tessa", project, Role.TRAINER))
    assert asks.get(f"/api/v1/jobs/{job.pk}/").status_code == 200
    for act in ("cancel", "retry"):
        assert asks.post(f"/api/v1/jobs/{job.pk}/{act}/").status_code == 403
    job.refresh_from_db()
    assert job.cancel_requested_at is None
