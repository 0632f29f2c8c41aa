"""Drawn dialogues together with the judgements on them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from accounts.models import User
from annotation.batch_review.models import Appeal, AppealState, Judgement, Sample, SampleItem
from annotation.labelling.schema.answers import differing_paths
from annotation.labelling.schema.questions import QuestionSchema
from annotation.labelling.selectors.schemas import load_schema
from annotation.tasks.models.rounds import RoundState
from annotation.tasks.models.work import Task
from measures.proportion import Proportion, proportion

WHOLE = "all"  # the class of every label if accuracy is about all compared answers

# The answers on a hundred long dialogues are megabytes, and every judgement is followed by the sample's progress.
JUDGEMENTS_WITHOUT_TEXT = Judgement.objects.defer("answers", "reason")


def label_class(answers: Mapping[str, Any], question: str) -> str:
    """The class that a label belongs to in the checked question."""
    return str(answers["dialogue"].get(question, "")) if question else WHOLE


def answers_match(
    schema: QuestionSchema, question: str, first: Mapping[str, Any], second: Mapping[str, Any]
) -> bool:
    """Whether two sets of answers agree in the checked question; without one, in every compared answer."""
    if question:
        return label_class(first, question) == label_class(second, question)
    return not differing_paths(schema, first, second)


@dataclass(frozen=True, slots=True)
class ReviewedItem:
    """A drawn dialogue with its live judgements; the first controller's comes first and counts."""

    item: SampleItem
    judgements: list[Judgement]
    is_upheld: bool

    @property
    def deciding(self) -> Judgement | None:
        return self.judgements[0] if self.judgements else None

    @property
    def is_right(self) -> bool | None:
        """Whether the label counts as right: by an upheld appeal, else by the first judgement; None: not judged."""
        return None if self.deciding is None else self.is_upheld or self.deciding.is_right

    def only_by(self, controller: User) -> "ReviewedItem":
        """The same item as if nobody else had judged it."""
        own = [judgement for judgement in self.judgements if judgement.controller_id == controller.pk]
        return ReviewedItem(self.item, own, self.is_upheld)


def attach_judgements(
    items: Sequence[SampleItem], judgements: QuerySet[Judgement] | None = None
) -> list[ReviewedItem]:
    """Two queries. judgements: which fields and relations of them to read."""
    if judgements is None:
        judgements = Judgement.objects.select_related("controller")
    keys = [item.pk for item in items]
    by_item = defaultdict(list)
    for judgement in judgements.filter(item__in=keys, superseded_at=None).order_by("number"):
        by_item[judgement.item_id].append(judgement)
    appeals = Appeal.objects.filter(item__in=keys, state=AppealState.UPHELD)
    upheld = set(appeals.values_list("item", flat=True))
    return [ReviewedItem(item, by_item[item.pk], item.pk in upheld) for item in items]


def reviewed_items(sample: Sample) -> list[ReviewedItem]:
    """The items of a sample in the order drawn; six queries, since the few schemas are prefetched."""
    rows = SampleItem.objects.filter(sample=sample).prefetch_related("final__schema", "task")
    items = list(rows.order_by("place"))
    for item in items:
        item.sample = sample
    return attach_judgements(items)


def reviewed_label(task: Task) -> ReviewedItem | None:
    """The task's label with what the sample of its accepted batch says about it; None if it was not judged."""
    rows = SampleItem.objects.filter(task=task, sample__round__state=RoundState.ACCEPTED)
    items = list(rows.select_related("sample__round__batch", "final").prefetch_related("final__schema"))
    return next((one for one in attach_judgements(items) if one.deciding), None)


def confusion_matrix(reviewed: Sequence[ReviewedItem], question: str) -> dict[tuple[str, str], int]:
    """Counts by (class of the label, right class); empty without a question.

    The right class is the controller's, or the label's own if an appeal was upheld.
    """
    if not question:
        return {}
    return dict(
        Counter(
            (
                entry.item.label,
                entry.item.label if entry.is_right else label_class(entry.deciding.answers, question),
            )
            for entry in reviewed
            if entry.deciding
        )
    )


def controller_agreement(reviewed: Sequence[ReviewedItem]) -> Proportion:
    """Of the dialogues that two controllers judged, the share on which they agree."""
    twice = [(entry.item, entry.judgements) for entry in reviewed if len(entry.judgements) == 2]
    agreed = [
        answers_match(load_schema(item.final.schema), item.sample.question, first.answers, second.answers)
        for item, (first, second) in twice
    ]
    return proportion(sum(agreed), len(agreed))
