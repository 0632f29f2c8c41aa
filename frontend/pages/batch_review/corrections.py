"""Corrections: a label beside the answer that the controller gave, in words, with the appeal against it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.utils.translation import gettext as _

from annotation.batch_review.models import Appeal, AppealState, Judgement, LaterJudgement, SampleItem
from annotation.batch_review.selectors.reviewed_items import reviewed_label
from annotation.labelling.selectors.schemas import load_schema
from annotation.tasks.models.work import Task
from common.refusals import Refusal
from frontend.ui.labels import answer_in_words


@dataclass(frozen=True, slots=True)
class RefusedText:
    """A text that was sent about a correction, and why it is not stored."""

    text: str
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class Correction:
    """label, correct: in words; empty if the sample checks every compared answer.

    later: what the controller said after the label was shown, in words; it does not count.
    request_id: for the appeal that the form may raise. refused: the text to show in the form again.
    can_settle: whether the reader may settle the appeal.
    """

    item: SampleItem
    label: str
    correct: str
    reason: str
    appeal: Appeal | None
    request_id: UUID
    later: str = ""
    refused: RefusedText | None = None
    can_settle: bool = False


def build_correction(
    item: SampleItem,
    judgement: Judgement,
    appeal: Appeal | None,
    *,
    later: LaterJudgement | None = None,
    refused: RefusedText | None = None,
    decides: bool = False,
) -> Correction:
    """later: the controller's answers once the label was shown. decides: whether the reader may settle open appeals."""
    return Correction(
        item=item,
        label=checked_answer_in_words(item, item.final.answers),
        correct=checked_answer_in_words(item, judgement.answers),
        reason=judgement.reason,
        later=_later_in_words(item, later),
        appeal=appeal,
        request_id=uuid4(),
        refused=refused,
        can_settle=decides and appeal is not None and appeal.state == AppealState.OPEN,
    )


def _later_in_words(item: SampleItem, later: LaterJudgement | None) -> str:
    if later is None:
        return ""
    words = checked_answer_in_words(item, later.answers)
    return words or (_("the label is right") if later.is_right else _("the label is wrong in another way"))


def checked_answer_in_words(item: SampleItem, answers: Mapping[str, Any]) -> str:
    """The answer to the question that the sample checks; empty if it checks every compared answer."""
    key = item.sample.question
    question = load_schema(item.final.schema).by_key.get(key)
    return answer_in_words(question, answers["dialogue"].get(key)) if question else ""


@dataclass(frozen=True, slots=True)
class JudgedLabel:
    """What the sample of an accepted batch says about a label, as the page of its dialogue shows it.

    correct: the controller's answer in words, empty if the sample checks every compared answer. is_upheld: a trainer
    decided that the label was right after all.
    """

    batch: int
    is_right: bool
    is_upheld: bool
    correct: str
    reason: str


def describe_judged_label(task: Task) -> JudgedLabel | None:
    """None if no sample of an accepted batch has the label."""
    found = reviewed_label(task)
    if found is None or found.deciding is None:
        return None
    return JudgedLabel(
        batch=found.item.sample.round.batch.number,
        is_right=found.deciding.is_right,
        is_upheld=found.is_upheld,
        correct=checked_answer_in_words(found.item, found.deciding.answers),
        reason=found.deciding.reason,
    )


def appeals_by_item(items: Iterable[SampleItem]) -> dict[int, Appeal]:
    """The appeal against each item, open or settled, by item id."""
    appeals = Appeal.objects.filter(item__in=[item.pk for item in items])
    return {appeal.item_id: appeal for appeal in appeals}
