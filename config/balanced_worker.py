"""gunicorn's threaded worker, sharing new connections evenly with the other processes.

All processes wait for connections at one socket, and the kernel wakes them all. The first to come accepts, and that is
often the same process: of twenty clients that keep their connections open, one process, and so one processor core, may
get eighteen. So a process with more open connections than another one leaves new ones to that one, for up to a quarter
of a second.
"""

from __future__ import annotations

import mmap
import socket
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

from gunicorn.workers.gthread import ThreadWorker

from config.busy_threads import BUSY_THREADS

if TYPE_CHECKING:
    from gunicorn.workers.base import Worker

PLACES: Final = 256  # processes at a time; far more than anybody has cores for
FREE: Final = -1
FULL: Final = 1_000_000  # added to the connections of a process whose threads are all busy
STEP_SECONDS: Final = 0.002
# A process leaves a connection to another for so long. A busy one may need a tenth of a second to come.
LEAVES_SECONDS: Final = 0.25
# Then the other one seems to hang, and is replaced after a minute. This process accepts whatever comes for so long.
ACCEPTS_SECONDS: Final = 0.5

# By place of the process: its load, and how many connections it has accepted. The arbiter imports this module before it
# forks, so all processes share them.
_loads = memoryview(mmap.mmap(-1, 4 * PLACES)).cast("i")
_loads[:] = memoryview(bytes([255]) * 4 * PLACES).cast("i")
_accepted = memoryview(mmap.mmap(-1, 4 * PLACES)).cast("i")


def forget(worker: Worker) -> None:
    """After its process has ended."""
    _loads[_place(worker)] = FREE


def _place(worker: Worker) -> int:
    return int(worker.age) % PLACES


class BalancedWorker(ThreadWorker):  # type: ignore[misc]
    # Since when (seconds of the monotonic clock) a connection has been left to the others while they accepted so many.
    _leaves: tuple[float, int] | None = None
    _accepts_until = 0.0

    def notify(self) -> None:
        """Called before every wait for events."""
        super().notify()
        _loads[_place(self)] = self._load() if self._accepting else FREE

    def set_accept_enabled(self, enabled: bool) -> None:
        """Called when the process starts and stops to accept: at its end, and while it has too many connections."""
        super().set_accept_enabled(enabled)
        _loads[_place(self)] = self._load() if enabled else FREE

    def accept(self, listener: socket.socket) -> None:
        """Called again at once if it accepts nothing, until another process has."""
        if self._leaves_it_to_another():
            sleep(STEP_SECONDS)
            return
        super().accept(listener)
        place = _place(self)
        _loads[place] = self._load()
        _accepted[place] = (_accepted[place] + 1) % FULL

    def _load(self) -> int:
        return int(self.nr_conns) + (0 if BUSY_THREADS.has_free else FULL)

    def _leaves_it_to_another(self) -> bool:
        now = monotonic()
        _loads[_place(self)] = own = self._load()
        if now < self._accepts_until or own == min(load for load in _loads if load > FREE):
            self._leaves = None
            return False
        accepted = sum(_accepted)
        if self._leaves is None or self._leaves[1] != accepted:
            self._leaves = now, accepted
        if now < self._leaves[0] + LEAVES_SECONDS:
            return True
        self._leaves, self._accepts_until = None, now + ACCEPTS_SECONDS
        return False
