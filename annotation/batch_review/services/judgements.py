"""Judging the drawn dialogues of a sample."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.models import Judgement, LaterJudgement, Sample, SampleItem
from annotation.batch_review.selectors.reviewed_items import answers_match
from annotation.batch_review.services.locking import lock_sample_item
from annotation.labelling.models.labels import FinalLabel, Submission
from annotation.labelling.schema.answers import Answers, check_answers
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.workbench import speakers_in
from annotation.tasks.models.rounds import RoundState
from annotation.tasks.services.reasons import clean_reason
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal

MAX_PROBLEMS = 50


@dataclass(frozen=True, slots=True)
class SentJudgement:
    """id: made by the client. answers: the right ones; None: the label is right. active_ms: time spent judging."""

    id: UUID
    answers: Mapping[str, Any] | None = None
    reason: str = ""
    active_ms: int = 0


@transaction.atomic
def judge(*, controller: User, item_id: int, sent: SentJudgement) -> Judgement:
    """Store a controller's judgement on a drawn dialogue, or a change of it, and return the one that counts.

    In a blind sample the first answers count, because they were given before the label was shown: other answers are
    stored apart (LaterJudgement). Elsewhere the last ones count. The same id again changes nothing.
    Raises Invalid and Refusal: id_in_use, not_in_review, own_work, judged_already (by another controller), blind (the
    controller agreed with a label that they have not seen).
    """
    item = lock_sample_item(item_id)
    if stored := _stored(sent.id):
        check_repeat(stored, item_id=item.pk, controller_id=controller.pk)
        # The time is a measurement, not part of what the controller says.
        answers = _checked_answers(item, sent, is_correction=True)
        check_repeat(stored, answers=answers, reason=clean_reason(sent.reason))
        return Judgement.objects.get(item=item, controller=controller, superseded_at=None)
    if item.sample.round.state != RoundState.IN_REVIEW:
        raise verdict_given()
    _refuse_own_work(controller, item)
    return _store_judgement(controller, item, sent)


def _stored(id: UUID) -> Judgement | LaterJudgement | None:
    return Judgement.objects.filter(pk=id).first() or LaterJudgement.objects.filter(pk=id).first()


def verdict_given() -> Refusal:
    return Refusal(
        "not_in_review",
        _("This batch already has its verdict, so nothing more can be judged."),
        _("Open the batch to see it."),
    )


def _refuse_own_work(controller: User, item: SampleItem) -> None:
    dialogue = item.task.dialogue_id
    answered = Submission.objects.filter(annotator=controller, task__dialogue=dialogue).exists()
    if answered or FinalLabel.objects.filter(decided_by=controller, dialogue=dialogue).exists():
        raise Refusal(
            "own_work", _("You labelled this dialogue yourself."), _("Another controller has to judge it.")
        )


def _store_judgement(controller: User, item: SampleItem, sent: SentJudgement) -> Judgement:
    live = list(Judgement.objects.filter(item=item, superseded_at=None))
    earlier = next((judgement for judgement in live if judgement.controller_id == controller.pk), None)
    number = earlier.number if earlier else _free_number(item.sample, live)
    answers = _checked_answers(item, sent, is_correction=earlier is not None)
    schema = load_schema(item.final.schema)
    values: dict[str, Any] = {
        "id": sent.id,
        "item": item,
        "controller": controller,
        "is_right": answers_match(schema, item.sample.question, item.final.answers, answers),
        "answers": answers,
        "reason": clean_reason(sent.reason),
    }
    if earlier and item.sample.is_blind and answers != earlier.answers:
        LaterJudgement.objects.create(**values)
        return earlier
    if earlier:
        earlier.superseded_at = timezone.now()
        earlier.save(update_fields=["superseded_at"])
    return Judgement.objects.create(**values, number=number, active_ms=sent.active_ms)


def _free_number(sample: Sample, live: list[Judgement]) -> int:
    taken = {judgement.number for judgement in live}
    for number in (1, 2) if sample.is_double else (1,):
        if number not in taken:
            return number
    raise Refusal(
        "judged_already",
        _("Another controller has judged this dialogue."),
        _("Continue with the next one."),
    )


def _checked_answers(item: SampleItem, sent: SentJudgement, *, is_correction: bool) -> Answers:
    """is_correction: the controller has judged before and has seen the label."""
    if sent.answers is None:
        if item.sample.is_blind and not is_correction:
            raise Refusal(
                "blind",
                _("In this sample you label first and see the annotators' label afterwards."),
                _("Send the answers that you think are right."),
            )
        return _label_answers(item)
    question = item.sample.question
    answers, problems = check_answers(
        load_schema(item.final.schema),
        sent.answers,
        speakers_in(item.task.dialogue_id),
        complete=not question,
    )
    if problems:
        named = [
            {"path": problem.path, "code": problem.code, "message": problem.message}
            for problem in problems[:MAX_PROBLEMS]
        ]
        raise Invalid(f"{problems[0].path}: {problems[0].message}", field="answers", problems=named)
    if question and question not in answers["dialogue"]:
        raise Invalid(
            _("The question that is checked has no answer yet."), field="answers", question=question
        )
    return answers


def _label_answers(item: SampleItem) -> Answers:
    label = item.final.answers
    return {"dialogue": dict(label["dialogue"]), "utterances": dict(label["utterances"])}
