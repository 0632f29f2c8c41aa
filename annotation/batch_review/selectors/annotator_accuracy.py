"""What annotators learn from samples of ended rounds: how their own answers did, and what was right."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from accounts.models import User
from annotation.batch_review.models import Appeal, AppealState, Judgement, SampleItem
from annotation.batch_review.selectors.reviewed_items import answers_match, attach_judgements
from annotation.labelling.models.labels import Submission
from annotation.labelling.selectors.schemas import load_schema
from annotation.tasks.models.rounds import Round, RoundState
from projects.models import Project

MAX_COUNTED = 2000  # a person's accuracy is about their newest judged dialogues


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """A person's answer to a judged dialogue, the right one and why, without the controller's name.

    label_was_wrong: about the final label, which others may have made; only a correction of it can be disputed.
    """

    item: SampleItem
    own: Mapping[str, Any]
    right: Mapping[str, Any]
    reason: str
    was_right: bool
    label_was_wrong: bool

    @property
    def label_stays(self) -> bool:
        """The batch was accepted, so its labels are exported as they are, the wrong ones too."""
        return self.label_was_wrong and self.item.sample.round.state == RoundState.ACCEPTED


def judged_items_of(annotator: User, project: Project) -> QuerySet[SampleItem]:
    """Drawn dialogues of ended rounds that the person labelled, the newest round first."""
    own = Submission.objects.filter(task=OuterRef("task"), annotator=annotator)
    rows = SampleItem.objects.filter(
        Exists(own), sample__round__project=project, sample__round__ended_at__isnull=False
    )
    rows = rows.select_related("task", "final", "sample__round__batch").prefetch_related("final__schema")
    return rows.order_by("-sample__round__ended_at", "place")


def judged_answers(annotator: User, items: Sequence[SampleItem]) -> list[JudgedAnswer]:
    """Three queries for any number of items. The person's answer is the last one that they sent."""
    sent = Submission.objects.filter(annotator=annotator, task__in=[item.task_id for item in items])
    own: dict[int, dict[str, Any]] = dict(sent.order_by("revision").values_list("task", "answers"))
    answers = []
    for entry in attach_judgements(items):
        item, judgement = entry.item, entry.deciding
        if judgement is None or item.task_id not in own:
            continue
        right = item.final.answers if entry.is_upheld else judgement.answers
        schema, mine = load_schema(item.final.schema), own[item.task_id]
        was_right = answers_match(schema, item.sample.question, mine, right)
        answers.append(
            JudgedAnswer(
                item, mine, right, judgement.reason, was_right, label_was_wrong=entry.is_right is False
            )
        )
    return answers


def returned_rounds_of(annotator: User, project: Project) -> QuerySet[Round]:
    """Returned rounds whose sample has a dialogue that the person labelled, then or later; the newest first.

    By the sample, because hundreds of rounds are returned and a round has twenty times as many tasks.
    """
    drawn = SampleItem.objects.filter(
        sample__round=OuterRef("pk"), task__dialogue__tasks__submissions__annotator=annotator
    )
    rows = Round.objects.filter(Exists(drawn), project=project, state=RoundState.RETURNED)
    return rows.select_related("batch").order_by("-ended_at")


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """Whether a person's judged answer was right. own: its class in `question`; both empty if all answers count."""

    item: int
    question: str
    own: str
    was_right: bool


def answer_outcomes(annotator: User, project: Project) -> tuple[list[AnswerOutcome], bool]:
    """The outcomes of the newest judged answers, and whether there are older ones.

    Four queries for each checked question; whole answers are read only for samples without a question.
    """
    rows = judged_items_of(annotator, project).select_related(None).prefetch_related(None)
    keys = list(rows.values_list("pk", "task", "label", "sample__question")[: MAX_COUNTED + 1])
    by_question = defaultdict(list)
    for pk, task, label, question in keys[:MAX_COUNTED]:
        by_question[question].append((pk, task, label))
    outcomes = [
        outcome
        for question, items in by_question.items()
        for outcome in (
            _class_outcomes(annotator, question, items) if question else _whole_outcomes(annotator, items)
        )
    ]
    return outcomes, len(keys) > MAX_COUNTED


def _whole_outcomes(annotator: User, items: Sequence[tuple[int, int, str]]) -> list[AnswerOutcome]:
    keys = [pk for pk, _task, _label in items]
    rows = SampleItem.objects.filter(pk__in=keys).select_related("sample", "final__schema")
    return [
        AnswerOutcome(answer.item.pk, "", "", answer.was_right)
        for answer in judged_answers(annotator, list(rows))
    ]


def _class_outcomes(
    annotator: User, question: str, items: Sequence[tuple[int, int, str]]
) -> list[AnswerOutcome]:
    """items: (item, task, class of the label)."""
    keys, tasks = [pk for pk, _task, _label in items], [task for _pk, task, _label in items]
    answer = KeyTextTransform(question, KeyTransform("dialogue", "answers"))
    sent = Submission.objects.filter(annotator=annotator, task__in=tasks).order_by("revision")
    own = dict(sent.values_list("task", answer))
    live = Judgement.objects.filter(item__in=keys, superseded_at=None, number=1).order_by()
    right = dict(live.values_list("item", answer))
    appeals = Appeal.objects.filter(item__in=keys, state=AppealState.UPHELD)
    upheld = set(appeals.values_list("item", flat=True))
    right |= {pk: label for pk, _task, label in items if pk in upheld}
    return [
        AnswerOutcome(pk, question, own[task] or "", own[task] == right[pk])
        for pk, task, _label in items
        if pk in right and task in own
    ]
