"""What people's work on dialogues is deleted with them: how much there is, and which events are about it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.models import Model, Q, QuerySet

from annotation.authoring.models import Draft, Turn
from annotation.batch_review.models import Appeal, Judgement, SampleItem
from annotation.expert_review.models import ExpertReview
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.models.labels import FinalLabel, LabelDraft, Submission
from annotation.onboarding.models import Message, Thread
from annotation.tasks.models.work import HELD, Assignment, Task

Ids = Sequence[int]
# The rows of each model, by the field that names their dialogue.
OWNED: Sequence[tuple[type[Model], str]] = (
    (Task, "dialogue"),
    (Assignment, "dialogue"),
    (Turn, "dialogue"),
    (Submission, "task__dialogue"),
    (FinalLabel, "dialogue"),
    (ExpertReview, "dialogue"),
    (GoldDialogue, "dialogue"),
    (Thread, "dialogue"),
    (Message, "thread__dialogue"),
    (SampleItem, "task__dialogue"),
    (Judgement, "item__task__dialogue"),
    (Appeal, "item__task__dialogue"),
)


def _rows(model: type[Model], field: str) -> Callable[[Ids], QuerySet[Any]]:
    return lambda ids: model._default_manager.filter(**{f"{field}__in": list(ids)})


def _count(model: type[Model], field: str) -> Callable[[Ids], int]:
    return lambda ids: _rows(model, field)(ids).count()


def _count_turns(ids: Ids) -> int:
    return _count(Turn, "dialogue")(ids) + _count(Draft, "assignment__dialogue")(ids)


def _count_labels(ids: Ids) -> int:
    return _count(Submission, "task__dialogue")(ids) + _count(LabelDraft, "assignment__dialogue")(ids)


def _count_holders(ids: Ids) -> int:
    return Assignment.objects.filter(dialogue__in=list(ids), state__in=HELD).count()


def _count_judged(ids: Ids) -> int:
    return (
        SampleItem.objects.filter(Q(task__dialogue__in=list(ids)), judgements__isnull=False)
        .distinct()
        .count()
    )


SUBJECTS: Sequence[Callable[[Ids], QuerySet[Any]]] = [_rows(model, field) for model, field in OWNED]
COUNTERS: Mapping[str, Callable[[Ids], int]] = {
    "turns": _count_turns,
    "labels": _count_labels,
    "final_labels": _count(FinalLabel, "dialogue"),
    "reviews": _count(ExpertReview, "dialogue"),
    "threads": _count(Thread, "dialogue"),
    "gold": _count(GoldDialogue, "dialogue"),
}
AFFECTED: Mapping[str, Callable[[Ids], int]] = {"held": _count_holders, "judged": _count_judged}
