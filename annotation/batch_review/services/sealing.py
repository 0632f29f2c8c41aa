"""Sealing a round once every dialogue has its final label, and opening it again for corrections."""

from collections.abc import Sequence

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.batch_review.services.locking import lock_round
from annotation.tasks.models.rounds import ROUND_MOVES, Round, RoundState
from annotation.tasks.models.work import Task, TaskState
from annotation.tasks.services.reasons import clean_reason
from common.refusals import Invalid, Refusal
from projects.transitions import move


@transaction.atomic
def seal_round(*, actor: User | None, round_id: int) -> Round:
    """Close a round to changes. Safe to repeat. Raises Refusal: empty, not_complete."""
    row = lock_round(round_id)
    if row.state == RoundState.OPEN:
        states = _lock_task_states(row)
        _check_complete(states)
        _seal(row, actor)
    return row


@transaction.atomic
def seal_when_complete(*, round_id: int) -> None:
    """Seal the round if its last dialogue has just got its final label or left the round."""
    if Task.objects.filter(round=round_id).exclude(state=TaskState.FINAL).exists():
        return
    row = lock_round(round_id)
    if row.state == RoundState.OPEN:
        seal_if_complete(row)


def seal_if_complete(row: Round) -> None:
    """Seal a locked, open round; leave it open if it is empty or a label is missing."""
    states = _lock_task_states(row)
    if states and all(state == TaskState.FINAL for state in states):
        _seal(row, None)


@transaction.atomic
def unseal_round(*, actor: User, round_id: int, reason: str) -> Round:
    """Open a sealed round for corrections. Raises Invalid and, once a sample is drawn, Refusal: in_review."""
    row = lock_round(round_id)
    reason = clean_reason(reason)
    if not reason:
        raise Invalid(_("Say why the batch is opened again."), field="reason")
    if row.state == RoundState.IN_REVIEW:
        raise Refusal(
            "in_review",
            _("A sample of this batch is being judged, so nothing in it may change."),
            _("Wait for the verdict."),
        )
    move(row, to=RoundState.OPEN, moves=ROUND_MOVES, project=row.project, actor=actor, reason=reason)
    return row


def _lock_task_states(row: Round) -> list[str]:
    locked = Task.objects.select_for_update().filter(round=row).order_by("pk")
    return list(locked.values_list("state", flat=True))


def _check_complete(states: Sequence[str]) -> None:
    if not states:
        raise Refusal(
            "empty",
            _("No dialogue is left in this batch."),
            _("They all became gold dialogues of the admission test."),
        )
    missing = sum(state != TaskState.FINAL for state in states)
    if missing:
        raise Refusal(
            "not_complete",
            ngettext(
                "%(n)s dialogue of this batch has no final label yet.",
                "%(n)s dialogues of this batch have no final label yet.",
                missing,
            )
            % {"n": intcomma(missing)},
            _("It is sealed automatically once every dialogue has its final label."),
            details={"missing": missing},
        )


def _seal(row: Round, actor: User | None) -> None:
    move(
        row,
        to=RoundState.SEALED,
        moves=ROUND_MOVES,
        project=row.project,
        actor=actor,
        sealed_at=timezone.now(),
    )
