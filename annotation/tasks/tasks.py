"""Celery tasks of annotation."""

from celery import shared_task

from annotation.tasks.services import assignment


@shared_task(name="annotation.tasks.reap_expired_leases")
def reap_expired_leases() -> None:
    while assignment.reap_expired_leases() == assignment.REAP_AT_ONCE:
        pass
