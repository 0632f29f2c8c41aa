"""How many of this web process's threads are serving a request; gunicorn's hooks count (config/gunicorn.py)."""

from __future__ import annotations

from threading import Lock


class BusyThreads:
    """total: the threads of the process; None if nothing counts them, as under `runserver`."""

    def __init__(self) -> None:
        self.total: int | None = None
        self.busy = 0
        self._lock = Lock()

    def start(self) -> None:
        with self._lock:
            self.busy += 1

    def end(self) -> None:
        with self._lock:
            self.busy -= 1

    @property
    def has_free(self) -> bool:
        """Whether another request would be served at once, besides those that are, this one included."""
        return self.total is None or self.busy < self.total


BUSY_THREADS = BusyThreads()
