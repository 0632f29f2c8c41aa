"""Celery tasks of sessions."""

from celery import shared_task

from assessment.sessions.services import expiry, panels


@shared_task(name="assessment.sessions.reap_expired_assignments")
def reap_expired_assignments() -> None:
    while expiry.reap_expired_assignments() == expiry.AT_ONCE:
        pass


@shared_task(name="assessment.sessions.sync_panel")
def sync_panel() -> None:
    """Scheduled only if a panel's token is in the environment."""
    panel = panels.configured_panel()
    if panel is not None:
        panels.sync_panel(panel)
