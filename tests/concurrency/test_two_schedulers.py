"""Two schedulers (`--beat`) run everything twice, at the same moment: nothing happens twice."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connections

from annotation.tasks.models.work import Assignment, AssignmentState
from common import clock
from config.celery import app
from generation.models import RequestState
from generation.worker import claim_batch
from jobs.models import Job, JobState
from jobs.services import start_job
from projects.models import Event, Project
from tests.candidate_requests import create_dialogue, create_request

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # Celery's, of a setting that the tasks' rooms make themselves.
    pytest.mark.filterwarnings("ignore:(?s).*The 'queue' task attribute is deprecated"),
]
LONG_AGO = timedelta(minutes=5)


def run_twice_at_once(task: Callable[[], object]) -> None:
    together = Barrier(2)

    def run(_: int) -> None:
        try:
            together.wait()
            task()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(run, range(2)))


def test_two_schedulers_do_everything_once(project: Project, anns_assignment: Assignment) -> None:
    request = create_request(create_dialogue(project, "Hello"))
    claim_batch("worker-1")
    job = start_job(id=uuid4(), kind="import", project=project, actor=None, parameters={}, enqueue=False)
    past = clock.now() - LONG_AGO
    type(request).objects.filter(pk=request.pk).update(lease_until=past)
    Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING, heartbeat_at=past, attempts=1)
    Assignment.objects.filter(pk=anns_assignment.pk).update(lease_until=past)
    task = anns_assignment.task
    task.refresh_from_db()
    held = task.open_slots
    app.loader.import_default_modules()
    for entry in settings.CELERY_BEAT_SCHEDULE.values():
        run_twice_at_once(app.tasks[str(entry["task"])])
    request.refresh_from_db()
    job.refresh_from_db()
    anns_assignment.refresh_from_db()
    task.refresh_from_db()
    assert (request.state, request.attempts) == (RequestState.QUEUED, 1)
    assert (job.state, job.losses) == (JobState.QUEUED, 1)
    assert (anns_assignment.state, task.open_slots) == (AssignmentState.EXPIRED, held + 1)
    ended = Event.objects.filter(subject_id=str(anns_assignment.pk), after=AssignmentState.EXPIRED)
    assert ended.count() == 1
