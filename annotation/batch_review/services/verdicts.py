"""The verdict on a batch, which its sample decides: accepted, or returned as a whole (DiQAD §4.2)."""

from typing import Any
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.models import Appeal, AppealState, Sample
from annotation.batch_review.selectors.sample_progress import SampleProgress, sample_progress, verdict_figures
from annotation.batch_review.selectors.undoing import was_undone
from annotation.batch_review.services.judgements import verdict_given
from annotation.batch_review.services.locking import lock_round
from annotation.batch_review.services.returning import open_next_round, withdraw_labels
from annotation.tasks.models.rounds import ROUND_MOVES, Round, RoundState
from annotation.tasks.services.reasons import clean_reason
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from measures.batch_verdict import BatchVerdict
from projects.transitions import move


@transaction.atomic
def accept_round(*, controller: User, round_id: int, decision_id: UUID, reason: str = "") -> Round:
    """Accept a batch whose sample passes: its labels may be exported. The same decision_id again changes nothing.

    An early verdict, before all of the sample is judged, is possible if the rest cannot change it.
    Raises Refusal: id_in_use, not_in_review, open_appeals, not_decided, fails.
    """
    row = lock_round(round_id)
    reason = clean_reason(reason)
    if _is_repeat(row, RoundState.ACCEPTED, controller, decision_id, reason):
        return row
    sample = _sample_in_review(row)
    progress = _decided_progress(sample)
    if progress.decision is BatchVerdict.RETURN:
        raise Refusal(
            "fails",
            _("The sample does not pass, so the batch cannot be accepted."),
            _("Return it, or let a trainer settle an appeal against a correction."),
        )
    figures = verdict_figures(progress, sample)
    _give_verdict(row, RoundState.ACCEPTED, controller, decision_id, reason, figures)
    return row


@transaction.atomic
def return_round(
    *, controller: User, round_id: int, decision_id: UUID, reason: str, group: str | None = None
) -> Round:
    """Return a batch whose sample fails: every label is withdrawn, and the next round opens.

    group: who labels it again; None: as the plan says. Returns the next round, also for the same decision_id again.
    Raises Invalid and Refusal: id_in_use, not_in_review, open_appeals, not_decided, passes.
    """
    row = lock_round(round_id)
    reason = clean_reason(reason)
    # The group is not compared: the next round may have been given to another one since.
    if _is_repeat(row, RoundState.RETURNED, controller, decision_id, reason):
        return Round.objects.select_related("batch", "project").get(batch=row.batch, number=row.number + 1)
    if not reason:
        raise Invalid(_("Say why the batch goes back: its annotators read it."), field="reason")
    sample = _sample_in_review(row)
    progress = _decided_progress(sample)
    if progress.decision is BatchVerdict.ACCEPT:
        raise Refusal(
            "passes",
            _("The sample passes, so the batch cannot be returned."),
            _("Accept it; the labels found wrong stay as they are."),
        )
    figures = verdict_figures(progress, sample)
    _give_verdict(row, RoundState.RETURNED, controller, decision_id, reason, figures)
    withdraw_labels(row)
    return open_next_round(row, group)


def _is_repeat(row: Round, verdict: RoundState, controller: User, decision_id: UUID, reason: str) -> bool:
    """Whether this verdict is already stored. Raises Refusal id_in_use if the id belongs to another one."""
    stored = Round.objects.filter(decision_id=decision_id).first()
    if stored is None:
        if was_undone(row, decision_id):
            raise Refusal(
                "undone",
                _("This verdict was undone in the meantime."),
                _("Reload the page to see the batch as it is now."),
            )
        return False
    check_repeat(stored, pk=row.pk, state=verdict, ended_by_id=controller.pk, reason=reason)
    return True


def _sample_in_review(row: Round) -> Sample:
    if row.state == RoundState.IN_REVIEW:
        return Sample.objects.get(round=row)
    if row.ended_at:
        raise verdict_given()
    raise Refusal(
        "not_in_review",
        _("No sample of this batch was drawn yet."),
        _("Draw a sample and judge it first."),
    )


def _decided_progress(sample: Sample) -> SampleProgress:
    """What the sample says, provided that it decides the verdict."""
    if Appeal.objects.filter(item__sample=sample, state=AppealState.OPEN).exists():
        raise Refusal(
            "open_appeals",
            _("An appeal against a correction of this sample is not settled."),
            _("Let a trainer settle it first."),
        )
    progress = sample_progress(sample)
    if progress.decision is BatchVerdict.OPEN:
        raise Refusal(
            "not_decided",
            _("%(judged)s of %(all)s dialogues are judged, and the rest can still change the verdict.")
            % {"judged": intcomma(progress.judged), "all": intcomma(progress.sample)},
            _("Judge more dialogues first."),
            details={"judged": progress.judged, "sample": progress.sample},
        )
    return progress


def _give_verdict(
    row: Round,
    verdict: RoundState,
    controller: User,
    decision_id: UUID,
    reason: str,
    figures: dict[str, Any],
) -> None:
    move(
        row,
        to=verdict,
        moves=ROUND_MOVES,
        project=row.project,
        actor=controller,
        reason=reason,
        data={**figures, "batch": row.batch_id},
        ended_at=timezone.now(),
        ended_by=controller,
        decision_id=decision_id,
        figures=figures,
    )
    Round.objects.filter(pk=row.pk).update(reason=reason)
    row.reason = reason
