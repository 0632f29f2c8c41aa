"""Undoes a change of overlap, group or priority, for the tasks that nobody has changed or finished since."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings
from annotation.labelling.selectors.replanning import (
    REPLAN,
    REPLANNED,
    Replan,
    differs,
    new_values,
    preview_replan,
    tasks_to_replan,
)
from annotation.labelling.services.replanning import CHANGEABLE, resolve_complete_tasks
from annotation.tasks.services.assignment import reset_claim_cursors
from common.idempotency import check_repeat
from common.refusals import NotFound, Refusal
from jobs.models import Job
from projects.models import Event, Project
from projects.transitions import record_request

UNDONE = "replan_undone"


@dataclass(frozen=True, slots=True)
class UndoneReplan:
    """changed: tasks. kept: tasks that were changed or finished since, and stay as they are.

    added, removed: assignments to give out. job: resolves the tasks that now have enough labels.
    """

    changed: int
    kept: int
    added: int
    removed: int
    job: Job | None = None


@transaction.atomic
def undo_replan(*, project: Project, actor: User | None, request_id: UUID, undone: UUID) -> UndoneReplan:
    """Give the tasks of the replan with the id `undone` their values before. Sending request_id again changes nothing.

    Raises NotFound, Refusal `already_undone`, `cannot_undo` or `id_in_use`.
    """
    if not LabellingSettings.objects.select_for_update().filter(project=project).exists():
        raise NotFound(_("There is no such change."))
    if (stored := _stored(request_id, project, undone)) is not None:
        return stored
    event = _undoable_event(project, undone)
    counts = {"changed": 0, "kept": 0, "added": 0, "removed": 0}
    for former in event.data["before"]:
        _restore(project, _replan_of(event), former, counts)
    reset_claim_cursors(project)
    data = {"undone": str(undone), **counts}
    record_request(REPLAN, request_id, kind=UNDONE, project=project, actor=actor, data=data)
    return UndoneReplan(**counts, job=resolve_complete_tasks(project, actor, request_id))


def _stored(request_id: UUID, project: Project, undone: UUID) -> UndoneReplan | None:
    """What an earlier request with this id did; None for a new one."""
    event = Event.objects.filter(subject_type=REPLAN, subject_id=str(request_id)).first()
    if event is None:
        return None
    check_repeat({**event.data, "project": event.project_id}, project=project.pk, undone=str(undone))
    counts = {name: event.data[name] for name in ("changed", "kept", "added", "removed")}
    return UndoneReplan(**counts, job=Job.objects.filter(pk=request_id).first())


def _undoable_event(project: Project, undone: UUID) -> Event:
    rows = Event.objects.filter(project=project, subject_type=REPLAN)
    event = rows.filter(subject_id=str(undone), kind=REPLANNED).first()
    if event is None:
        raise NotFound(_("There is no such change."))
    if rows.filter(kind=UNDONE, data__undone=str(undone)).exists():
        raise Refusal("already_undone", _("This change is undone already."))
    if not isinstance(event.data["before"], list):
        raise Refusal(
            "cannot_undo",
            _("This change cannot be undone, because its former values are not kept."),
            _("Change the dialogues again instead."),
        )
    return event


def _replan_of(event: Event) -> Replan:
    return Replan(**{name: event.data[name] for name in CHANGEABLE})


def _restore(project: Project, replan: Replan, former: dict[str, Any], counts: dict[str, int]) -> None:
    """Restore the tasks of one set of former values, and add to the counts."""
    values = {name: former[name] for name in CHANGEABLE if name in former}
    chosen = tasks_to_replan(project, Replan(of_dialogues=former["dialogues"])).exclude(differs(replan))
    unchanged = list(chosen.values_list("dialogue", flat=True).order_by())
    restoring = Replan(**values, of_dialogues=unchanged)
    preview = preview_replan(project, restoring)
    tasks_to_replan(project, restoring).filter(differs(restoring)).update(**new_values(restoring))
    counts["changed"] += preview.changed
    counts["kept"] += len(former["dialogues"]) - preview.changed
    counts["added"] += preview.added
    counts["removed"] += preview.removed
