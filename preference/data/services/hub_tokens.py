"""Setting and removing a project's token for a Hub."""

import re

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Invalid, Refusal
from common.sealing import seal
from preference.data.models.hub_tokens import HubToken
from preference.data.selectors.hub_tokens import open_token, purpose_of
from projects.models import Project
from projects.transitions import record

LONGEST = 500
TOKEN = re.compile(rf"[!-~]{{8,{LONGEST}}}")  # printable ASCII, as a header can carry it


@transaction.atomic
def set_hub_token(*, project: Project, actor: User, token: str) -> HubToken:
    """Set or replace the token; the same one again changes nothing. Raises Invalid, without the token in its text."""
    token = token.strip()
    if not TOKEN.fullmatch(token):
        raise Invalid(
            _("This is not a token of a Hub."),
            _("Paste the whole token, such as hf_…, without spaces or line breaks."),
            field="token",
        )
    Project.objects.select_for_update().get(pk=project.pk)
    row = HubToken.objects.filter(project=project).first()
    if row is not None and _holds(row, token):
        return row
    kind = "hub_token_set" if row is None else "hub_token_replaced"
    row = row or HubToken(project=project)
    row.sealed = seal(token, purpose=purpose_of(project.pk))
    row.set_by, row.set_at = actor, timezone.now()
    row.save()
    record(row, kind=kind, project=project, actor=actor)
    return row


def _holds(row: HubToken, token: str) -> bool:
    try:
        return open_token(row) == token
    except Refusal:  # sealed with another SECRET_KEY
        return False


@transaction.atomic
def remove_hub_token(*, project: Project, actor: User) -> None:
    """Delete the token. Safe to repeat. A push that is running keeps the token until it ends."""
    row = HubToken.objects.select_for_update().filter(project=project).first()
    if row is not None:
        record(row, kind="hub_token_removed", project=project, actor=actor)
        row.delete()
