"""Celery entry points of projects."""

from celery import shared_task

from projects.invitations.mailing import send_due_invitations


@shared_task(name="projects.tasks.send_invitations")
def send_invitations() -> None:
    send_due_invitations()
