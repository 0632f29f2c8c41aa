"""State machines: a table of allowed moves, a compare-and-set update, an event row. Nothing else changes a state."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cache
from typing import Any, cast
from uuid import UUID

from django.db import connection, models
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Refusal
from common.sql_rows import NewRow, in_database
from projects.models import Event, Project

# States are members of a TextChoices, or their values.
Moves = Mapping[Any, Set[Any]]
EVENT = NewRow(Event)


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
    """Move `row` from the state it was read in to `to`, together with `changes` (values), and write the event.

    Call it inside the service's transaction. Raises Refusal "illegal_move" when the table does not allow the move, and
    "changed_meanwhile" when somebody else moved the row since it was read; `row` is updated in memory on success.
    """
    before = getattr(row, field)
    if to not in moves.get(before, frozenset()):
        raise Refusal(
            "illegal_move",
            _("This cannot go from “%(before)s” to “%(to)s”.") % {"before": before, "to": to},
            _("Reload the page to see its present state."),
        )
    changes = {field: to, **changes}
    event = _event(row, kind, project, actor, reason, before, to, data)
    asked = {**_values(type(row), changes), "row": row.pk, "before": before, **EVENT.values(event)}
    with connection.cursor() as cursor:
        cursor.execute(_statement(type(row), tuple(changes)), asked)
        won = cursor.rowcount
    if not won:
        raise Refusal(
            "changed_meanwhile",
            _("Somebody else has changed this in the meantime."),
            _("Reload the page and look again before you decide."),
        )
    for name, value in changes.items():
        setattr(row, name, value)


@cache
def _statement(model: type[models.Model], changed: tuple[str, ...]) -> str:
    """Compares, sets and tells: the event is written where the row was moved. The state is the first of `changed`."""
    columns = [f'"{_field(model, name).column}"' for name in changed]
    places = [f"%(set_{name})s" for name in changed]
    return f"""
        WITH moved AS (
            UPDATE "{model._meta.db_table}" SET {", ".join(map("{} = {}".format, columns, places))}
            WHERE "{model._meta.pk.column}" = %(row)s AND {columns[0]} = %(before)s RETURNING 1
        )
        INSERT INTO {EVENT.table} ({EVENT.columns}) SELECT {EVENT.places} FROM moved
    """  # noqa: S608 - names of tables and columns


def _values(model: type[models.Model], changes: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: _field(model, name) for name in changes}
    return {f"set_{name}": in_database(field, changes[name]) for name, field in fields.items()}


def _field(model: type[models.Model], name: str) -> models.Field[Any, Any]:
    return cast("models.Field[Any, Any]", model._meta.get_field(name))


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
    """Write one event row about `row`."""
    event = _event(row, kind, project, actor, reason, before, after, data)
    event.save(force_insert=True)
    return event


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
    """Write the event of a request that leaves no row of its own. Sent again, the id finds it."""
    return Event.objects.create(
        subject_type=subject_type,
        subject_id=str(request_id),
        kind=kind,
        project=project,
        actor=actor,
        reason=reason,
        before=before,
        after=after,
        data=dict(data or {}),
    )


def _event(
    row: models.Model,
    kind: str,
    project: Project | None,
    actor: User | None,
    reason: str,
    before: str,
    after: str,
    data: Mapping[str, Any] | None,
) -> Event:
    return Event(
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
