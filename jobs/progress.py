"""How a running job tells where it is, and learns that it was cancelled."""

import threading
import time
from collections.abc import Callable

from django.utils import timezone

from jobs.models import Job, JobState

WRITE_EVERY = 0.5  # seconds
# Set once this worker process was asked to end. Workers with child processes of their own (prefork) do not learn it.
worker_is_ending = threading.Event()


class JobCancelled(Exception):
    """Somebody asked for the job to stop."""


class JobLost(Exception):
    """The job was taken over by another worker, which believed this one dead."""


class JobInterrupted(Exception):
    """The worker is to end: the job goes back into the queue, and another worker goes on with it."""


class Progress:
    """Progress and heartbeat of one job, written at most twice a second; `watch` is called with it then."""

    def __init__(
        self,
        job: Job,
        clock: Callable[[], float] = time.monotonic,
        watch: Callable[[Job], None] | None = None,
    ) -> None:
        self._job = job
        self._watch = watch
        self._clock = clock
        self._written = clock()

    def start(self, *, total: int | None, unit: str) -> None:
        self._job.total, self._job.unit, self._job.done = total, unit, 0
        self._write()

    def report(self, done: int) -> None:
        """Report `done` units. Raises JobCancelled or JobLost, so call it where it is safe to stop."""
        self._job.done = done
        if self._clock() - self._written >= WRITE_EVERY:
            self._write()

    def heartbeat(self) -> None:
        """Heartbeat now, whatever the clock says."""
        self._write()

    def stop_if_worker_ends(self) -> None:
        """Raises JobInterrupted once the worker is to end. For long work that can go on where it was."""
        if worker_is_ending.is_set():
            raise JobInterrupted

    def _write(self) -> None:
        job = self._job
        self._written = self._clock()
        alive = Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempts=job.attempts)
        if not alive.update(done=job.done, total=job.total, unit=job.unit, heartbeat_at=timezone.now()):
            raise JobLost
        if self._watch:
            self._watch(job)
        if Job.objects.filter(pk=job.pk, cancel_requested_at__isnull=False).exists():
            raise JobCancelled
