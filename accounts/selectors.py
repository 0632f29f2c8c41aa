"""API tokens of a person."""

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import ApiToken, User
from common.refusals import NotFound


def tokens_for(user: User) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(user=user)


def token_for(user: User, token_id: int) -> ApiToken:
    token = tokens_for(user).filter(pk=token_id).first()
    if token is None:
        raise NotFound(_("You have no such token."))
    return token
