"""Changing the settings of any protocol."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db import models

from accounts.models import User
from common.model_validation import full_clean_or_refuse
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
    before = {name: _json_value(settings, name, getattr(settings, name)) for name in changes}
    after = {name: _json_value(settings, name, value) for name, value in changes.items()}
    changed = [name for name in changes if after[name] != before[name]]
    if not changed:
        return
    for name in changed:
        setattr(settings, name, changes[name])
    full_clean_or_refuse(settings, exclude=["project"])
    settings.save(update_fields=changed)
    data = {
        "before": {name: before[name] for name in changed},
        "after": {name: _json_value(settings, name, getattr(settings, name)) for name in changed},
    }
    record(settings, kind=kind, project=project, actor=actor, data=data)


def _json_value(settings: models.Model, name: str, value: Any) -> Any:
    # The default of a decimal field can be an integer, until the row is read again.
    is_decimal = isinstance(settings._meta.get_field(name), models.DecimalField)
    if is_decimal and isinstance(value, int | Decimal):
        return format(Decimal(value).normalize(), "f")
    return value.slug if isinstance(value, Generator) else value
