"""Undoing the return of a batch, as long as nobody has worked on its next round."""

from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.selectors.undoing import copied_tasks, refuse_undo, was_undone
from annotation.batch_review.services.locking import lock_round
from annotation.batch_review.services.returning import delete_next_round, restore_labels
from annotation.tasks.models.rounds import ROUND_MOVES, Round, RoundState
from annotation.tasks.models.work import Assignment
from common.refusals import Refusal
from projects.transitions import move


@transaction.atomic
def undo_return(*, controller: User, round_id: int, decision_id: UUID) -> Round:
    """Undo a return within ten minutes: its labels count again, and its sample is in review again.

    decision_id: of the return. Undoing the same return again changes nothing.
    Raises Refusal: not_returned, too_late, worked_on (by somebody, in the next round).
    """
    row = lock_round(round_id)
    if was_undone(row, decision_id):
        return row
    if row.state != RoundState.RETURNED or row.decision_id != decision_id:
        raise Refusal(
            "not_returned",
            _("There is no such return."),
            _("Reload the page to see the batch as it is now."),
        )
    following = Round.objects.select_for_update().filter(batch=row.batch, number=row.number + 1).first()
    _lock_copies(row)
    if refusal := refuse_undo(row, following):
        raise refusal
    delete_next_round(row)
    restore_labels(row)
    _reopen_review(row, controller, decision_id)
    return row


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
