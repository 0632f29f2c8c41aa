"""Start, run, cancel and take over jobs."""

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from accounts.models import User
from common import clock
from common.idempotency import check_repeat
from common.refusals import Refusal
from common.storage.shared_files import shared_files
from jobs.broker import send_task
from jobs.folders import differing_folders, folder_ids, known_folder_ids
from jobs.models import DEFAULT_QUEUE, LIVE_STATES, MOVES, Job, JobState, Worker
from jobs.progress import JobCancelled, JobInterrupted, JobLost, Progress
from jobs.registry import is_stoppable, work_for
from projects.models import Project
from projects.transitions import move, record

logger = logging.getLogger(__name__)

LOST_AFTER = timedelta(seconds=60)
FORGET_WORKER_AFTER = timedelta(minutes=10)
MAX_LOSSES = 3
EXCEPTION = "exception"  # in the result of a job that failed unexpectedly: its type and message
SENT_AT_ONCE = 100
MISSING_FILES = frozenset({"file_gone", "files_gone"})  # codes of refusals


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
        "folders": known_folder_ids(),
        "created_at": clock.now(),
    }
    job, created = Job.objects.get_or_create(id=id, defaults={**defaults, "language": get_language() or ""})
    if not created:
        check_repeat(job, kind=kind, project_id=project.pk if project else None, parameters=parameters)
    elif enqueue:
        transaction.on_commit(lambda: send(job.id, job.queue), robust=True)
    return job


def send(job_id: UUID, queue: str) -> None:
    """Send the job to a worker. If the broker is away, take_over_lost_jobs sends it later."""
    send_task("jobs.tasks.run_job", args=(str(job_id),), queue=queue)


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
    except (Refusal, OSError) as error:
        _fail_with_remedy(job, error)
    except Exception as error:
        logger.exception("job failed", extra={"job": str(job.pk)})
        _fail(
            job,
            _("Something unexpected went wrong."),
            _("See the log of the worker."),
            result={**_stored_result(job), EXCEPTION: f"{type(error).__name__}: {error}"},
        )
    else:
        _end(job, JobState.DONE, result=result)


def _stored_result(job: Job) -> dict[str, Any]:
    """What the job has kept so far, on which its next attempt may build."""
    return Job.objects.values_list("result", flat=True).get(pk=job.pk) or {}


def _fail(job: Job, error: str, remedy: str, **changes: Any) -> None:
    _end(job, JobState.FAILED, error=error, remedy=remedy, **changes)


def _begin(job: Job) -> bool:
    now = clock.now()
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
        if job.result and job.result.pop(EXCEPTION, None):  # of the attempt before
            job.save(update_fields=["result"])
    return bool(started)


def _return_to_queue(job: Job) -> None:
    own_job = Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempts=job.attempts)
    if own_job.update(state=JobState.QUEUED, done=job.done, total=job.total):
        send(job.id, job.queue)
    job.refresh_from_db()


@transaction.atomic
def _end(job: Job, state: str, **changes: Any) -> None:
    own_job = Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempts=job.attempts)
    ended = own_job.update(state=state, done=job.done, total=job.total, ended_at=clock.now(), **changes)
    job.refresh_from_db()
    if ended:
        _record_end(job, before=JobState.RUNNING)


def _record_end(job: Job, before: str) -> None:
    data = {"kind": job.kind}
    record(job, kind="state", project=job.project, before=before, after=job.state, data=data)


def _fail_with_remedy(job: Job, error: Refusal | OSError) -> None:
    misses_file = isinstance(error, FileNotFoundError) or getattr(error, "code", "") in MISSING_FILES
    if misses_file and (differing := differing_folders(folder_ids(), job.folders)):
        _fail_on_other_disk(job, differing)
    elif isinstance(error, Refusal):
        _fail(job, str(error.message), str(error.remedy), result=error.details)
    elif isinstance(error, FileNotFoundError):
        _fail(job, _missing_file(error), _("See the log of the worker."))
    else:
        _fail(job, _disk_error(error), _("Free some disk space, then start it again."))


def _fail_on_other_disk(job: Job, differing: list[str]) -> None:
    """Fail a job whose worker has other folders, or another store, than the process that started it."""
    if shared_files().is_remote:
        _fail(
            job,
            _(
                "This worker does not see the files that the web server writes: it has another object store, or none."
            ),
            _("Give the web server and the workers the same STORAGE_URL, then start it again."),
        )
        return
    paths = ", ".join(f"{name} = {getattr(settings, name)}" for name in differing)
    error = _(
        "This worker does not see the files that the web server writes: its folder is another one (%(paths)s)."
    )
    remedy = _(
        "Give the web server and the workers the same volume, or the same STORAGE_URL (see “Files” in "
        "docs/operators.md), then start it again."
    )
    _fail(job, error % {"paths": paths}, remedy)


