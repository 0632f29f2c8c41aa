"""Celery entry points of email. A mail server that is away is tried again for about an hour."""

from celery import shared_task
from django.core.mail import send_mail

from accounts import mail

MOST_RETRIES = 8
FIRST_PAUSE = 15  # seconds, doubled each time
LONGEST_PAUSE = 900


@shared_task(
    name="accounts.tasks.send_message",
    autoretry_for=(OSError,),  # SMTPException is one
    max_retries=MOST_RETRIES,
    retry_backoff=FIRST_PAUSE,
    retry_backoff_max=LONGEST_PAUSE,
)
def send_message(subject: str, body: str, to: list[str]) -> None:
    send_mail(subject, body, None, to)


@shared_task(
    name="accounts.tasks.send_reset_mail",
    autoretry_for=(OSError,),
    max_retries=MOST_RETRIES,
    retry_backoff=FIRST_PAUSE,
    retry_backoff_max=LONGEST_PAUSE,
)
def send_reset_mail(email: str, language: str) -> None:
    mail.send_reset_mail(email, language)
