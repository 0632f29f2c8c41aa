"""Who works on what: claiming, holding, giving back, taking up again.

A task's `open_slots` is changed only here, always together with the assignment that takes or gives the slot.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, Min, OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.errors import NotAllowed, Refusal
from accounts.models import User
from annotation.models import ASSIGNMENT_MOVES, HELD, Assignment, AssignmentState, AuthoringSettings, Task
from annotation.selectors.assignments import missing_assignment
from dialogues.models import DIALOGUE_MOVES, Dialogue, DialogueState, Origin
from dialogues.splits import split_for
from projects.models import Membership, Project
from projects.roles import CAPABILITIES, Capability
from projects.selectors import capabilities_of
from projects.transitions import move

REAP_AT_ONCE = 500


@transaction.atomic
def claim_next_task(*, annotator: User, project: Project, claim_id: UUID) -> Assignment:
    """Give the annotator the next open task, with a lease. The same claim_id again returns the first claim.

    Raises Refusal: not_annotator, too_many_open, and when nothing comes, all_claimed (others hold the rest, the first
    lease ends at details["until"]) or all_done. The number of queries does not depend on the size of the project.
    """
    _lock_annotator(annotator, project)
    if earlier := Assignment.objects.filter(claim_id=claim_id, annotator=annotator).first():
        return earlier
    settings = AuthoringSettings.objects.get(project=project)
    _check_open_tasks(annotator, project, settings)
    task = _next_task(annotator, project)
    if task is None:
        raise _nothing_left(annotator, project)
    Task.objects.filter(pk=task.pk).update(open_slots=F("open_slots") - 1)
    return Assignment.objects.create(
        task=task,
        project=project,
        annotator=annotator,
        dialogue=_new_dialogue(project, claim_id),
        claim_id=claim_id,
        lease_until=_lease(settings),
    )


def _lock_annotator(annotator: User, project: Project) -> None:
    # Two tabs of one person claim one after the other, so that the limit of open tasks holds; and so do two
    # sends of one claim, so that the second finds the first.
    membership = Membership.objects.select_for_update().filter(user=annotator, project=project).first()
    roles = membership.roles if membership else []
    if not any(Capability.ANNOTATE in CAPABILITIES.get(role, ()) for role in roles) or project.archived_at:
        raise NotAllowed(
            _("You are not an annotator of this project."),
            _("Ask its manager to give you the role “Annotator”."),
        )


def _check_open_tasks(annotator: User, project: Project, settings: AuthoringSettings) -> None:
    held = Assignment.objects.filter(annotator=annotator, project=project, state__in=HELD).count()
    if held >= settings.open_tasks_per_person:
        raise Refusal(
            "too_many_open",
            ngettext(
                "You already have %(n)d open dialogue in this project.",
                "You already have %(n)d open dialogues in this project.",
                held,
            )
            % {"n": held},
            _("Finish one of them or give one back, then take the next."),
            details={"open": held},
        )


def _next_task(annotator: User, project: Project) -> Task | None:
    mine = Assignment.objects.filter(task=OuterRef("pk"), annotator=annotator)
    return (
        Task.objects.select_for_update(skip_locked=True, of=("self",))
        .filter(~Exists(mine), project=project, open_slots__gt=0)
        .order_by("rank", "id")
        .first()
    )


def _nothing_left(annotator: User, project: Project) -> Refusal:
    others = Assignment.objects.filter(project=project, state__in=HELD).exclude(annotator=annotator)
    until: datetime | None = others.aggregate(until=Min("lease_until"))["until"]
    mine = Assignment.objects.filter(task=OuterRef("pk"), annotator=annotator)
    # Open, but locked at this instant: somebody is claiming it.
    being_claimed = Task.objects.filter(~Exists(mine), project=project, open_slots__gt=0).exists()
    if until is None and not being_claimed:
        return Refusal(
            "all_done",
            _("Everything in this project is done."),
            _("Thank you. Look into your other projects."),
        )
    return Refusal(
        "all_claimed",
        _("All that is left is being worked on by others."),
        _("Try again later: what they give back becomes free."),
        details={"until": until.isoformat() if until else None},
    )


def _new_dialogue(project: Project, claim_id: UUID) -> Dialogue:
    return Dialogue.objects.create(
        project=project,
        origin=Origin.AUTHORED,
        state=DialogueState.WRITING,
        split=split_for(str(claim_id)),
        language=project.language,
    )


def _lease(settings: AuthoringSettings) -> datetime:
    return timezone.now() + timedelta(minutes=settings.lease_minutes)


def lock_assignment(*, annotator: User, assignment_id: int) -> Assignment:
    """The annotator's own row, locked until the end of the caller's transaction; NotFound for anybody else's."""
    locked = Assignment.objects.select_for_update(of=("self",)).select_related(
        "dialogue", "project__authoring"
    )
    row = locked.filter(pk=assignment_id, annotator=annotator).first()
    if row is None:
        raise missing_assignment()
    return row


