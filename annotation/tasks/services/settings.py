"""Changing the settings of any protocol."""

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
    """Store the changes that differ from the present values, and write an event of this kind if there are any.

    Raises Invalid with the field that is wrong.
    """
    before = {name: _json_value(getattr(settings, name)) for name in changes}
    changed = [name for name in changes if _json_value(changes[name]) != before[name]]
    if not changed:
        return
    for name in changed:
        setattr(settings, name, changes[name])
    _validate(settings)
    settings.save(update_fields=changed)
    after = {name: _json_value(getattr(settings, name)) for name in changed}
    data = {"before": {name: before[name] for name in changed}, "after": after}
    record(settings, kind=kind, project=project, actor=actor, data=data)


def _json_value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value.normalize())
    return value.slug if isinstance(value, Generator) else value


def _validate(settings: models.Model) -> None:
    try:
        settings.full_clean(exclude=["project"])
    except ValidationError as error:
        field, texts = next(iter(error.message_dict.items()))
        raise Invalid(" ".join(texts), field=field) from error
