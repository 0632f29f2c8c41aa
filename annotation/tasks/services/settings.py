"""Changing settings: what every kind of settings has in common."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from accounts.models import User
from common.refusals import Invalid
from generation.models import Generator
from projects.models import Project
from projects.transitions import record


def change_settings(
    settings: models.Model,
    changes: Mapping[str, Any],
    kind: str,
    project: Project,
    actor: User | None,
) -> None:
    """Check and store what differs, with an event; nothing where nothing does."""
    before = {name: _plain(getattr(settings, name)) for name in changes}
    changed = [name for name in changes if _plain(changes[name]) != before[name]]
    if not changed:
        return
    for name in changed:
        setattr(settings, name, changes[name])
    _check(settings)
    settings.save(update_fields=changed)
    after = {name: _plain(getattr(settings, name)) for name in changed}
    data = {"before": {name: before[name] for name in changed}, "after": after}
    record(settings, kind=kind, project=project, actor=actor, data=data)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value.normalize())
    return value.slug if isinstance(value, Generator) else value


def _check(settings: models.Model) -> None:
    try:
        settings.full_clean(exclude=["project"])
    except ValidationError as error:
        field, texts = next(iter(error.message_dict.items()))
        raise Invalid(" ".join(texts), field=field) from error