def hold(assignment: Assignment) -> None:
    """Make sure that a locked assignment may be written to, and renew its lease.

    Saved work is taken up; expired work too, if its slot is still open. Raises Refusal: lease_gone, not_writable.
    """
    settings = assignment.project.authoring
    _check_still_annotates(assignment)
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


def _check_still_annotates(assignment: Assignment) -> None:
    if not _may_annotate(assignment.annotator, assignment.project):
        raise NotAllowed(
            _("You are no longer an annotator of this project, or the project was archived."),
            _("Your text is still here. Copy it if you need it, and ask the project's manager."),
        )


def _may_annotate(person: User, project: Project) -> bool:
    return project.archived_at is None and Capability.ANNOTATE in capabilities_of(person, project)


def _renew(assignment: Assignment, settings: AuthoringSettings) -> None:
    assignment.lease_until, assignment.touched_at = _lease(settings), timezone.now()
    assignment.save(update_fields=["lease_until", "touched_at"])


def _take_up(assignment: Assignment, settings: AuthoringSettings) -> None:
    if assignment.state not in HELD:
        _take_slot_back(assignment)
        _move_dialogue(assignment, DialogueState.WRITING)
    _move(
        assignment,
        AssignmentState.ACTIVE,
        actor=assignment.annotator,
        lease_until=_lease(settings),
        touched_at=timezone.now(),
    )


def _take_slot_back(assignment: Assignment) -> None:
    open_task = Task.objects.filter(pk=assignment.task_id, open_slots__gt=0)
    if not open_task.update(open_slots=F("open_slots") - 1):
        raise Refusal(
            "lease_gone",
            _("This dialogue was held for you until %(when)s; somebody else has taken its place since.")
            % {"when": timezone.localtime(assignment.lease_until).strftime("%Y-%m-%d %H:%M")},
            _("Your text is kept here and in your queue. Take a new dialogue to go on."),
            details={"lease_until": assignment.lease_until.isoformat()},
        )


@transaction.atomic
def renew_lease(*, annotator: User, assignment_id: int) -> Assignment:
    """Called by the page every few minutes while the person is active."""
    assignment = lock_assignment(annotator=annotator, assignment_id=assignment_id)
    hold(assignment)
    return assignment


@transaction.atomic
def resume(*, annotator: User, assignment_id: int) -> Assignment:
    """Take up saved, expired or given-back work. Safe to repeat."""
    assignment = lock_assignment(annotator=annotator, assignment_id=assignment_id)
    if assignment.state == AssignmentState.RELEASED:
        _check_still_annotates(assignment)
        _take_up(assignment, assignment.project.authoring)
    elif assignment.state != AssignmentState.ACTIVE:
        hold(assignment)
    return assignment


@transaction.atomic
def save_for_later(*, annotator: User, assignment_id: int) -> Assignment:
    """Keep the dialogue for the person for some days (AuthoringSettings.saved_days). Safe to repeat."""
    assignment = lock_assignment(annotator=annotator, assignment_id=assignment_id)
    if assignment.state != AssignmentState.SAVED:
        hold(assignment)
        until = timezone.now() + timedelta(days=assignment.project.authoring.saved_days)
        _move(
            assignment, AssignmentState.SAVED, actor=annotator, lease_until=until, touched_at=timezone.now()
        )
    return assignment


@transaction.atomic
def release(*, annotator: User, assignment_id: int, reason: str = "") -> Assignment:
    """Give the task back with a reason; what was written is kept but leaves the data. Safe to repeat."""
    assignment = lock_assignment(annotator=annotator, assignment_id=assignment_id)
    if assignment.state in HELD:
        _give_back(assignment, AssignmentState.RELEASED, actor=annotator, reason=reason)
    elif assignment.state == AssignmentState.SUBMITTED:
        raise Refusal(
            "not_writable", _("This dialogue is finished."), _("Take it back first, from your queue.")
        )
    return assignment


def reap_expired_leases() -> int:
    """Give back what nobody has renewed. Returns how many; called again and again by the scheduler."""
    with transaction.atomic():
        over = Assignment.objects.select_for_update(skip_locked=True, of=("self",)).select_related(
            "dialogue", "project"
        )
        expired = list(over.filter(state__in=HELD, lease_until__lt=timezone.now())[:REAP_AT_ONCE])
        for assignment in expired:
            _give_back(assignment, AssignmentState.EXPIRED, actor=None, reason="lease over")
    return len(expired)


def _give_back(assignment: Assignment, state: AssignmentState, *, actor: User | None, reason: str) -> None:
    _move(assignment, state, actor=actor, reason=reason)
    Task.objects.filter(pk=assignment.task_id).update(open_slots=F("open_slots") + 1)
    _move_dialogue(assignment, DialogueState.ABANDONED)


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
    move(
        assignment.dialogue,
        to=to,
        moves=DIALOGUE_MOVES,
        project=assignment.project,
        actor=assignment.annotator,
    )
