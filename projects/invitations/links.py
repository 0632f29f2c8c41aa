"""The links of invitations. A key follows from SECRET_KEY, so it can be shown again without being stored."""

import hashlib

from django.conf import settings
from django.urls import reverse
from django.utils.crypto import salted_hmac

from projects.models import Invitation


def invitation_key(invitation: Invitation) -> str:
    """256 bits that nobody can guess without SECRET_KEY. Each version of the link has its own."""
    about = f"{invitation.request_id}:{invitation.position}:{invitation.version}"
    return salted_hmac("projects.invitation", about, algorithm="sha256").hexdigest()


def key_digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def invitation_url(invitation: Invitation) -> str:
    """The key is in the query, which the log leaves out."""
    return f"{settings.PUBLIC_URL}{reverse('invitation')}?key={invitation_key(invitation)}"
