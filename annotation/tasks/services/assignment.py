"""Assignments after the claim: leases, saving, releasing, taking up again. `claiming` creates them.

Only these two modules change a task's `open_slots`, together with the assignment that takes or frees the slot.
"""

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, Count, F, QuerySet, Value, When
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.tasks.models.rounds import Round
from annotation.tasks.models.work import (
    ASSIGNMENT_MOVES,
    HELD,
    Assignment,
    AssignmentState,
    Task,
    TaskState,
    Workload,
    WorkSettings,
)
from annotation.tasks.selectors.assignments import DEFERRED_TEXTS, assignment_not_found
from annotation.tasks.selectors.settings import work_settings
from common import clock
from common.refusals import NotAllowed, Refusal
from dialogues.models import DIALOGUE_MOVES, DialogueState
from projects.models import Membership, Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of, capabilities_of_roles
from projects.transitions import move

logger = logging.getLogger(__name__)

REAP_AT_ONCE = 500


def lease_end(settings: WorkSettings) -> datetime:
    """When an assignment that is taken or renewed now expires."""
    return clock.now() + timedelta(minutes=settings.lease_minutes)


def lock_assignment(*, annotator: User, assignment_id: int, protocol: str = "") -> Assignment:
    """The annotator's own assignment, locked until the end of the caller's transaction.

    protocol: of its project; "" is any. Raises NotFound for other people's assignments and other protocols.
    """
    related = ["project__labelling__schema"]
    if protocol != Protocol.LABELLING:  # labelling changes no dialogue
        related += ["dialogue", "project__authoring"]
    locked = Assignment.objects.select_for_update(of=("self",), no_key=True)
    locked = locked.select_related(*related).defer(*DEFERRED_TEXTS)
    row = locked.filter(pk=assignment_id, annotator=annotator).first()
    if row is None or protocol not in ("", row.project.protocol):
        raise assignment_not_found()
    row.annotator = annotator
    return row


def ensure_held(assignment: Assignment) -> None:
    """Make sure that the annotator holds a locked assignment, and renew its lease.

    Takes up saved work, and expired work if its slot is still open. Raises NotAllowed, or Refusal: lease_gone,
    not_writable.
    """
    settings = work_settings(assignment.project)
    check_still_annotates(assignment)
    if assignment.state == AssignmentState.ACTIVE:
        _renew(assignment, settings)
    elif assignment.state in (AssignmentState.SAVED, AssignmentState.EXPIRED):
        _take_up(assignment, settings)
    else:
        raise Refusal(
            "not_writable",
            _("This dialogue is closed: %(state)s.") % {"state": assignment.get_state_display().lower()},
            _("Your text is still here. Copy it if you need it, and go to your queue."),
            details={"state": assignment.state},
        )


def check_still_annotates(assignment: Assignment, roles: Iterable[str] | None = None) -> None:
    """Raise NotAllowed if the annotator lost the role or the project is archived.

    roles: the annotator's in the project, if the caller has fetched them.
    """
    if not _may_annotate(assignment.annotator, assignment.project, roles):
        raise NotAllowed(
            _("You are no longer an annotator of this project, or the project was archived."),
            _("Your text is still here. Copy it if you need it, and ask the project's manager."),
        )


def _may_annotate(person: User, project: Project, roles: Iterable[str] | None) -> bool:
    if project.archived_at is not None:
        return False
    known = capabilities_of(person, project) if roles is None else capabilities_of_roles(person, roles)
    return Capability.ANNOTATE in known


def _renew(assignment: Assignment, settings: WorkSettings) -> None:
    assignment.lease_until, assignment.touched_at = lease_end(settings), clock.now()
    assignment.save(update_fields=["lease_until", "touched_at"])


def _take_up(assignment: Assignment, settings: WorkSettings) -> None:
    if assignment.state not in HELD:
        _take_slot_back(assignment)
        _move_dialogue(assignment, DialogueState.WRITING)
    _move(
        assignment,
        AssignmentState.ACTIVE,
        actor=assignment.annotator,
        lease_until=lease_end(settings),
        touched_at=clock.now(),
    )


