"""A person's queue: open assignments and today's count; the order in which a project gives out its tasks."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import (
    Count,
    Exists,
    Min,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
)
from django.utils import timezone

from accounts.models import User
from annotation.tasks.models.work import HELD, Assignment, AssignmentState, Task
from annotation.tasks.selectors.languages import readable_tasks
from annotation.tasks.selectors.settings import work_settings
from dialogues.models import Utterance
from projects.models import Event, Project, Protocol

SHOWN = 50
# Of assignments: the next dialogue to label that a browser keeps ready and has not shown yet. It is not open.
FETCHED_AHEAD = Q(project__protocol=Protocol.LABELLING, served_at=None, label_draft=None)
QUEUE_ORDER = "annotation.queue_order"  # subject of the events of services.queue_order


@dataclass(frozen=True, slots=True)
class Today:
    finished: int
    goal: int


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """Dialogues of a project, and what they are for one reader.

    open: can be claimed; readable: those of them that the reader reads and has not had; had: those that the reader has
    had. held: in work; held_by_reader: by the reader; passed_on: by others, after the reader has had them; by_others:
    by others, and free for the reader if they are given back. The first of these is kept for its annotator `until`.
    """

    planned: int
    open: int
    readable: int
    had: int
    held: int
    held_by_reader: int
    passed_on: int
    by_others: int
    until: datetime | None
    finished: int

    @property
    def other_languages(self) -> int:
        return self.open - self.readable - self.had


def _with_opening(rows: QuerySet[Assignment]) -> QuerySet[Assignment]:
    openings = Prefetch("dialogue__utterances", Utterance.objects.filter(position=0), to_attr="opening")
    return rows.select_related("dialogue", "project").prefetch_related(openings)


def open_assignments(user: User, project: Project) -> QuerySet[Assignment]:
    """In work or saved, and expired work with text or answers in it, so that nothing written is lost; at most SHOWN.

    A dialogue that was fetched ahead is not open before it is shown.
    """
    is_labelling = project.protocol == Protocol.LABELLING
    begun = Q(label_draft__isnull=False) if is_labelling else Q(dialogue__utterance_count__gt=0)
    held = Q(~FETCHED_AHEAD, state__in=HELD) | Q(begun, state=AssignmentState.EXPIRED)
    return _with_opening(Assignment.objects.filter(held, annotator=user, project=project)).order_by(
        "-touched_at"
    )[:SHOWN]


def today_of(user: User, project: Project, now: datetime | None = None) -> Today:
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    if project.protocol == Protocol.LABELLING:
        # An index has the time of submissions; of assignments, all of the person's would be read.
        sent = user.submissions.filter(project=project, stored_at__gte=midnight, revision=1).count()
        return Today(sent, work_settings(project).daily_goal)
    finished = Assignment.objects.filter(
        annotator=user, project=project, state=AssignmentState.SUBMITTED, submitted_at__gte=midnight
    ).count()
    return Today(finished, work_settings(project).daily_goal)


def task_counts(project: Project, reader: User | None = None) -> TaskCounts:
    """reader: for whom the readable tasks are counted; None: somebody who reads everything."""
    readable = readable_tasks(reader.reading_languages if reader else [], [project])
    had = Exists(Assignment.objects.filter(task=OuterRef("pk"), annotator=reader))
    tasks = Task.objects.filter(project=project).aggregate(
        planned=Count("id"),
        open=Count("id", filter=Q(open_slots__gt=0)),
        readable=Count("id", filter=Q(open_slots__gt=0) & readable & ~Q(had)),
        had=Count("id", filter=Q(open_slots__gt=0) & Q(had)),
    )
    had_before = Q(Exists(Assignment.objects.filter(task=OuterRef("task"), annotator=reader)))
    is_held = Q(state__in=HELD)
    of_others = is_held & ~Q(annotator=reader)
    work = Assignment.objects.filter(project=project).aggregate(
        held=Count("id", filter=is_held),
        held_by_reader=Count("id", filter=is_held & Q(annotator=reader)),
        by_others=Count("id", filter=of_others & ~had_before),
        until=Min("lease_until", filter=of_others & ~had_before),
        passed_on=Count("id", filter=of_others & had_before),
        finished=Count("id", filter=Q(state=AssignmentState.SUBMITTED)),
    )
    return TaskCounts(**tasks, **work)


def queue_order(project: Project) -> Event | None:
    """The event of the order that the queue has; None if nobody ordered it, or the order was undone."""
    events = Event.objects.filter(project=project, subject_type=QUEUE_ORDER).select_related("actor")
    last = events.order_by("-id").first()
    return last if last and last.kind == "ordered" else None
