"""Which token a project's snapshots are pushed with."""

import os
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from django.conf import settings
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Refusal
from common.sealing import Unreadable, unseal
from preference.data.models.hub_tokens import HubToken
from projects.models import Project


class TokenOwner(StrEnum):
    PROJECT = "project"
    INSTALLATION = "installation"


@dataclass(frozen=True, slots=True)
class PushToken:
    """A token and whose it is."""

    value: str = field(repr=False)
    owner: TokenOwner


@dataclass(frozen=True, slots=True)
class TokenState:
    """What may be told of a project's token. shared: without its own, the project uses the installation's."""

    is_set: bool
    set_by: User | None
    set_at: datetime | None
    shared: bool

    @property
    def can_push(self) -> bool:
        return self.is_set or self.shared


def hub_token_state(project: Project) -> TokenState:
    row = HubToken.objects.filter(project=project).select_related("set_by").defer("sealed").first()
    return TokenState(
        is_set=row is not None,
        set_by=row.set_by if row else None,
        set_at=row.set_at if row else None,
        shared=settings.HUB_TOKEN_SHARED,
    )


def check_token_exists(project: Project) -> None:
    """Raises Refusal no_token if the project has none and may not use the installation's."""
    if not settings.HUB_TOKEN_SHARED and not HubToken.objects.filter(project=project).exists():
        raise Refusal(
            "no_token",
            _("This project has no token for a Hub."),
            _("A manager of the project sets one in its settings, under “Hub token”."),
        )


def token_for_push(project: Project) -> PushToken:
    """The project's token, or the installation's if projects may use it. Raises Refusal no_token, token_unreadable."""
    row = HubToken.objects.filter(project=project).first()
    if row is not None:
        return PushToken(open_token(row), TokenOwner.PROJECT)
    check_token_exists(project)
    if token := os.environ.get("HF_TOKEN", "").strip():
        return PushToken(token, TokenOwner.INSTALLATION)
    raise Refusal(
        "no_token",
        _("Neither the project nor the worker has a token for a Hub."),
        _(
            "Set a token in the project's settings, or HF_TOKEN in the worker's environment, then start it again."
        ),
    )


def open_token(row: HubToken) -> str:
    """Raises Refusal token_unreadable after SECRET_KEY has changed."""
    try:
        return unseal(row.sealed, purpose=purpose_of(row.project_id))
    except Unreadable:
        raise Refusal(
            "token_unreadable",
            _("The project's Hub token cannot be decrypted: SECRET_KEY has changed since it was set."),
            _("A manager sets it again in the project's settings, under “Hub token”."),
        ) from None


def purpose_of(project_id: int) -> str:
    return f"Hub token of project {project_id}"
