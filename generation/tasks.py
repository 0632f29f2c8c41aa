"""Celery entry points of generation: tasks that need a model run on the queue `gpu`, the others on `default`."""

import os
import socket
from typing import Any

import psutil
from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings

from generation import loaded, services, worker
from generation.models import CandidateRequest, RequestState
from generation.selectors import QUEUE
from jobs.tasks import worker_name


@shared_task(name="generation.tasks.generate_pending")
def generate_pending() -> None:
    worker.drain(worker_name())


@shared_task(name="generation.tasks.preload_generator")
def preload_generator(generator_id: int | None) -> None:
    loaded.preload(generator_id)


@shared_task(name="generation.tasks.take_over_lost_requests", queue="default")
def take_over_lost_requests() -> None:
    services.take_over_lost_requests()


@worker_ready.connect
def _start_worker(sender: Any, **_: Any) -> None:
    """Release requests of a killed worker at once: its successor usually starts on the same machine within seconds."""
    if QUEUE not in {queue.name for queue in sender.task_consumer.queues}:
        return
    services.release_lost_requests(worker__in=_dead_neighbours())
    if settings.GENERATION_WARM_UP:
        loaded.warm_up()
    services.wake()


def _dead_neighbours() -> list[str]:
    """Workers of this machine that hold requests but no longer run, also one whose process id this process reuses."""
    here = f"{socket.gethostname()}-"
    running = CandidateRequest.objects.filter(state=RequestState.RUNNING, worker__startswith=here)
    names = running.values_list("worker", flat=True).distinct().order_by()
    return [name for name in names if not _is_other_process(name.removeprefix(here))]


def _is_other_process(number: str) -> bool:
    return number.isdigit() and int(number) != os.getpid() and psutil.pid_exists(int(number))