def _missing_file(error: FileNotFoundError) -> str:
    return _("A file is missing: %(name)s.") % {"name": Path(str(error.filename or "")).name}


def _disk_error(error: OSError) -> str:
    return _("The file could not be written: %(reason)s.") % {"reason": error.strerror or str(error)}


@transaction.atomic
def cancel_job(*, job: Job, actor: User | None) -> Job:
    """Cancel a live job: a queued one at once, a running one at its next safe point. Safe to repeat.

    Raises Refusal not_stoppable for a kind that goes on once it has begun.
    """
    if job.state in LIVE_STATES and not is_stoppable(job.kind):
        _refuse_if_begun(job)
    Job.objects.filter(pk=job.pk, cancel_requested_at=None, state__in=LIVE_STATES).update(
        cancel_requested_at=clock.now()
    )
    job.refresh_from_db()
    if job.state == JobState.QUEUED:
        move(
            job,
            to=JobState.CANCELLED,
            moves=MOVES,
            project=job.project,
            actor=actor,
            data={"kind": job.kind},
            ended_at=clock.now(),
        )
    return job


def _refuse_if_begun(job: Job) -> None:
    """Under the job's lock: a worker that begins waits for this transaction, and then finds the job cancelled."""
    stored = Job.objects.select_for_update(of=("self",)).get(pk=job.pk)
    if stored.attempts:
        raise Refusal(
            "not_stoppable",
            _("This has begun and cannot be stopped halfway."),
            _("Wait until it is done."),
        )


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
        transaction.on_commit(lambda: send(job.id, job.queue), robust=True)
    return job


def take_over_lost_jobs() -> int:
    """Send jobs again that a dead worker held or the broker lost; returns their number. A job sent twice runs once.

    A lost job whose cancellation was requested becomes cancelled.
    """
    now = clock.now()
    lost = Job.objects.filter(state=JobState.RUNNING, heartbeat_at__lt=now - LOST_AFTER)
    cancelling = (lost | Job.objects.filter(state=JobState.QUEUED)).filter(cancel_requested_at__isnull=False)
    for job in cancelling:
        _end_cancelled(job, cancelling.filter(pk=job.pk, state=job.state))
    for job in lost.filter(losses__gte=MAX_LOSSES - 1):
        _give_up(job)
    lost.update(state=JobState.QUEUED, losses=F("losses") + 1)
    Worker.objects.filter(seen_at__lt=now - FORGET_WORKER_AFTER).delete()
    waiting = Job.objects.filter(state=JobState.QUEUED, created_at__lt=now - timedelta(seconds=15))
    # Of each queue: many jobs of one that has no worker must not keep those of others from being sent.
    queues = list(waiting.order_by().values_list("queue", flat=True).distinct())
    rows = [row for queue in queues for row in _oldest(waiting.filter(queue=queue))]
    for job_id, queue in rows:
        send(job_id, queue)
    return len(rows)


@transaction.atomic
def _end_cancelled(job: Job, unchanged: QuerySet[Job]) -> None:
    before = job.state
    if unchanged.update(state=JobState.CANCELLED, ended_at=clock.now()):
        job.refresh_from_db()
        _record_end(job, before)


def _oldest(jobs: QuerySet[Job]) -> list[tuple[UUID, str]]:
    return list(jobs.order_by("created_at").values_list("id", "queue")[:SENT_AT_ONCE])


def _give_up(job: Job) -> None:
    with override(job.language or get_language()):
        error = _("The worker stopped unexpectedly %(n)d times during this job.") % {"n": MAX_LOSSES}
        remedy = _("See the log of the worker; it may run out of memory. Then start it again.")
        _fail(job, error, remedy)


def record_heartbeat(
    *,
    name: str,
    queues: list[str],
    details: dict[str, Any],
    version: str = "",
    folders: dict[str, str] | None = None,
) -> None:
    """Record that a worker is alive; called every few seconds by a thread of the worker.

    version, folders: its release and the ids of its folders, which `doctor` compares with its own.
    """
    about: dict[str, Any] = {"queues": queues, "details": details, "version": version}
    about |= {"folders": folders or {}, "seen_at": clock.now()}
    Worker.objects.update_or_create(name=name, defaults=about)


def forget_worker(*, name: str) -> None:
    """Called by a worker that was asked to end: it finishes what it holds, and nothing more is meant for it."""
    Worker.objects.filter(name=name).delete()
