"""State machines: a table of allowed moves, a compare-and-set update, an event row. Nothing else changes a state."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Required, TypedDict, Unpack
from uuid import UUID

from django.db import models
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Refusal
from projects.models import Event, Project
from projects.outbox import store_deliveries

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
            _("The state cannot change from “%(before)s” to “%(to)s”.") % {"before": before, "to": to},
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


class EventDetails(TypedDict, total=False):
    """Everything about an event but its subject."""

    kind: Required[str]
    project: Required[Project | None]
    actor: User | None
    reason: str
    before: str
    after: str
    data: Mapping[str, Any] | None


def record(row: models.Model, **details: Unpack[EventDetails]) -> Event:
    """Write one event about `row`."""
    return _write_event(row._meta.label_lower, str(row.pk), details)


def record_request(subject_type: str, request_id: UUID, **details: Unpack[EventDetails]) -> Event:
    """Write the event of a request that leaves no row of its own, so that a repeated request finds it by its id."""
    return _write_event(subject_type, str(request_id), details)


def _write_event(subject_type: str, subject_id: str, details: EventDetails) -> Event:
    fields = {**details, "data": dict(details.get("data") or {})}
    event = Event.objects.create(subject_type=subject_type, subject_id=subject_id, **fields)
    store_deliveries(event)
    return event
