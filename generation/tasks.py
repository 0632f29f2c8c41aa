"""Celery entry points of generation: tasks that need a model run on the queue `gpu`, the others on `default`."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings

from generation import loaded, services, worker
from generation.models import CandidateRequest, RequestState
from generation.selectors import QUEUE
from jobs.tasks import dead_neighbours, worker_name


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
    running = CandidateRequest.objects.filter(state=RequestState.RUNNING)
    names = list(running.values_list("worker", flat=True).distinct().order_by())
    services.release_lost_requests(worker__in=dead_neighbours(names))
    if settings.GENERATION_WARM_UP:
        loaded.warm_up()
    services.wake()
