"""Invitations by email. The row of an invitation is the order to send it: neither a lost broker nor a mail server that
is away loses one."""

import logging
from datetime import timedelta
from smtplib import SMTPDataError, SMTPRecipientsRefused, SMTPSenderRefused
from typing import Final

from celery import current_app
from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from common import clock
from projects.invitations.links import invitation_url
from projects.models import Invitation, InvitationState, MailState

logger = logging.getLogger(__name__)
MAX_ATTEMPTS: Final = 8
FIRST_PAUSE: Final = timedelta(seconds=30)  # doubled each time: about two hours in all
CLAIM: Final = timedelta(minutes=5)
AT_ONCE: Final = 100
REFUSED: Final = (SMTPRecipientsRefused, SMTPSenderRefused, SMTPDataError)  # this message, not others


def request_mailing() -> None:
    """Ask a worker to send what is due. If the broker is away, the scheduler asks later."""
    try:
        current_app.send_task("projects.tasks.send_invitations", queue="default", retry=False)
    except (RedisError, OperationalError, OSError) as error:
        logger.warning("the broker did not accept invitations: %s", error)


def send_due_invitations() -> int:
    """Send what is due. Returns how many were sent. Without email, or if the server is away, they stay due."""
    sent = 0
    for invitation in _due_invitations():
        if _claim(invitation):
            try:
                _send(invitation)
            except REFUSED as error:
                _postpone(invitation, error)
            except OSError as error:  # the next ones would wait for the same server
                _postpone(invitation, error)
                break
            else:
                Invitation.objects.filter(pk=invitation.pk).update(mail_state=MailState.SENT, mail_error="")
                sent += 1
    return sent


def _due_invitations() -> list[Invitation]:
    rows = Invitation.objects.select_related("project", "made_by")
    due = rows.filter(state=InvitationState.OPEN, mail_state=MailState.WAITING, mail_due_at__lte=clock.now())
    return list(due.order_by("mail_due_at")[:AT_ONCE]) if settings.EMAIL_URL else []


def _claim(invitation: Invitation) -> bool:
    """Whether this worker sends it. No transaction is open while the mail server answers."""
    due = invitation.mail_due_at
    same = Invitation.objects.filter(
        pk=invitation.pk, mail_state=MailState.WAITING, mail_due_at=due, version=invitation.version
    )
    return bool(same.update(mail_due_at=clock.now() + CLAIM))


def _send(invitation: Invitation) -> None:
    with translation.override(invitation.language or invitation.made_by.language or settings.LANGUAGE_CODE):
        context = {
            "invitation": invitation,
            "project": invitation.project,
            "link": invitation_url(invitation),
            "site": settings.PUBLIC_URL,
        }
        body = render_to_string("projects/invitations/email.txt", context)
        subject = _("Invitation to “%(project)s”") % {"project": " ".join(invitation.project.title.split())}
        send_mail(subject, body, None, [invitation.email])


def _postpone(invitation: Invitation, error: OSError) -> None:
    attempts = invitation.mail_attempts + 1
    state = MailState.FAILED if attempts >= MAX_ATTEMPTS else MailState.WAITING
    Invitation.objects.filter(pk=invitation.pk, version=invitation.version).update(
        mail_state=state,
        mail_attempts=attempts,
        mail_due_at=clock.now() + FIRST_PAUSE * 2**attempts,
        mail_error=str(error).replace("\0", "")[:200],
    )
