"""The rounds of a project's batches with how many of their dialogues are labelled."""

from typing import TYPE_CHECKING, Any, TypedDict

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.tasks.models.rounds import Round
from annotation.tasks.models.work import Task, TaskState
from projects.models import Project


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
    return rows.annotate(total=_count(tasks), done=_count(final)).order_by("-batch__number", "-number")


def _count(grouped: QuerySet[Task, Any]) -> Coalesce:
    return Coalesce(Subquery(grouped.annotate(n=Count("pk")).values("n")), 0)
