"""State machines: a table of allowed moves, a compare-and-set update, an event row. Nothing else changes a state."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any
from uuid import UUID

from django.db import models
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Refusal
from projects.models import Event, Project

# States are members of a TextChoices, or their values.
Moves = Mapping[Any, Set[Any]]


def move(
    row: models.Model,
    *,
    to: str,
    moves: Moves,
    project: Project | None,
    actor: User | None = None,
    reason: str = "",
    kind: str = "state",
    field: str = "state",
    data: Mapping[str, Any] | None = None,
    **changes: Any,
) -> None:
    """Move `row` from the state it was read in to `to`, set `changes` (values by field name), and write the event.

    Call it inside the service's transaction: update and event are two statements. `row` is updated in memory.
    Raises Refusal "illegal_move" if the table does not allow the move, and "changed_meanwhile" if another transaction
    has moved the row since it was read.
    """
    before = getattr(row, field)
    if to not in moves.get(before, frozenset()):
        raise Refusal(
            "illegal_move",
            _("This cannot go from “%(before)s” to “%(to)s”.") % {"before": before, "to": to},
            _("Reload the page to see its present state."),
        )
    changes = {field: to, **changes}
    in_this_state = type(row)._default_manager.filter(pk=row.pk, **{field: before})
    if not in_this_state.update(**changes):
        raise Refusal(
            "changed_meanwhile",
            _("Somebody else has changed this in the meantime."),
            _("Reload the page and look again before you decide."),
        )
    for name, value in changes.items():
        setattr(row, name, value)
    record(row, kind=kind, project=project, actor=actor, reason=reason, before=before, after=to, data=data)


def record(
    row: models.Model,
    *,
    kind: str,
    project: Project | None,
    actor: User | None = None,
    reason: str = "",
    before: str = "",
    after: str = "",
    data: Mapping[str, Any] | None = None,
) -> Event:
    """Write one event about `row`."""
    return Event.objects.create(
        project=project,
        subject_type=row._meta.label_lower,
        subject_id=str(row.pk),
        kind=kind,
        before=before,
        after=after,
        actor=actor,
        reason=reason,
        data=dict(data or {}),
    )


def record_request(
    subject_type: str,
    request_id: UUID,
    *,
    kind: str,
    project: Project | None,
    actor: User | None = None,
    reason: str = "",
    before: str = "",
    after: str = "",
    data: Mapping[str, Any] | None = None,
) -> Event:
    """Write the event of a request that leaves no row of its own, so that a repeated request finds it by its id."""
    return Event.objects.create(
        project=project,
        subject_type=subject_type,
        subject_id=str(request_id),
        kind=kind,
        before=before,
        after=after,
        actor=actor,
        reason=reason,
        data=dict(data or {}),
    )
