"""Celery entry points of jobs, and the heartbeat thread of every worker."""

import os
import socket
import threading
from functools import partial
from typing import Any
from uuid import UUID

import psutil
from celery import shared_task
from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from django.db import close_old_connections, connection

from common.clock import measure_on_connection
from common.database import retry_on_lost_connection
from common.release import code_version
from jobs import services
from jobs.folders import known_folder_ids
from jobs.progress import worker_is_ending

HEARTBEAT_EVERY = 5.0  # seconds
LEAVING_SECONDS = 10.0  # of an ending worker, until it has left the list
details: dict[str, Any] = {}
heartbeats: list[threading.Thread] = []  # of this process: one, after the worker is ready


@shared_task(name="jobs.tasks.run_job")
def run_job(job_id: str) -> None:
    services.run_job(job_id=UUID(job_id))


@shared_task(name="jobs.tasks.take_over_lost_jobs")
def take_over_lost_jobs() -> None:
    services.take_over_lost_jobs()


def worker_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def dead_neighbours(names: list[str]) -> list[str]:
    """Those of the workers that ran on this machine and are gone; also one that had this process's number."""
    return [name for name in names if (process := _process_here(name)) and not _is_other_process(process)]


def _process_here(worker: str) -> int | None:
    """The number of its process; None for a worker of another machine, such as gpu-2-77 on gpu."""
    host, _hyphen, number = worker.rpartition("-")
    return int(number) if host == socket.gethostname() and number.isdecimal() else None


def _is_other_process(process: int) -> bool:
    return process != os.getpid() and psutil.pid_exists(process)


@worker_ready.connect
def _start_heartbeat(sender: Any, **_: Any) -> None:
    # In a thread, because a solo worker does not respond while it generates.
    queues = [queue.name for queue in sender.task_consumer.queues]
    thread = threading.Thread(target=_send_heartbeats, args=[queues], daemon=True)
    heartbeats.append(thread)
    thread.start()


def _send_heartbeats(queues: list[str]) -> None:
    version = code_version()
    while not worker_is_ending.is_set():
        try:
            services.record_heartbeat(
                name=worker_name(),
                queues=queues,
                details=details,
                version=version,
                folders=known_folder_ids(),
            )
            measure_on_connection(connection)  # a long job keeps its connection
        except Exception:  # the database may be restarting; the next heartbeat tries again
            close_old_connections()
        worker_is_ending.wait(HEARTBEAT_EVERY)
    retry_on_lost_connection(partial(services.forget_worker, name=worker_name()))
    connection.close()


@worker_shutting_down.connect
def _remember_shutdown(**_: Any) -> None:
    worker_is_ending.set()


@worker_shutdown.connect
def _leave_the_list(**_: Any) -> None:
    """Wait for the last heartbeat: the thread would end with the process, and the worker stay on the list."""
    worker_is_ending.set()
    while heartbeats:
        heartbeats.pop().join(LEAVING_SECONDS)
