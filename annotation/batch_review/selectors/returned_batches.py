"""Returned batches whose dialogues wait to be labelled again, as their annotators see them."""

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Subquery

from accounts.models import User
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import Assignment, Task
from annotation.tasks.selectors.claimable import claimable_by
from projects.models import Project

SHOWN = 3


@dataclass(frozen=True, slots=True)
class ReturnedBatch:
    """waiting: dialogues that the annotator can take now. reason: why the batch was returned."""

    batch: int
    waiting: int
    reason: str


def returned_batches(annotator: User, project: Project) -> list[ReturnedBatch]:
    """The newest returned batches whose dialogues the person can label again. One query."""
    had = Assignment.objects.filter(task=OuterRef("pk"), annotator=annotator)
    free = Task.objects.filter(claimable_by(annotator, [project]), ~Exists(had), round=OuterRef("pk"))
    again = Round.objects.filter(Exists(free), project=project, state=RoundState.OPEN, number__gt=1)
    before = Round.objects.filter(batch=OuterRef("batch"), state=RoundState.RETURNED).order_by("-number")
    # Tasks are counted only of the few rounds that are shown.
    rows = again.order_by("-opened_at").annotate(
        waiting=Subquery(free.order_by().values("round").annotate(n=Count("pk")).values("n")),
        returned_because=Subquery(before.values("reason")[:1]),
    )[:SHOWN]
    return [
        ReturnedBatch(number, waiting, reason or "")
        for number, waiting, reason in rows.values_list("batch__number", "waiting", "returned_because")
    ]
