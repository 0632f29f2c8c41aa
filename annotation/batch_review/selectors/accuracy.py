"""What annotators learn from samples of ended rounds: how their own answers did, and what was found right."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from accounts.models import User
from annotation.batch_review.models import Appeal, AppealState, Judgement, SampleItem
from annotation.batch_review.selectors.batches import is_same, with_judgements
from annotation.labelling.models.labels import Submission
from annotation.labelling.selectors.schemas import load_schema
from annotation.tasks.models.rounds import Round, RoundState
from projects.models import Project

COUNTED = 2000  # judged dialogues, the newest, that a person's accuracy is counted over


@dataclass(frozen=True, slots=True)
class Corrected:
    """A judged dialogue that the person labelled: what they said, what was found right, why; nobody's name.

    label_was_wrong: the final label, which others may have made; only a correction of it can be disputed.
    """

    item: SampleItem
    own: Mapping[str, Any]
    right: Mapping[str, Any]
    reason: str
    was_right: bool
    label_was_wrong: bool


def judged_work(user: User, project: Project) -> QuerySet[SampleItem]:
    """Drawn dialogues of ended rounds that the person labelled, the newest round first."""
    mine = Submission.objects.filter(task=OuterRef("task"), annotator=user)
    rows = SampleItem.objects.filter(
        Exists(mine), sample__round__project=project, sample__round__ended_at__isnull=False
    )
    rows = rows.select_related("task", "final", "sample__round__batch").prefetch_related("final__schema")
    return rows.order_by("-sample__round__ended_at", "place")


def corrected(user: User, items: Sequence[SampleItem]) -> list[Corrected]:
    """Three queries, whatever their number. The person's own answer is the last that they sent."""
    sent = Submission.objects.filter(annotator=user, task__in=[item.task_id for item in items])
    own: dict[int, dict[str, Any]] = dict(sent.order_by("revision").values_list("task", "answers"))
    found = []
    for one in with_judgements(items):
        item, judged = one.item, one.counted
        if judged is None or item.task_id not in own:
            continue
        right = item.final.answers if one.is_upheld else judged.answers
        was_right = is_same(load_schema(item.final.schema), item.sample.question, own[item.task_id], right)
        found.append(
            Corrected(item, own[item.task_id], right, judged.reason, was_right, one.is_right is False)
        )
    return found


def returned_to(user: User, project: Project) -> QuerySet[Round]:
    """Returned rounds with a sample in which is a dialogue that the person labelled, then or later; the newest first.

    By the sample, since a round has twenty times as many tasks to look through, and hundreds of rounds come back.
    """
    drawn = SampleItem.objects.filter(
        sample__round=OuterRef("pk"), task__dialogue__tasks__submissions__annotator=user
    )
    rows = Round.objects.filter(Exists(drawn), project=project, state=RoundState.RETURNED)
    return rows.select_related("batch").order_by("-ended_at")


@dataclass(frozen=True, slots=True)
class Counted:
    """One judged answer of a person: its class in the question that was checked; both empty where all of it was."""

    item: int
    question: str
    own: str
    was_right: bool


def counted_of(user: User, project: Project) -> tuple[list[Counted], bool]:
    """The newest answers that were judged, and whether there are older ones. Without the answers themselves, where one
    question is checked: four queries for each such question."""
    rows = judged_work(user, project).select_related(None).prefetch_related(None)
    keys = list(rows.values_list("pk", "task", "label", "sample__question")[: COUNTED + 1])
    by_question = defaultdict(list)
    for pk, task, label, question in keys[:COUNTED]:
        by_question[question].append((pk, task, label))
    found = [one for question, drawn in by_question.items() for one in _counted(user, question, drawn)]
    return found, len(keys) > COUNTED


def _counted(user: User, question: str, drawn: Sequence[tuple[int, int, str]]) -> list[Counted]:
    items, tasks = [pk for pk, _task, _label in drawn], [task for _pk, task, _label in drawn]
    if not question:
        whole = SampleItem.objects.filter(pk__in=items).select_related("sample", "final__schema")
        return [Counted(one.item.pk, "", "", one.was_right) for one in corrected(user, list(whole))]
    answer = KeyTextTransform(question, KeyTransform("dialogue", "answers"))
    sent = Submission.objects.filter(annotator=user, task__in=tasks).order_by("revision")
    own = dict(sent.values_list("task", answer))
    live = Judgement.objects.filter(item__in=items, superseded_at=None, number=1).order_by()
    right = dict(live.values_list("item", answer))
    upheld = Appeal.objects.filter(item__in=items, state=AppealState.UPHELD)
    held = set(upheld.values_list("item", flat=True))
    right |= {pk: label for pk, _task, label in drawn if pk in held}
    return [
        Counted(pk, question, own[task] or "", own[task] == right[pk])
        for pk, task, _label in drawn
        if pk in right and task in own
    ]
