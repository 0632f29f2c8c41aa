"""Judging a sample, its verdict, and appeals against a correction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.models import APPEAL_MOVES, Appeal, AppealState, Judgement, Sample, SampleItem
from annotation.batch_review.selectors.batches import Standing, figures_of, is_same, standing_of
from annotation.batch_review.services.batches import locked_round, open_next, withdraw
from annotation.labelling.models.labels import FinalLabel, Submission
from annotation.labelling.schema.answers import Answers, check_answers
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.workbench import speakers_in
from annotation.tasks.models.rounds import ROUND_MOVES, Round, RoundState
from annotation.tasks.services.reasons import checked_reason
from common.refusals import Invalid, NotFound, Refusal
from measures.verdict import Decision
from projects.models import Event
from projects.transitions import move


@dataclass(frozen=True, slots=True)
class SentJudgement:
    """id: made by the browser. answers: the right ones; None: those of the label, which is right."""

    id: UUID
    answers: Mapping[str, Any] | None = None
    reason: str = ""
    active_ms: int = 0


@transaction.atomic
def judge(*, controller: User, item_id: int, sent: SentJudgement) -> Judgement:
    """Store a controller's judgement on a drawn dialogue, or their correction of it. The same id again is the first.

    Raises Refusal: in_review is over (not_in_review), own_work, judged_already (by another controller), blind (the
    label was taken as right before it was shown), invalid.
    """
    item = _locked_item(item_id)
    row = item.sample.round
    if stored := Judgement.objects.filter(pk=sent.id).first():
        if stored.item_id != item.pk or stored.controller_id != controller.pk:
            raise Refusal(
                "id_in_use", _("This id belongs to another judgement."), _("Send it with a new one.")
            )
        return stored
    if row.state != RoundState.IN_REVIEW:
        raise _over()
    _refuse_own(controller, item)
    live = list(Judgement.objects.filter(item=item, superseded_at=None))
    before = next((one for one in live if one.controller_id == controller.pk), None)
    number = before.number if before else _free_number(item.sample, live)
    answers = _answers(item, sent, is_corrected=before is not None)
    if before:
        before.superseded_at = timezone.now()
        before.save(update_fields=["superseded_at"])
    return Judgement.objects.create(
        id=sent.id,
        item=item,
        controller=controller,
        number=number,
        is_right=is_same(load_schema(item.final.schema), item.sample.question, item.final.answers, answers),
        answers=answers,
        reason=checked_reason(sent.reason),
        active_ms=sent.active_ms,
    )


def _locked_item(item_id: int) -> SampleItem:
    """With its round locked: a judgement and a verdict at the same instant come one after the other."""
    rows = SampleItem.objects.select_related("sample", "final__schema", "task")
    item = rows.filter(pk=item_id).first()
    if item is None:
        raise NotFound(_("There is no such dialogue in a sample."), _("Go back to the batch."))
    item.sample.round = locked_round(item.sample.round_id)
    return item


def _over() -> Refusal:
    return Refusal(
        "not_in_review",
        _("The verdict on this batch is given, so nothing can be judged any more."),
        _("Open the batch to see it."),
    )


def _refuse_own(controller: User, item: SampleItem) -> None:
    dialogue = item.task.dialogue_id
    answered = Submission.objects.filter(annotator=controller, task__dialogue=dialogue).exists()
    if answered or FinalLabel.objects.filter(decided_by=controller, dialogue=dialogue).exists():
        raise Refusal(
            "own_work", _("You labelled this dialogue yourself."), _("Another controller judges it.")
        )


def _free_number(sample: Sample, live: list[Judgement]) -> int:
    taken = {one.number for one in live}
    for number in (1, 2) if sample.is_double else (1,):
        if number not in taken:
            return number
    raise Refusal(
        "judged_already",
        _("Another controller has judged this dialogue."),
        _("Go on with the next one."),
    )


def _answers(item: SampleItem, sent: SentJudgement, *, is_corrected: bool) -> Answers:
    schema, question = load_schema(item.final.schema), item.sample.question
    if sent.answers is None:
        if item.sample.is_blind and not is_corrected:
            raise Refusal(
                "blind",
                _("In this sample the controller labels first and sees the label then."),
                _("Send the answers that you find right."),
            )
        return {
            "dialogue": dict(item.final.answers["dialogue"]),
            "utterances": dict(item.final.answers["utterances"]),
        }
    speakers = speakers_in(item.task.dialogue_id)
    answers, problems = check_answers(schema, sent.answers, speakers, complete=not question)
    if problems:
        named = [{"path": one.path, "code": one.code, "message": one.message} for one in problems[:50]]
        raise Invalid(f"{problems[0].path}: {problems[0].message}", field="answers", problems=named)
    if question and question not in answers["dialogue"]:
        raise Invalid(
            _("The question that is checked has no answer yet."), field="answers", question=question
        )
    return answers


# ---- the verdict -----------------------------------------------------------------------------------------------------


@transaction.atomic
def accept_round(*, controller: User, round_id: int, decision_id: UUID, reason: str = "") -> Round:
    """Accept a batch whose sample passes: its labels may leave. The same decision_id again changes nothing.

    Before all of the sample is judged only where the rest cannot change the verdict, which is recorded as early.
    Raises Refusal: not_decided, fails, open_appeals, not_in_review, id_in_use.
    """
    row = locked_round(round_id)
    if _is_given(row, RoundState.ACCEPTED, decision_id):
        return row
    standing = _decided(row)
    if standing.decision is Decision.RETURN:
        raise Refusal(
            "fails",
            _("The sample does not pass, so the batch cannot be accepted."),
            _("Return it, or let a trainer settle an appeal against a correction."),
        )
    _end(row, RoundState.ACCEPTED, controller, decision_id, checked_reason(reason), standing)
    return row


@transaction.atomic
def return_round(
    *, controller: User, round_id: int, decision_id: UUID, reason: str, group: str | None = None
) -> Round:
    """Return a batch whose sample fails: every label is withdrawn and the next round opens, all at once.

    group: who labels it anew; None: as the plan says. Returns the next round; the same decision_id again finds it.
    """
    row = locked_round(round_id)
    if _is_given(row, RoundState.RETURNED, decision_id):
        return Round.objects.select_related("batch", "project").get(batch=row.batch, number=row.number + 1)
    reason = checked_reason(reason)
    if not reason:
        raise Invalid(_("Say why the batch goes back: its annotators read it."), field="reason")
    standing = _decided(row)
    if standing.decision is Decision.ACCEPT:
        raise Refusal(
            "passes",
            _("The sample passes, so the batch cannot be returned."),
            _("Accept it; single mistakes are corrected in the dialogues themselves."),
        )
    _end(row, RoundState.RETURNED, controller, decision_id, reason, standing)
    withdraw(row)
    return open_next(row, group)


def _is_given(row: Round, verdict: RoundState, decision_id: UUID) -> bool:
    """Whether this very verdict was stored before."""
    given = Round.objects.filter(decision_id=decision_id).values_list("pk", "state").first()
    if given not in (None, (row.pk, verdict)):
        raise Refusal("id_in_use", _("This id belongs to another verdict."), _("Send it with a new one."))
    return given is not None


def _decided(row: Round) -> Standing:
    if row.state != RoundState.IN_REVIEW:
        raise (
            _over()
            if row.ended_at
            else Refusal(
                "not_in_review",
                _("No sample of this batch was drawn yet."),
                _("Draw one and judge it first."),
            )
        )
    sample = Sample.objects.get(round=row)
    if Appeal.objects.filter(item__sample=sample, state=AppealState.OPEN).exists():
        raise Refusal(
            "open_appeals",
            _("An appeal against a correction of this sample is not settled."),
            _("Let a trainer settle it first."),
        )
    standing = standing_of(sample)
    if standing.decision is Decision.OPEN:
        raise Refusal(
            "not_decided",
            _("%(judged)d of %(all)d dialogues are judged, and the rest can still change the verdict.")
            % {"judged": standing.judged, "all": standing.sample},
            _("Judge on."),
            details={"judged": standing.judged, "sample": standing.sample},
        )
    return standing


def _end(
    row: Round, to: RoundState, controller: User, decision_id: UUID, reason: str, standing: Standing
) -> None:
    figures = figures_of(standing, Sample.objects.get(round=row))
    move(
        row,
        to=to,
        moves=ROUND_MOVES,
        project=row.project,
        actor=controller,
        reason=reason,
        data=figures,
        ended_at=timezone.now(),
        ended_by=controller,
        decision_id=decision_id,
        figures=figures,
    )
    Round.objects.filter(pk=row.pk).update(reason=reason)
    row.reason = reason


# ---- appeals ---------------------------------------------------------------------------------------------------------


@transaction.atomic
def raise_appeal(*, by: User, item_id: int, appeal_id: UUID, reason: str) -> Appeal:
    """Dispute a correction: the label was right, says somebody who gave it, or a trainer. Safe to repeat.

    The caller has checked that the person may see the correction. An appeal during review holds the verdict back;
    one after it changes the accuracy that is shown, not the verdict.
    """
    item = _locked_item(item_id)
    if stored := Appeal.objects.filter(pk=appeal_id).first():
        if stored.item_id != item.pk or stored.by_id != by.pk:
            raise Refusal("id_in_use", _("This id belongs to another appeal."), _("Send it with a new one."))
        return stored
    reason = checked_reason(reason)
    if not reason:
        raise Invalid(_("Say why the label was right."), field="reason")
    judged = Judgement.objects.filter(item=item, superseded_at=None, number=1).first()
    if judged is None or judged.is_right:
        raise Refusal("not_corrected", _("Nobody corrected this label."), _("There is nothing to dispute."))
    if Appeal.objects.filter(item=item).exists():
        raise Refusal(
            "appealed",
            _("Somebody has disputed this correction already."),
            _("A trainer settles it, or has settled it."),
        )
    made = Appeal.objects.create(id=appeal_id, item=item, by=by, reason=reason)
    Event.objects.create(
        project=item.sample.round.project,
        subject_type=made._meta.label_lower,
        subject_id=str(made.pk),
        kind="raised",
        actor=by,
        reason=made.reason,
    )
    return made


def _took_part(person: User, item: SampleItem) -> bool:
    judged = Judgement.objects.filter(item=item, controller=person)
    labelled = Submission.objects.filter(task=item.task_id, annotator=person)
    return item.final.decided_by_id == person.pk or judged.exists() or labelled.exists()


@transaction.atomic
def settle_appeal(*, trainer: User, appeal_id: UUID, upheld: bool, settlement: str) -> Appeal:
    """Say whether a disputed correction holds; upheld: the label was right. The same again changes nothing.

    Raises NotFound, Invalid, Refusal: already_settled (by somebody else meanwhile, or otherwise), own_case.
    """
    found = Appeal.objects.filter(pk=appeal_id).first()
    if found is None:
        raise NotFound(_("There is no such appeal."), _("Go back to the list."))
    item = _locked_item(found.item_id)
    appeal = Appeal.objects.select_for_update().get(pk=appeal_id)
    to = AppealState.UPHELD if upheld else AppealState.REJECTED
    if appeal.state == to and appeal.settled_by_id == trainer.pk:
        return appeal
    if appeal.state != AppealState.OPEN:
        raise _settled(appeal)
    settlement = checked_reason(settlement, field="settlement")
    if not settlement:
        raise Invalid(_("Give the reason: it is what people learn from."), field="settlement")
    if appeal.by_id == trainer.pk or _took_part(trainer, item):
        raise Refusal(
            "own_case",
            _("You raised this appeal, or labelled, decided or judged the dialogue yourself."),
            _("Let another trainer settle it."),
        )
    move(
        appeal,
        to=to,
        moves=APPEAL_MOVES,
        project=item.sample.round.project,
        actor=trainer,
        reason=settlement,
        settled_by=trainer,
        settled_at=timezone.now(),
        settlement=settlement,
    )
    return appeal


def _settled(appeal: Appeal) -> Refusal:
    name = appeal.settled_by.shown_name if appeal.settled_by else _("Somebody")
    return Refusal(
        "already_settled",
        _("%(name)s has settled this appeal already.") % {"name": name},
        _("Read how; a settled appeal stays as it is."),
    )
