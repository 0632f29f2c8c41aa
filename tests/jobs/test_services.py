"""Starting, stopping and taking over jobs."""

import sys
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery
from django.conf import settings
from django.utils import timezone
from django.utils.translation import get_language, override

from common.refusals import Refusal
from jobs import registry
from jobs.models import Job, JobState
from jobs.progress import Progress, worker_is_ending
from jobs.services import (
    LOST_AFTER,
    MAX_LOSSES,
    cancel_job,
    retry_job,
    run_job,
    start_job,
    take_over_lost_jobs,
)
from projects.models import Project
from projects.roles import Capability
from tests.candidate_requests import count_waiting_messages, flush_redis

pytestmark = pytest.mark.django_db
KIND = "test"
DOES: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def works(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What jobs of the kind `test` do: works["do"] is called with the job and its progress."""
    does: dict[str, Any] = {"do": lambda job, progress: {"n": 1}}
    monkeypatch.setitem(registry._KINDS, KIND, registry.JobKind(f"{__name__}.work", Capability.EXPORT))
    monkeypatch.setattr(sys.modules[__name__], "DOES", does)
    return does


def work(job: Job, progress: Progress) -> dict[str, Any]:
    done: dict[str, Any] = DOES["do"](job, progress)
    return done


def job(**about: Any) -> Job:
    started = start_job(
        id=uuid4(), kind=KIND, project=None, actor=None, parameters={}, enqueue=about.pop("enqueue", False)
    )
    Job.objects.filter(pk=started.pk).update(**about)
    started.refresh_from_db()
    return started


def lost(**about: Any) -> Job:
    """A job whose worker died."""
    silent = timezone.now() - LOST_AFTER - timedelta(seconds=1)
    return job(**{"state": JobState.RUNNING, "heartbeat_at": silent, "attempts": 1, **about})


def state_of(one: Job) -> str:
    one.refresh_from_db()
    return one.state


def test_the_same_id_with_the_same_request_returns_the_first_job(db: None) -> None:
    fields: dict[str, Any] = {"id": uuid4(), "kind": KIND, "project": None, "actor": None, "enqueue": False}
    first = start_job(**fields, parameters={"splits": ("train", "test"), "seed": 1})
    second = start_job(**fields, parameters={"splits": ("train", "test"), "seed": 1})
    assert first == second
    assert Job.objects.count() == 1


@pytest.mark.parametrize("changes", [{"kind": "other"}, {"project": "other"}, {"parameters": {"seed": 2}}])
def test_the_id_of_another_job_is_refused(db: None, changes: dict[str, Any]) -> None:
    fields: dict[str, Any] = {
        "id": uuid4(),
        "kind": KIND,
        "project": None,
        "actor": None,
        "enqueue": False,
        "parameters": {"seed": 1},
    }
    start_job(**fields)
    if "project" in changes:
        changes = {"project": Project.objects.create(slug="other", title="Other", protocol="authoring")}
    with pytest.raises(Refusal) as refused:
        start_job(**fields | changes)
    assert refused.value.code == "id_in_use"
    assert Job.objects.count() == 1


def test_a_job_runs_once(works: dict[str, Any]) -> None:
    one = job()
    assert run_job(job_id=one.pk).result == {"n": 1}
    works["do"] = lambda job, progress: {"n": 2}
    assert run_job(job_id=one.pk).result == {"n": 1}


def test_an_unexpected_error_is_put_into_words_and_kept_beside_them(works: dict[str, Any]) -> None:
    works["do"] = lambda job, progress: dict[str, Any]()["id"]
    failed = run_job(job_id=job().pk)
    assert (failed.state, failed.error) == (JobState.FAILED, "Something unexpected went wrong.")
    assert failed.result == {"exception": "KeyError: 'id'"}


def test_an_unexpected_error_keeps_what_the_job_has_stored(works: dict[str, Any]) -> None:
    def store_and_fail(job: Job, _progress: Any) -> None:
        Job.objects.filter(pk=job.pk).update(result={"stored": 3})
        raise KeyError("id")

    works["do"] = store_and_fail
    failed = run_job(job_id=job().pk)
    assert failed.result == {"stored": 3, "exception": "KeyError: 'id'"}
    works["do"] = lambda job, progress: {"seen": job.result}
    Job.objects.filter(pk=failed.pk).update(state=JobState.QUEUED)
    assert run_job(job_id=failed.pk).result == {"seen": {"stored": 3}}


def test_a_lost_job_goes_back_to_the_queue() -> None:
    one = lost()
    take_over_lost_jobs()
    assert state_of(one) == JobState.QUEUED
    assert run_job(job_id=one.pk).state == JobState.DONE


def test_a_job_that_reports_itself_is_left_alone() -> None:
    one = job(state=JobState.RUNNING, heartbeat_at=timezone.now())
    take_over_lost_jobs()
    assert state_of(one) == JobState.RUNNING


@pytest.mark.parametrize("losses", [0, MAX_LOSSES - 1])
def test_a_lost_job_that_was_to_stop_has_stopped(losses: int) -> None:
    one = lost(cancel_requested_at=timezone.now(), losses=losses)
    assert take_over_lost_jobs() == 0
    assert state_of(one) == JobState.CANCELLED
    assert one.ended_at is not None


def test_a_job_that_was_to_stop_in_the_instant_of_its_take_over_stops_with_the_next() -> None:
    one = job(
        state=JobState.QUEUED,
        cancel_requested_at=timezone.now(),
        created_at=timezone.now() - timedelta(minutes=2),
    )
    assert take_over_lost_jobs() == 0
    assert state_of(one) == JobState.CANCELLED


def test_a_stopped_job_can_be_started_again() -> None:
    one = lost(cancel_requested_at=timezone.now())
    take_over_lost_jobs()
    retry_job(job=Job.objects.get(pk=one.pk), actor=None)
    assert run_job(job_id=one.pk).state == JobState.DONE


def test_a_job_that_kills_its_workers_is_given_up_with_a_remedy() -> None:
    one = lost(losses=MAX_LOSSES - 1)
    take_over_lost_jobs()
    assert state_of(one) == JobState.FAILED
    assert "3 times" in one.error
    assert one.remedy


def test_a_job_that_was_often_stopped_and_started_is_not_given_up_at_its_first_loss() -> None:
    one = lost(attempts=MAX_LOSSES)
    take_over_lost_jobs()
    assert state_of(one) == JobState.QUEUED


def test_starting_a_job_again_forgets_its_losses() -> None:
    one = job(state=JobState.FAILED, losses=MAX_LOSSES - 1)
    retry_job(job=one, actor=None)
    one.refresh_from_db()
    assert one.losses == 0


def test_a_worker_that_is_to_end_puts_its_job_back(works: dict[str, Any]) -> None:
    def interrupted(job: Job, progress: Progress) -> dict[str, Any]:
        progress.start(total=10, unit="steps")
        worker_is_ending.set()
        progress.report(4)
        progress.stop_if_worker_ends()
        return {}

    works["do"] = interrupted
    try:
        one = run_job(job_id=job(enqueue=False).pk)
    finally:
        worker_is_ending.clear()
    assert (one.state, one.done, one.losses, one.ended_at) == (JobState.QUEUED, 4, 0, None)


def test_a_job_is_sent_to_the_queue_that_it_names() -> None:
    flush_redis()
    one = start_job(
        id=uuid4(), kind=KIND, project=None, actor=None, parameters={}, enqueue=False, queue="training"
    )
    Job.objects.filter(pk=one.pk).update(created_at=timezone.now() - timedelta(minutes=1))
    take_over_lost_jobs()
    assert (count_waiting_messages("training"), count_waiting_messages("default")) == (1, 0)
    flush_redis()


def test_a_worker_that_was_believed_dead_changes_nothing_when_it_comes_back(works: dict[str, Any]) -> None:
    def dies(job: Job, progress: Progress) -> dict[str, Any]:
        Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)  # the reaper
        progress.heartbeat()
        return {"by": "the lost worker"}

    works["do"] = dies
    one = job()
    assert run_job(job_id=one.pk).result == {}
    assert state_of(one) == JobState.QUEUED


def test_an_error_is_in_the_language_of_the_person_who_started_the_job(works: dict[str, Any]) -> None:
    def fails(job: Job, progress: Progress) -> dict[str, Any]:
        raise Refusal("no", str(get_language()))

    works["do"] = fails
    with override("zh-hans"):
        one = job()
    with override("en"):
        failed = run_job(job_id=one.pk)
    assert (failed.state, failed.error) == (JobState.FAILED, "zh-hans")


def test_a_full_disk_is_reported_with_a_remedy(works: dict[str, Any]) -> None:
    def fills_the_disk(job: Job, progress: Progress) -> dict[str, Any]:
        raise OSError(28, "No space left on device")

    works["do"] = fills_the_disk
    failed = run_job(job_id=job().pk)
    assert failed.error == "The file could not be written: No space left on device."
    assert "Free some disk space" in failed.remedy


def test_a_queued_job_is_cancelled_at_once_and_a_second_time_changes_nothing() -> None:
    one = job()
    assert cancel_job(job=one, actor=None).state == JobState.CANCELLED
    assert cancel_job(job=one, actor=None).state == JobState.CANCELLED


@pytest.mark.django_db(transaction=True)
def test_a_job_is_kept_while_the_broker_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = Celery(broker="redis://127.0.0.1:1/0", set_as_current=False)
    nobody.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    monkeypatch.setattr("jobs.broker.current_app", nobody)
    assert state_of(job(enqueue=True)) == JobState.QUEUED


def test_a_job_of_a_newer_release_fails_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    one = job()
    monkeypatch.delitem(registry._KINDS, KIND)
    run_job(job_id=one.pk)
    assert state_of(one) == JobState.FAILED
    assert "does not know jobs of the kind “test”" in one.error
    assert "same release" in one.remedy
