"""Celery entry points of projects."""

from uuid import UUID

from celery import shared_task

from projects.invitations.mailing import send_due_invitations
from projects.webhooks import sending


@shared_task(name="projects.tasks.send_invitations")
def send_invitations() -> None:
    send_due_invitations()


@shared_task(name="projects.tasks.deliver_webhooks")
def deliver_webhooks() -> None:
    """Send a task for each webhook that has something due: no task waits for another webhook's receiver."""
    for webhook_id in sending.due_webhooks():
        deliver_webhook.apply_async(
            args=(str(webhook_id),), queue=sending.QUEUE, expires=sending.TASK_SECONDS, retry=False
        )


@shared_task(name="projects.tasks.deliver_webhook")
def deliver_webhook(webhook_id: str) -> None:
    sending.deliver_due(webhook_id=UUID(webhook_id))
