"""Undoing the verdict on a batch: an acceptance, or a return as long as nobody has worked on the next round."""

from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.selectors.undoing import (
    copied_tasks,
    refuse_undo_of_acceptance,
    refuse_undo_of_return,
    was_undone,
)
from annotation.batch_review.services.locking import lock_round
from annotation.batch_review.services.returning import delete_next_round, restore_labels
from annotation.tasks.models.rounds import ROUND_MOVES, Round, RoundState
from annotation.tasks.models.work import Assignment
from common.refusals import Refusal
from projects.transitions import move


@transaction.atomic
def undo_acceptance(*, controller: User, round_id: int, decision_id: UUID) -> Round:
    """Undo an acceptance while `undo_until` allows it: its labels leave with no export that starts from now on.

    decision_id: of the acceptance. Undoing the same acceptance again changes nothing.
    Raises Refusal: not_accepted, too_late, secrets_shown (by a verdict before the whole sample was judged).
    """
    row = lock_round(round_id)
    if was_undone(row, decision_id):
        return row
    if not _has_verdict(row, RoundState.ACCEPTED, decision_id):
        raise _no_verdict("not_accepted", _("There is no such acceptance."))
    if refusal := refuse_undo_of_acceptance(row):
        raise refusal
    _reopen_review(row, controller, decision_id)
    return row


@transaction.atomic
def undo_return(*, controller: User, round_id: int, decision_id: UUID) -> Round:
    """Undo a return while `undo_until` allows it: its labels count again, and its sample is in review again.

    decision_id: of the return. Undoing the same return again changes nothing.
    Raises Refusal: not_returned, too_late, secrets_shown, worked_on (by somebody, in the next round).
    """
    row = lock_round(round_id)
    if was_undone(row, decision_id):
        return row
    if not _has_verdict(row, RoundState.RETURNED, decision_id):
        raise _no_verdict("not_returned", _("There is no such return."))
    following = Round.objects.select_for_update().filter(batch=row.batch, number=row.number + 1).first()
    _lock_copies(row)
    if refusal := refuse_undo_of_return(row, following):
        raise refusal
    delete_next_round(row)
    restore_labels(row)
    _reopen_review(row, controller, decision_id)
    return row


def _has_verdict(row: Round, verdict: RoundState, decision_id: UUID) -> bool:
    return row.state == verdict and row.decision_id == decision_id


def _no_verdict(code: str, message: str) -> Refusal:
    return Refusal(code, message, _("Reload the page to see the batch as it is now."))


def _lock_copies(row: Round) -> None:
    """Assignments before tasks, as a submission locks them; a claim that is on its way is waited for."""
    for rows in (Assignment.objects.filter(task__in=copied_tasks(row)), copied_tasks(row)):
        list(rows.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True))


def _reopen_review(row: Round, controller: User, decision_id: UUID) -> None:
    move(
        row,
        to=RoundState.IN_REVIEW,
        moves=ROUND_MOVES,
        project=row.project,
        actor=controller,
        data={"undone": str(decision_id), "batch": row.batch_id},
        ended_at=None,
        ended_by=None,
        decision_id=None,
        figures={},
    )
    Round.objects.filter(pk=row.pk).update(reason="")
    row.reason = ""