def _group_of(assignment: Assignment) -> str:
    membership = Membership.objects.filter(project=assignment.project_id, user=assignment.annotator_id)
    return membership.values_list("group", flat=True).first() or ""


def _take_slot_back(assignment: Assignment) -> None:
    open_task = Task.objects.filter(pk=assignment.task_id, open_slots__gt=0)
    if assignment.project.protocol == Protocol.LABELLING:
        # Its batch may belong to another group by now.
        open_task = open_task.filter(group__in=["", _group_of(assignment)])
    if not open_task.update(open_slots=F("open_slots") - 1):
        raise Refusal(
            "lease_gone",
            _("This dialogue was held for you until %(when)s; since then it has gone to somebody else.")
            % {"when": timezone.localtime(assignment.lease_until).strftime("%Y-%m-%d %H:%M")},
            _("Your text is kept here and in your queue. Take a new dialogue to go on."),
            details={"lease_until": assignment.lease_until.isoformat()},
        )
    _change_workload(assignment, 1)


@transaction.atomic
def renew_lease(*, annotator: User, assignment_id: int) -> Assignment:
    """Renew the lease; the page asks for it every few minutes while the person is active."""
    assignment = lock_assignment(annotator=annotator, assignment_id=assignment_id)
    ensure_held(assignment)
    return assignment


@transaction.atomic
def resume(*, annotator: User, assignment_id: int) -> Assignment:
    """Take up saved, expired or given-back work. Safe to repeat."""
    assignment = lock_assignment(annotator=annotator, assignment_id=assignment_id)
    if assignment.state == AssignmentState.RELEASED:
        check_still_annotates(assignment)
        _take_up(assignment, work_settings(assignment.project))
    elif assignment.state != AssignmentState.ACTIVE:
        ensure_held(assignment)
    return assignment


@transaction.atomic
def save_for_later(*, annotator: User, assignment_id: int) -> Assignment:
    """Keep the dialogue for the person for `WorkSettings.saved_days` days. Safe to repeat."""
    assignment = lock_assignment(annotator=annotator, assignment_id=assignment_id)
    if assignment.state != AssignmentState.SAVED:
        ensure_held(assignment)
        until = clock.now() + timedelta(days=work_settings(assignment.project).saved_days)
        _move(assignment, AssignmentState.SAVED, actor=annotator, lease_until=until, touched_at=clock.now())
    return assignment


@transaction.atomic
def release(*, annotator: User, assignment_id: int, reason: str = "") -> Assignment:
    """Give the task back with a reason; its text is kept, but not exported. Safe to repeat."""
    assignment = lock_assignment(annotator=annotator, assignment_id=assignment_id)
    if assignment.state in HELD:
        _give_back(assignment, AssignmentState.RELEASED, actor=annotator, reason=reason)
    elif assignment.state == AssignmentState.SUBMITTED:
        raise Refusal(
            "not_writable", _("This dialogue is finished."), _("Take it back first, from your queue.")
        )
    return assignment


def reap_expired_leases() -> int:
    """Expire up to REAP_AT_ONCE assignments whose lease is over; the scheduler calls this. Returns how many.

    Each has its own transaction, so that it locks one task and one workload at a time, as every request does. A failure
    is logged and does not stop the others.
    """
    over = Assignment.objects.filter(state__in=HELD, lease_until__lt=clock.now())
    ids = list(over.order_by("lease_until").values_list("pk", flat=True)[:REAP_AT_ONCE])
    return sum(map(_expire_and_log, ids))


def _expire_and_log(assignment_id: int) -> bool:
    try:
        return _expire(assignment_id)
    except Exception:
        logger.exception("assignment not given back", extra={"assignment": assignment_id})
        return False


