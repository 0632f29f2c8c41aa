"""Email, sent by workers so that no request waits for a mail server."""

import logging

from allauth.account.forms import default_token_generator
from allauth.account.utils import filter_users_by_email, user_pk_to_url_str
from celery import current_app
from django.conf import settings
from django.core.mail import EmailMessage, send_mail
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from accounts.models import User
from common.refusals import Refusal

logger = logging.getLogger(__name__)
QUEUE = "default"
EXPIRES = 24 * 3600  # seconds that a message waits for a worker; a later one would surprise its reader


def is_mail_set_up() -> bool:
    return bool(settings.EMAIL_URL)


def send_task(name: str, *args: object) -> None:
    """Ask a worker to send something. Raises Refusal "mail_unavailable" if email is off or the broker is away."""
    if not is_mail_set_up():
        raise Refusal(
            "mail_unavailable",
            _("This server sends no email."),
            _("Ask the manager of your project for a link."),
            status=503,
        )
    try:
        current_app.send_task(name, args=args, queue=QUEUE, retry=False, expires=EXPIRES)
    except (RedisError, OperationalError, OSError) as error:
        logger.warning("the broker did not accept an email: %s", error)
        raise Refusal(
            "mail_unavailable",
            _("No email can be sent right now."),
            _("Try again in a few minutes, or ask the manager of your project."),
            status=503,
        ) from error


def send_later(message: EmailMessage) -> None:
    """Raises Refusal "mail_unavailable"."""
    send_task("accounts.tasks.send_message", message.subject, message.body, message.to)


def request_reset_mail(*, email: str) -> None:
    """Ask a worker for a link to a new password, for whoever has this address.

    The worker looks up the accounts, so that a request takes the same time with and without one. Raises Refusal
    "mail_unavailable".
    """
    send_task("accounts.tasks.send_reset_mail", email, get_language() or settings.LANGUAGE_CODE)


def send_reset_mail(email: str, language: str) -> int:
    """Send a link to each account with this address. Returns how many. Raises OSError if the mail server refuses.

    language: of people who have chosen none.
    """
    users = [
        user
        for user in filter_users_by_email(email, is_active=True, prefer_verified=True)
        if not user.imported
    ]
    for user in users:
        with override(user.language or language):
            _send_reset_link(user, email)
    return len(users)


def _send_reset_link(user: User, email: str) -> None:
    key = {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
    context = {
        "user": user,
        "link": settings.PUBLIC_URL + reverse("account_reset_password_from_key", kwargs=key),
        "site": settings.PUBLIC_URL,
        "hours": settings.PASSWORD_RESET_TIMEOUT // 3600,
    }
    body = render_to_string("account/email/password_reset.txt", context)
    send_mail(_("A new password for Lapidary"), body, None, [email])
