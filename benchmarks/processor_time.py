"""Processor time that servers on this machine have used, by process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil

Processes = Callable[[], Iterable[psutil.Process]]


class Watch:
    """Seconds of processor time since it was made, over all processes that `processes` finds then and now.

    What a process that ended meanwhile had used is not counted.
    """

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.before = used(processes())

    def seconds(self) -> float:
        now = used(self.processes())
        return sum(seconds - self.before.get(pid, 0.0) for pid, seconds in now.items())


def used(processes: Iterable[psutil.Process]) -> dict[int, float]:
    """User and system seconds by process id."""
    found = {}
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            found[process.pid] = float(times.user + times.system)
    return found


def family(pid: int) -> Processes:
    """A process and all that it started."""
    parent = psutil.Process(pid)
    return lambda: [parent, *parent.children(recursive=True)]


def of_postgresql() -> Processes:
    """All of the PostgreSQL that Django is connected to; nothing where it runs on another machine."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with suppress(psutil.NoSuchProcess):
        backend = psutil.Process(pid)
        if backend.name().startswith("postgres") and (server := backend.parent()):
            return family(server.pid)
    return list