@transaction.atomic
def _expire(assignment_id: int) -> bool:
    """False if it was renewed or given back meanwhile, or is locked by another request."""
    over = Assignment.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
    over = over.filter(pk=assignment_id, state__in=HELD, lease_until__lt=clock.now())
    assignment = over.select_related("dialogue", "project__labelling").first()
    if assignment is not None:
        _give_back(assignment, AssignmentState.EXPIRED, actor=None, reason="lease over")
    return assignment is not None


def _give_back(assignment: Assignment, state: AssignmentState, *, actor: User | None, reason: str) -> None:
    _move(assignment, state, actor=actor, reason=reason)
    Task.objects.filter(pk=assignment.task_id).update(open_slots=F("open_slots") + 1)
    _change_workload(assignment, -1)
    _move_dialogue(assignment, DialogueState.ABANDONED)
    reset_claim_cursors(assignment.project)


def reset_claim_cursors(project: Project) -> None:
    """Let the next claims look for tasks from the start: a task may be free behind somebody's cursor."""
    all_settings = type(work_settings(project))._default_manager
    all_settings.filter(pk=project.pk).update(epoch=F("epoch") + 1)


def subtract_withdrawn(row: Round) -> None:
    """Subtract the dialogues of a withdrawn round from the workloads of their annotators. Three queries."""
    _change_workloads(row.project, _submitted_by_annotator(row), -1)


def add_restored(row: Round) -> None:
    """Add the dialogues of a round whose withdrawal is undone to the workloads of their annotators."""
    _change_workloads(row.project, _submitted_by_annotator(row), 1)


def subtract_held(project: Project, tasks: Iterable[int]) -> None:
    """Subtract the dialogues that people hold of these tasks, which are about to be deleted."""
    held = Assignment.objects.filter(task__id__any_of=list(tasks), state__in=HELD)
    _change_workloads(project, _count_by_annotator(held), -1)


def subtract_taken(project: Project, tasks: Iterable[int]) -> None:
    """Subtract the dialogues that people hold or handed in of these tasks, which are about to be deleted."""
    rows = Assignment.objects.filter(
        task__id__any_of=list(tasks), state__in=(*HELD, AssignmentState.SUBMITTED)
    )
    rows = rows.exclude(task__state=TaskState.WITHDRAWN)  # subtracted with their batch
    _change_workloads(project, _count_by_annotator(rows), -1)


def _submitted_by_annotator(row: Round) -> dict[int, int]:
    return _count_by_annotator(Assignment.objects.filter(task__round=row, state=AssignmentState.SUBMITTED))


def _count_by_annotator(rows: QuerySet[Assignment]) -> dict[int, int]:
    return dict(rows.order_by().values_list("annotator").annotate(n=Count("pk")))


def _change_workloads(project: Project, counts: Mapping[int, int], sign: int) -> None:
    if counts:
        changes = Case(*(When(annotator=annotator, then=Value(sign * n)) for annotator, n in counts.items()))
        workloads = Workload.objects.filter(project=project, annotator__in=counts)
        # Always in the same order: two rounds that are returned at once may have annotators in common.
        list(workloads.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
        workloads.update(taken=Greatest(F("taken") + changes, 0))


def _change_workload(assignment: Assignment, change: int) -> None:
    workload = Workload.objects.filter(project=assignment.project_id, annotator=assignment.annotator_id)
    workload.update(taken=Greatest(F("taken") + change, 0))


def _move(
    assignment: Assignment, to: AssignmentState, *, actor: User | None, reason: str = "", **changes: Any
) -> None:
    move(
        assignment,
        to=to,
        moves=ASSIGNMENT_MOVES,
        project=assignment.project,
        actor=actor,
        reason=reason,
        **changes,
    )


def _move_dialogue(assignment: Assignment, to: DialogueState) -> None:
    """In authoring the dialogue changes state with its assignment; labelling changes no dialogue."""
    if assignment.project.protocol != Protocol.AUTHORING:
        return
    move(
        assignment.dialogue,
        to=to,
        moves=DIALOGUE_MOVES,
        project=assignment.project,
        actor=assignment.annotator,
    )
