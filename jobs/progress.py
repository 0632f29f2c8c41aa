"""A running job reports its progress here and notices that it was cancelled."""

import threading
import time
from collections.abc import Callable

from common import clock
from jobs.models import Job, JobState

WRITE_EVERY = 0.5  # seconds
# Set when this worker process is asked to end. Child processes of a prefork worker are not notified.
worker_is_ending = threading.Event()


class JobCancelled(Exception):
    """The job was cancelled."""


class JobLost(Exception):
    """Another worker took over the job because this one seemed dead."""


class JobInterrupted(Exception):
    """The worker must end: the job returns to the queue and another worker continues it."""


class Progress:
    """Writes the progress and heartbeat of a job at most twice a second, and then calls `watch` with the job."""

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
        """Report `done` units. Raises JobCancelled or JobLost: call it where stopping is safe."""
        self._job.done = done
        if self._clock() - self._written >= WRITE_EVERY:
            self._write()

    def heartbeat(self) -> None:
        """Write a heartbeat now. Raises JobCancelled or JobLost."""
        self._write()

    def beat(self, _bytes: int) -> None:
        """For transfers, which count bytes while the job counts something else. Raises JobCancelled or JobLost."""
        self.report(self._job.done)

    def stop_if_worker_ends(self) -> None:
        """Raises JobInterrupted if the worker must end. For long work that can be resumed."""
        if worker_is_ending.is_set():
            raise JobInterrupted

    def _write(self) -> None:
        job = self._job
        self._written = self._clock()
        alive = Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempts=job.attempts)
        if not alive.update(done=job.done, total=job.total, unit=job.unit, heartbeat_at=clock.now()):
            raise JobLost
        if self._watch:
            self._watch(job)
        if Job.objects.filter(pk=job.pk, cancel_requested_at__isnull=False).exists():
            raise JobCancelled
