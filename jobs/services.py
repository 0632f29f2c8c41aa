"""Start, run, cancel and take over jobs."""

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from celery import current_app
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from accounts.models import User
from common.idempotency import check_repeat
from common.refusals import Refusal
from jobs.models import DEFAULT_QUEUE, LIVE_STATES, MOVES, Job, JobState, Worker
from jobs.progress import JobCancelled, JobInterrupted, JobLost, Progress
from jobs.registry import work_for
from projects.models import Project
from projects.transitions import move

logger = logging.getLogger(__name__)

LOST_AFTER = timedelta(seconds=60)
FORGET_WORKER_AFTER = timedelta(minutes=10)
MAX_LOSSES = 3


@transaction.atomic
def start_job(
    *,
    id: UUID,
    kind: str,
    project: Project | None,
    actor: User | None,
    parameters: dict[str, Any],
    enqueue: bool = True,
    queue: str = DEFAULT_QUEUE,
) -> Job:
    """Store a job and send it to a worker on commit. The same id with the same request returns the first job.

    Errors of the job are written in the language that is active now, which is its creator's. parameters: any JSON.
    Raises Refusal "id_in_use" if the id belongs to a job of another kind, project or parameters.
    """
    parameters = json.loads(json.dumps(parameters))  # as the database returns them
    defaults = {
        "kind": kind,
        "project": project,
        "created_by": actor,
        "parameters": parameters,
        "queue": queue,
    }
    job, created = Job.objects.get_or_create(id=id, defaults={**defaults, "language": get_language() or ""})
    if not created:
        check_repeat(job, kind=kind, project_id=project.pk if project else None, parameters=parameters)
    elif enqueue:
        transaction.on_commit(lambda: send(job.id, job.queue))
    return job


def send(job_id: UUID, queue: str) -> None:
    """Send the job to a worker. If the broker is down, take_over_lost_jobs sends it later."""
    try:
        current_app.send_task("jobs.tasks.run_job", args=[str(job_id)], queue=queue, retry=False)
    except OperationalError:
        logger.warning("the broker did not accept a job", extra={"job": str(job_id)})


def run_job(*, job_id: UUID, watch: Callable[[Job], None] | None = None) -> Job:
    """Run the job, unless it has ended or another worker has it. Any error ends in a FAILED row that names the cause.

    watch: called with the job when progress is written; for commands that run a job in the foreground.
    """
    job = Job.objects.get(pk=job_id)
    if job.state != JobState.QUEUED or not _begin(job):
        return job
    with override(job.language or get_language()):
        _run(job, watch)
    return job


def _run(job: Job, watch: Callable[[Job], None] | None) -> None:
    try:
        result = work_for(job.kind)(job, Progress(job, watch=watch))
    except JobCancelled:
        _end(job, JobState.CANCELLED)
    except KeyboardInterrupt:  # Ctrl-C in a command that runs the job in the foreground
        _end(job, JobState.CANCELLED)
        raise
    except JobInterrupted:
        _return_to_queue(job)
    except JobLost:
        logger.warning("job lost to another worker", extra={"job": str(job.pk)})
    except Refusal as refusal:
        _fail(job, str(refusal.message), str(refusal.remedy), result=refusal.details)
    except OSError as error:
        _fail(job, _disk_error(error), _("Free some disk space, then start it again."))
    except Exception as error:
        logger.exception("job failed", extra={"job": str(job.pk)})
        _fail(job, f"{type(error).__name__}: {error}", _("See the log of the worker."))
    else:
        _end(job, JobState.DONE, result=result)


def _fail(job: Job, error: str, remedy: str, **changes: Any) -> None:
    _end(job, JobState.FAILED, error=error, remedy=remedy, **changes)


def _begin(job: Job) -> bool:
    now = timezone.now()
    started = Job.objects.filter(pk=job.pk, state=JobState.QUEUED, cancel_requested_at=None).update(
        state=JobState.RUNNING,
        started_at=now,
        heartbeat_at=now,
        attempts=F("attempts") + 1,
        error="",
        remedy="",
    )
    if started:
        job.refresh_from_db()
    return bool(started)


def _return_to_queue(job: Job) -> None:
    own_job = Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempts=job.attempts)
    if own_job.update(state=JobState.QUEUED, done=job.done, total=job.total):
        send(job.id, job.queue)
    job.refresh_from_db()


def _end(job: Job, state: str, **changes: Any) -> None:
    own_job = Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempts=job.attempts)
    own_job.update(state=state, done=job.done, total=job.total, ended_at=timezone.now(), **changes)
    job.refresh_from_db()


def _disk_error(error: OSError) -> str:
    return _("The file could not be written: %(reason)s.") % {"reason": error.strerror or str(error)}


@transaction.atomic
def cancel_job(*, job: Job, actor: User | None) -> Job:
    """Cancel a live job: a queued one at once, a running one at its next safe point. Safe to repeat."""
    Job.objects.filter(pk=job.pk, cancel_requested_at=None, state__in=LIVE_STATES).update(
        cancel_requested_at=timezone.now()
    )
    job.refresh_from_db()
    if job.state == JobState.QUEUED:
        move(
            job, to=JobState.CANCELLED, moves=MOVES, project=job.project, actor=actor, ended_at=timezone.now()
        )
    return job


@transaction.atomic
def retry_job(*, job: Job, actor: User | None, enqueue: bool = True) -> Job:
    """Put a failed or cancelled job back into the queue."""
    if job.state in LIVE_STATES:
        return job
    move(
        job,
        to=JobState.QUEUED,
        moves=MOVES,
        project=job.project,
        actor=actor,
        cancel_requested_at=None,
        ended_at=None,
        losses=0,
    )
    if enqueue:
        transaction.on_commit(lambda: send(job.id, job.queue))
    return job


def take_over_lost_jobs() -> int:
    """Send jobs again that a dead worker held or the broker lost; returns their number. A job sent twice runs once.

    A lost job whose cancellation was requested becomes cancelled.
    """
    now = timezone.now()
    lost = Job.objects.filter(state=JobState.RUNNING, heartbeat_at__lt=now - LOST_AFTER)
    cancelling = (lost | Job.objects.filter(state=JobState.QUEUED)).filter(cancel_requested_at__isnull=False)
    cancelling.update(state=JobState.CANCELLED, ended_at=now)
    for job in lost.filter(losses__gte=MAX_LOSSES - 1):
        _give_up(job)
    lost.update(state=JobState.QUEUED, losses=F("losses") + 1)
    Worker.objects.filter(seen_at__lt=now - FORGET_WORKER_AFTER).delete()
    waiting = Job.objects.filter(state=JobState.QUEUED, created_at__lt=now - timedelta(seconds=15))
    rows = list(waiting.values_list("id", "queue")[:100])
    for job_id, queue in rows:
        send(job_id, queue)
    return len(rows)


def _give_up(job: Job) -> None:
    with override(job.language or get_language()):
        error = _("The worker was lost %(n)d times while it did this.") % {"n": MAX_LOSSES}
        remedy = _("See the log of the worker; it may run out of memory. Then start it again.")
        _fail(job, error, remedy)


def record_heartbeat(*, name: str, queues: list[str], details: dict[str, Any]) -> None:
    """Record that a worker is alive; called every few seconds by a thread of the worker."""
    Worker.objects.update_or_create(
        name=name,
        defaults={"queues": queues, "details": details, "seen_at": timezone.now()},
        create_defaults={"queues": queues, "details": details},
    )
