"""Celery entry points of annotation."""

from celery import shared_task

from annotation.selectors.label_statistics import KIND
from annotation.services import assignment
from annotation.services.label_statistics import carry_out_statistics
from jobs.registry import carries_out

carries_out(KIND)(carry_out_statistics)


@shared_task(name="annotation.tasks.reap_expired_leases")
def reap_expired_leases() -> None:
    while assignment.reap_expired_leases() == assignment.REAP_AT_ONCE:
        pass
