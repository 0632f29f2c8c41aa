"""What a change of overlap, group or priority would do to the tasks that are not done yet."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Greatest
from django.utils import timezone

from annotation.tasks.models.work import AssignmentState, Task, TaskState
from annotation.tasks.selectors.languages import read_by_nobody
from annotation.tasks.selectors.people import short_of_people
from projects.models import Event, Project

REPLAN, REPLANNED = "annotation.replan", "replanned"  # type of subject, and kind, of the event of a change
UNDO_OFFERED = timedelta(days=1)
TAKEN = F("overlap") - F("open_slots")  # people who hold or have labelled it


@dataclass(frozen=True, slots=True)
class Replan:
    """New values for the tasks that are not done yet; None leaves a value as it is.

    overlap: people per dialogue. group: only these annotators; "": anybody. priority: smaller comes first.
    of_group, of_import: change only the tasks of this group ("": those for anybody), or of this import's dialogues.
    of_dialogues: change only the tasks of these dialogues, by primary key; None: of all.
    """

    overlap: int | None = None
    group: str | None = None
    priority: int | None = None
    of_group: str | None = None
    of_import: UUID | None = None
    of_dialogues: Sequence[int] | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "of_import": str(self.of_import) if self.of_import else None,
            "of_dialogues": None if self.of_dialogues is None else sorted(self.of_dialogues),
        }


@dataclass(frozen=True, slots=True)
class ReplanPreview:
    """tasks: not done yet and selected. changed: those with other values afterwards.

    added, removed: assignments to give out, more or fewer than now. kept_larger: tasks that more people already hold or
    have labelled than `overlap`; they keep those people. completed: tasks that have enough labels at once.
    in_batches: tasks that keep their group, because their batch has one. unread: tasks in languages that none of their
    annotators reads. short: tasks that then want more people than the project, or their group, has annotators.
    """

    tasks: int
    changed: int
    added: int
    removed: int
    kept_larger: int
    completed: int
    in_batches: int
    unread: int
    short: int


def tasks_to_replan(project: Project, replan: Replan) -> QuerySet[Task]:
    """The tasks that are not done yet and that the replan selects."""
    rows = Task.objects.filter(project=project, state=TaskState.OPEN, dialogue__isnull=False)
    if replan.of_group is not None:
        rows = rows.filter(group=replan.of_group)
    if replan.of_import is not None:
        rows = rows.filter(dialogue__import_job=replan.of_import)
    if replan.of_dialogues is not None:
        rows = rows.filter(dialogue__in=replan.of_dialogues)
    return rows


def new_values(replan: Replan) -> dict[str, Any]:
    """The columns that change, as expressions. Tasks of a batch keep its group."""
    values: dict[str, Any] = {}
    if replan.overlap is not None:
        values["overlap"] = Greatest(Value(replan.overlap), TAKEN)
        values["open_slots"] = Greatest(Value(replan.overlap) - TAKEN, Value(0))
    if replan.priority is not None:
        values["priority"] = replan.priority
    if replan.group is not None:
        values["group"] = Case(When(round=None, then=Value(replan.group)), default=F("group"))
    return values


def differs(replan: Replan) -> Q:
    """Which tasks have other values than the replan gives them."""
    changes = Q(pk__in=[])
    if replan.overlap is not None:
        changes |= ~Q(overlap=Greatest(Value(replan.overlap), TAKEN))
    if replan.priority is not None:
        changes |= ~Q(priority=replan.priority)
    if replan.group is not None:
        changes |= Q(round=None) & ~Q(group=replan.group)
    return changes


def preview_replan(project: Project, replan: Replan) -> ReplanPreview:
    """Five queries, whatever the number of tasks."""
    slots = (
        Greatest(Value(replan.overlap) - TAKEN, Value(0)) - F("open_slots") if replan.overlap else Value(0)
    )
    counts = (
        tasks_to_replan(project, replan)
        .annotate(slots=slots)
        .aggregate(
            tasks=Count("pk"),
            changed=Count("pk", filter=differs(replan)),
            added=Sum("slots", filter=Q(slots__gt=0), default=0),
            removed=-Sum("slots", filter=Q(slots__lt=0), default=0),
            kept_larger=Count("pk", filter=Q(overlap__gt=F("open_slots") + (replan.overlap or 99))),
            in_batches=Count("pk", filter=Q(round__isnull=False) & ~Q(group=replan.group or "")),
            unread=Count("pk", filter=read_by_nobody(project, replan.group or "")),
        )
    )
    if replan.group is None:
        counts["in_batches"] = 0
    return ReplanPreview(
        **counts, completed=_count_completed(project, replan), short=_count_short(project, replan)
    )


def _count_short(project: Project, replan: Replan) -> int:
    values = new_values(replan)
    rows = tasks_to_replan(project, replan)
    return short_of_people(rows, project, values.get("overlap"), values.get("group")).count()


def _count_completed(project: Project, replan: Replan) -> int:
    if replan.overlap is None:
        return 0
    sent = Count("assignments", filter=Q(assignments__state=AssignmentState.SUBMITTED))
    rows = tasks_to_replan(project, replan).filter(open_slots__gt=0).annotate(sent=sent)
    return rows.filter(sent__gte=replan.overlap, sent=TAKEN).count()


def complete_tasks(project: Project) -> QuerySet[Task]:
    """Open tasks that nobody holds or can claim: as many people have labelled them as they need."""
    rows = Task.objects.filter(project=project, state=TaskState.OPEN, open_slots=0, dialogue__isnull=False)
    live = Count("submissions", filter=Q(submissions__superseded_at=None))
    return rows.annotate(live=live).filter(live__gte=F("overlap"))


def last_undoable_replan(project: Project) -> Event | None:
    """The newest change of this project, if it can be undone and was made within a day."""
    last = Event.objects.filter(subject_type=REPLAN, project=project).order_by("-pk").first()
    if last is None or last.kind != REPLANNED or last.at < timezone.now() - UNDO_OFFERED:
        return None
    return last if last.data["changed"] and isinstance(last.data["before"], list) else None
