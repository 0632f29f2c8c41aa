"""Giving out the open tasks of a project in another order, and going back to the one before."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F

from accounts.models import User
from annotation.tasks.models.work import PRIORITY_STEP, Task
from annotation.tasks.selectors.queue import QUEUE_ORDER
from annotation.tasks.services.assignment import reset_claim_cursors
from common.idempotency import check_repeat
from projects.locking import lock_project
from projects.models import Event, Project
from projects.transitions import record_request

# The places of all open tasks change in one statement. The sum is computed as bigint, because places go up to the end
# of the column's range.
ORDER = """
WITH ranked AS (
    SELECT dialogue, (place - 1)::int AS place
    FROM unnest(%(dialogues)s::bigint[]) WITH ORDINALITY AS listed (dialogue, place)
), open AS (
    SELECT task.id, COALESCE(task.original_place, task.place) AS original, ranked.place
    FROM annotation_task task LEFT JOIN ranked ON ranked.dialogue = task.dialogue_id
    WHERE task.project_id = %(project)s AND task.open_slots > 0
)
UPDATE annotation_task task
SET original_place = open.original,
    place = COALESCE(open.place, LEAST(open.original::bigint + %(count)s, %(last)s))
FROM open WHERE open.id = task.id
RETURNING open.place IS NOT NULL
"""


@transaction.atomic
def order_queue(
    *,
    project: Project,
    actor: User | None,
    order_id: UUID,
    dialogues: Sequence[int],
    source: Mapping[str, Any],
) -> int:
    """Give out the open tasks of these dialogues first, in this order; returns how many.

    The other tasks follow in their own order. Priorities still come first. source: what the order comes from, for the
    event. The same order_id again changes nothing and returns the first number. Raises Refusal id_in_use.
    """
    lock_project(project.pk)
    if (stored := _stored(order_id, project, "ordered", source)) is not None:
        return stored
    values: dict[str, Any] = {
        "project": project.pk,
        "dialogues": list(dialogues),
        "count": len(dialogues),
        "last": PRIORITY_STEP - 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(ORDER, values)
        ordered = sum(bool(is_ranked) for (is_ranked,) in cursor.fetchall())
    reset_claim_cursors(project)
    data = {"count": ordered, "source": dict(source)}
    record_request(QUEUE_ORDER, order_id, kind="ordered", project=project, actor=actor, data=data)
    return ordered


@transaction.atomic
def restore_queue(*, project: Project, actor: User | None, request_id: UUID) -> int:
    """Undo every order: tasks are given out as before. Returns how many tasks changed their place.

    The same request_id again changes nothing and returns the first number. Raises Refusal id_in_use.
    """
    lock_project(project.pk)
    if (stored := _stored(request_id, project, "restored", {})) is not None:
        return stored
    ordered = Task.objects.filter(project=project, original_place__isnull=False)
    restored = ordered.update(place=F("original_place"), original_place=None)
    reset_claim_cursors(project)
    data = {"count": restored, "source": {}}
    record_request(QUEUE_ORDER, request_id, kind="restored", project=project, actor=actor, data=data)
    return restored


def _stored(request_id: UUID, project: Project, kind: str, source: Mapping[str, Any]) -> int | None:
    """The number that an earlier request with this id returned; None for a new one."""
    event = Event.objects.filter(subject_type=QUEUE_ORDER, subject_id=str(request_id)).first()
    if event is None:
        return None
    check_repeat(event, project_id=project.pk, kind=kind)
    check_repeat(event.data, source=dict(source))
    count: int = event.data["count"]
    return count
