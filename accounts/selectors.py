"""API tokens of a person."""

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import ApiToken, User
from common.refusals import NotFound


def tokens_for(user: User) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(user=user)


def live_tokens(user: User) -> QuerySet[ApiToken]:
    """Those that are neither revoked nor expired, newest first."""
    return tokens_for(user).filter(revoked_at=None).exclude(expires_at__lt=timezone.now())


def token_for(user: User, token_id: int) -> ApiToken:
    token = tokens_for(user).filter(pk=token_id).first()
    if token is None:
        raise NotFound(_("You have no such token."))
    return token
