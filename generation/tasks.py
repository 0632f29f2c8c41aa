"""Celery entry points of generation. `generate_pending` runs on the queue `gpu`, the rest on `default`."""

from celery import shared_task

from generation import services, worker
from jobs.tasks import worker_name


@shared_task(name="generation.tasks.generate_pending")
def generate_pending() -> None:
    worker.drain(worker_name())


@shared_task(name="generation.tasks.take_over_lost_requests", queue="default")
def take_over_lost_requests() -> None:
    services.take_over_lost_requests()
