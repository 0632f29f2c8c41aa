"""Finishing a dialogue, and taking it back before an expert reads it."""

from dataclasses import asdict
from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.authoring.selectors.checks import finish_warnings
from annotation.expert_review.selectors import is_being_judged
from annotation.tasks.models.work import ASSIGNMENT_MOVES, Assignment, AssignmentState
from annotation.tasks.services.assignment import ensure_held, lock_assignment
from common.refusals import Refusal
from dialogues.models import DIALOGUE_MOVES, Dialogue, DialogueState
from projects.models import Protocol
from projects.transitions import move


@transaction.atomic
def finish_dialogue(*, annotator: User, assignment_id: int, check: bool = False) -> Assignment:
    """Hand the dialogue in, once it has the project's least number of rounds. Safe to repeat.

    check: refuse if something is worth a second look; without it the dialogue is handed in all the same.
    Raises Refusal: too_short (with `rounds` and `needed`), check_first (with `warnings`), lease_gone, not_writable.
    """
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    if assignment.state == AssignmentState.SUBMITTED:
        return assignment
    ensure_held(assignment)
    _check_rounds(assignment)
    if check:
        _refuse_with_warnings(assignment)
    _move_with_dialogue(assignment, AssignmentState.SUBMITTED, DialogueState.FINISHED, timezone.now())
    return assignment


def _check_rounds(assignment: Assignment) -> None:
    rounds, needed = assignment.dialogue.utterance_count // 2, assignment.project.authoring.min_rounds
    if rounds < needed:
        raise Refusal(
            "too_short",
            ngettext(
                "The dialogue has %(rounds)d round; it needs %(needed)d.",
                "The dialogue has %(rounds)d rounds; it needs %(needed)d.",
                rounds,
            )
            % {"rounds": rounds, "needed": needed},
            _("Keep writing, or save it for later."),
            details={"rounds": rounds, "needed": needed},
        )


def _refuse_with_warnings(assignment: Assignment) -> None:
    if warnings := finish_warnings(assignment.dialogue):
        raise Refusal(
            "check_first",
            _("Have another look before you submit this."),
            _("Undo turns to change them, or finish anyway."),
            details={"warnings": [asdict(warning) for warning in warnings]},
        )


@transaction.atomic
def take_back_dialogue(*, annotator: User, assignment_id: int) -> Assignment:
    """Open a finished dialogue again, as long as no expert has judged it. Safe to repeat.

    Raises Refusal: not_finished, under_review.
    """
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    if assignment.state == AssignmentState.ACTIVE:
        return assignment
    if assignment.state != AssignmentState.SUBMITTED:
        raise Refusal("not_finished", _("This dialogue is not finished."), _("Resume it from your queue."))
    assignment.dialogue = Dialogue.objects.select_for_update(no_key=True).get(pk=assignment.dialogue_id)
    if is_being_judged(assignment.dialogue):
        raise Refusal(
            "under_review",
            _("An expert is already reading this dialogue."),
            _("Wait for the verdict in your queue."),
        )
    _move_with_dialogue(assignment, AssignmentState.ACTIVE, DialogueState.WRITING, None)
    ensure_held(assignment)
    return assignment


def _move_with_dialogue(
    assignment: Assignment, state: AssignmentState, dialogue_state: DialogueState, at: datetime | None
) -> None:
    """Move the assignment and its dialogue. at: when they were finished, None when they are open again."""
    project, actor = assignment.project, assignment.annotator
    move(assignment, to=state, moves=ASSIGNMENT_MOVES, project=project, actor=actor, submitted_at=at)
    move(
        assignment.dialogue,
        to=dialogue_state,
        moves=DIALOGUE_MOVES,
        project=project,
        actor=actor,
        finished_at=at,
    )
