"""Celery entry point of the daily cleaning."""

from celery import shared_task

from operations.retention.ages import chosen_ages
from operations.retention.services import clean


@shared_task(name="operations.tasks.clean_daily")
def clean_daily() -> None:
    for _kind, _amount in clean(chosen_ages({}), dry_run=False):
        pass
