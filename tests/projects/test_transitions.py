"""A move compares the state, sets it, and writes an event."""

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


def test_a_move_sets_the_state_and_the_changes(
    job: Job, project: Project, mara: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(3):  # the update, the event, and whether a webhook wants it
        move(
            job,
            to=JobState.CANCELLED,
            moves=MOVES,
            project=project,
            created_by=mara,
            result={"seen": "50 %"},
            started_at=None,
            ended_at=NOON,
        )
    for row in (job, Job.objects.get(pk=job.pk)):
        assert (row.state, row.created_by, row.result) == (JobState.CANCELLED, mara, {"seen": "50 %"})
        assert (row.started_at, row.ended_at) == (None, NOON)


def test_the_event_says_who_moved_what_and_why(job: Job, project: Project, mara: User) -> None:
    move(
        job,
        to=JobState.CANCELLED,
        moves=MOVES,
        project=project,
        actor=mara,
        reason="“100 %”",
        data={"rows": [1, None]},
    )
    event = Event.objects.get(subject_id=str(job.pk))
    assert (event.project, event.actor) == (project, mara)
    assert (event.subject_type, event.kind) == ("jobs.job", "state")
    assert (event.before, event.after) == (JobState.QUEUED, JobState.CANCELLED)
    assert (event.reason, event.data) == ("“100 %”", {"rows": [1, None]})


def test_a_move_without_an_actor_has_an_event_without_one(job: Job) -> None:
    move(job, to=JobState.FAILED, moves=MOVES, project=None)
    event = Event.objects.get(subject_id=str(job.pk))
    assert (event.project, event.actor, event.reason, event.data) == (None, None, "", {})


def test_a_row_that_another_transaction_moved_stays_unchanged(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING)
    with pytest.raises(Refusal) as refused:
        move(job, to=JobState.CANCELLED, moves=MOVES, project=None, ended_at=NOON)
    assert (refused.value.code, job.state, job.ended_at) == ("changed_meanwhile", JobState.QUEUED, None)
    stored = Job.objects.get(pk=job.pk)
    assert (stored.state, stored.ended_at) == (JobState.RUNNING, None)
    assert not Event.objects.filter(subject_id=str(job.pk)).exists()


def test_a_move_that_the_table_does_not_allow_asks_no_query(
    job: Job, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0), pytest.raises(Refusal) as refused:
        move(job, to=JobState.DONE, moves=MOVES, project=None)
    assert refused.value.code == "illegal_move"
