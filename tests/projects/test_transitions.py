"""A move compares, sets and tells, in one statement."""

from datetime import UTC, datetime

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from common.refusals import Refusal
from jobs.models import MOVES, Job, JobState
from projects.models import Event, Project
from projects.transitions import move

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def job(project: Project) -> Job:
    return Job.objects.create(project=project, kind="import")


def test_the_row_and_its_event_are_stored_together(
    job: Job, project: Project, mara: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        move(
            job,
            to=JobState.CANCELLED,
            moves=MOVES,
            project=project,
            actor=mara,
            reason="“100 %”",
            data={"rows": [1, None]},
            created_by=mara,
            result={"seen": "50 %"},
            started_at=None,
            ended_at=NOON,
        )
    told = (job.state, job.created_by, job.result, job.started_at, job.ended_at)
    assert told == (JobState.CANCELLED, mara, {"seen": "50 %"}, None, NOON)
    stored = Job.objects.get(pk=job.pk)
    assert (stored.state, stored.created_by, stored.result, stored.started_at, stored.ended_at) == told
    event = Event.objects.get(subject_id=str(job.pk))
    assert (event.project, event.actor, event.subject_type, event.kind) == (
        project,
        mara,
        "jobs.job",
        "state",
    )
    assert (event.before, event.after) == (JobState.QUEUED, JobState.CANCELLED)
    assert (event.reason, event.data) == ("“100 %”", {"rows": [1, None]})


def test_nobodys_move_is_told_as_such(job: Job) -> None:
    move(job, to=JobState.FAILED, moves=MOVES, project=None)
    event = Event.objects.get(subject_id=str(job.pk))
    assert (event.project, event.actor, event.reason, event.data) == (None, None, "", {})


def test_what_somebody_else_moved_stays_and_nothing_is_told(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING)
    with pytest.raises(Refusal) as refused:
        move(job, to=JobState.CANCELLED, moves=MOVES, project=None, ended_at=NOON)
    assert (refused.value.code, job.state, job.ended_at) == ("changed_meanwhile", JobState.QUEUED, None)
    stored = Job.objects.get(pk=job.pk)
    assert (stored.state, stored.ended_at) == (JobState.RUNNING, None)
    assert not Event.objects.filter(subject_id=str(job.pk)).exists()


def test_what_the_table_does_not_allow_is_not_asked_of_the_database(
    job: Job, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0), pytest.raises(Refusal) as refused:
        move(job, to=JobState.DONE, moves=MOVES, project=None)
    assert refused.value.code == "illegal_move"
