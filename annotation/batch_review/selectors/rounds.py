"""The rounds of a project's batches with how many of their dialogues are labelled, and of their samples judged."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypedDict

from django.db.models import CharField, Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Cast, Coalesce

from annotation.batch_review.models import Judgement, SampleItem
from annotation.tasks.models.rounds import Batch, Round
from annotation.tasks.models.work import Task, TaskState
from projects.models import Event, Project


class Counts(TypedDict):
    """total: dialogues of a round; done: those with their final label."""

    total: int
    done: int


if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    CountedRound = WithAnnotations[Round, Counts]


def rounds_with_counts(project: Project) -> "QuerySet[CountedRound]":
    """Every round, the newest batch first, with `done` of `total` dialogues labelled."""
    # Subqueries by row: a page of the list counts the tasks of its own rounds only.
    tasks = Task.objects.filter(round=OuterRef("pk")).order_by().values("round")
    final = tasks.filter(state__in=[TaskState.FINAL, TaskState.WITHDRAWN])
    rows = Round.objects.filter(project=project).select_related("batch", "ended_by", "sample")
    rows = rows.annotate(total=_count(tasks), done=_count(final))
    return rows.order_by("-batch__number", "-number")


def with_judged(rows: "QuerySet[CountedRound]") -> "QuerySet[CountedRound]":
    """With `judged` of `drawn` dialogues of the sample, whoever judged them; that reveals no label."""
    items = SampleItem.objects.filter(sample__round=OuterRef("pk")).order_by().values("sample")
    judgements = Judgement.objects.filter(item=OuterRef("pk"), superseded_at=None)
    return rows.annotate(drawn=_count(items), judged=_count(items.filter(Exists(judgements))))


def with_last_step(rows: "QuerySet[CountedRound]") -> "QuerySet[CountedRound]":
    """With `stepped_at`, when the state of the round last changed.

    From the history: the round itself does not keep when a sample was drawn or a verdict undone.
    """
    steps = Event.objects.filter(
        subject_type=Round._meta.label_lower, subject_id=Cast(OuterRef("pk"), CharField()), kind="state"
    )
    newest = Subquery(steps.order_by("-id").values("at")[:1])
    return rows.annotate(stepped_at=Coalesce(newest, "ended_at", "sealed_at", "opened_at"))


def rounds_by_id(project: Project, ids: Collection[int]) -> dict[int, Round]:
    """The project's rounds with these ids, each with its batch."""
    return Round.objects.filter(project=project).select_related("batch").in_bulk(ids)


def batch_numbers(project: Project, ids: Collection[int]) -> dict[int, int]:
    """The numbers of the project's batches with these ids, by id."""
    return dict(Batch.objects.filter(project=project, pk__in=ids).values_list("pk", "number"))


def _count(grouped: QuerySet[Any, Any]) -> Coalesce:
    return Coalesce(Subquery(grouped.annotate(n=Count("pk")).values("n")), 0)
