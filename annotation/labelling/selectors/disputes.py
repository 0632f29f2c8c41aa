"""Dialogues that a trainer has to decide: who differs on what, and since when."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.db.models import Exists, Max, OuterRef, Prefetch, Q, QuerySet, Subquery

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Submission
from annotation.labelling.selectors.disagreement import MAX_PATHS, DifferingQuestion, differing_questions
from annotation.labelling.selectors.visibility import hidden_labels, refuse_hidden_labels
from annotation.labelling.selectors.workbench import disputed_tasks
from annotation.tasks.models.work import Task, TaskState
from projects.models import Project


@dataclass(frozen=True, slots=True)
class Dispute:
    """since: when the last answers were stored. is_own: the trainer labelled it, so another trainer decides."""

    task: Task
    since: datetime | None
    is_own: bool
    differing: list[DifferingQuestion]
    more: int


def disputes_for(trainer: User, project: Project) -> QuerySet[Task]:
    """Disputed tasks, highest disagreement first, annotated with `since` and `is_own`."""
    live = Submission.objects.filter(task=OuterRef("pk"), superseded_at=None)
    newest = live.order_by().values("task").annotate(at=Max("stored_at"))
    return disputed_tasks(project).annotate(since=Subquery(newest.values("at")), is_own=_labelled_by(trainer))


def _labelled_by(trainer: User) -> Exists:
    return Exists(Submission.objects.filter(task=OuterRef("pk"), annotator=trainer))


def dispute_for(reader: User, project: Project, task_id: int) -> Task | None:
    """A disputed or final task with its live submissions as `answered`; None if missing.

    Raises NotAllowed if the reader may have to judge it blind: a decided task can be in a sample.
    """
    rows = Task.objects.filter(project=project, pk=task_id, state__in=[TaskState.DISPUTED, TaskState.FINAL])
    task = with_answers(rows.select_related("dialogue")).first()
    unseen = hidden_labels(reader, project)
    if task is not None and unseen.filter(task=task).exists():
        raise refuse_hidden_labels()
    return task


def with_answers(rows: QuerySet[Task]) -> QuerySet[Task]:
    """Prefetch the live submissions as `answered`."""
    live = Submission.objects.filter(superseded_at=None).select_related("annotator", "schema")
    return rows.prefetch_related(Prefetch("submissions", live.order_by("assignment_id"), to_attr="answered"))


def describe_disputes(rows: list[Task]) -> list[Dispute]:
    """Find who differs on what in rows of `with_answers(disputes_for(…))`; the first MAX_PATHS of each."""
    return [_describe(cast(Any, row)) for row in rows]


def _describe(task: Any) -> Dispute:
    differing = differing_questions(task.answered, names=True)
    more = max(0, len(differing) - MAX_PATHS)
    return Dispute(task, task.since, task.is_own, differing[:MAX_PATHS], more)


def next_dispute(trainer: User, project: Project, after: Task | None = None) -> Task | None:
    """The next dispute that the trainer may decide, in the order of the list; wraps around at its end."""
    rows = disputed_tasks(project).filter(~_labelled_by(trainer))
    if after is None:
        return rows.first()
    rows = rows.exclude(pk=after.pk)
    return rows.filter(_comes_after(after)).first() or rows.first()


def _comes_after(task: Task) -> Q:
    """Tasks after this one in the order of `disputed_tasks`, which puts unknown disagreement first."""
    same = Q(disagreement=task.disagreement, pk__gt=task.pk)
    if task.disagreement is None:
        return Q(disagreement=None, pk__gt=task.pk) | Q(disagreement__isnull=False)
    return same | Q(disagreement__lt=task.disagreement)


def recent_decisions(project: Project, most: int = 10) -> list[FinalLabel]:
    """The trainers' last decisions, so that a mistake can be corrected."""
    rows = FinalLabel.objects.filter(project=project, origin=LabelOrigin.DECIDED, superseded_at=None)
    return list(rows.select_related("dialogue", "decided_by").order_by("-decided_at")[:most])
