"""Processor time that servers on this machine have used, by process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil

Processes = Callable[[], Iterable[psutil.Process]]


class ProcessorMeter:
    """Seconds of processor time since it was made, over all processes that `processes` returns.

    A process that has ended since is not counted.
    """

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        self.before = processor_seconds(processes())

    def seconds(self) -> float:
        now = processor_seconds(self.processes())
        return sum(seconds - self.before.get(pid, 0.0) for pid, seconds in now.items())


def processor_seconds(processes: Iterable[psutil.Process]) -> dict[int, float]:
    """User and system seconds by process id."""
    seconds = {}
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            seconds[process.pid] = float(times.user + times.system)
    return seconds


def process_tree(pid: int) -> Processes:
    """A process and all its descendants."""
    parent = psutil.Process(pid)
    return lambda: [parent, *parent.children(recursive=True)]


def postgresql_processes() -> Processes:
    """All processes of the PostgreSQL that Django is connected to; none if it runs on another machine."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with suppress(psutil.NoSuchProcess):
        backend = psutil.Process(pid)
        if backend.name().startswith("postgres") and (server := backend.parent()):
            return process_tree(server.pid)
    return list
