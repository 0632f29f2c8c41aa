"""Data for the labelling workbench and the lists around it."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Left

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Stage, Submission
from annotation.labelling.schema.answers import differing_paths
from annotation.labelling.selectors.schemas import load_schema
from annotation.tasks.models.work import HELD, Assignment, AssignmentState, Task, TaskState
from annotation.tasks.selectors.claimable import claimable_by
from common import clock
from dialogues.models import Dialogue, Utterance
from dialogues.selectors import OPENING_CHARS
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

UTTERANCE_FIELDS = ("position", "speaker", "text", "time")


def speakers_in(dialogue_id: int | None) -> list[str]:
    """The speaker of each utterance, in order."""
    rows = Utterance.objects.filter(dialogue=dialogue_id).order_by("position")
    return list(rows.values_list("speaker", flat=True))


def utterances_in(dialogue_id: int) -> list[dict[str, Any]]:
    rows = Utterance.objects.filter(dialogue=dialogue_id).order_by("position")
    return list(rows.values(*UTTERANCE_FIELDS))


def utterances_by_dialogue(dialogues: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
    """The utterances of several dialogues, in one query; an empty list for a dialogue without any."""
    by_dialogue: dict[int, list[dict[str, Any]]] = {dialogue: [] for dialogue in dialogues}
    rows = Utterance.objects.filter(dialogue__in=by_dialogue).order_by("dialogue", "position")
    for row in rows.values("dialogue_id", *UTTERANCE_FIELDS):
        by_dialogue[row.pop("dialogue_id")].append(row)
    return by_dialogue


def live_submission(assignment: Assignment) -> Submission | None:
    """The assignment's current submission."""
    return Submission.objects.filter(assignment=assignment, superseded_at=None).first()


def is_decided(task: Task) -> bool:
    """Whether the current final label is a trainer's decision."""
    if task.state != TaskState.FINAL:
        return False
    return FinalLabel.objects.filter(task=task, superseded_at=None, origin=LabelOrigin.DECIDED).exists()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The others' answers and notes, anonymous and shuffled, and the paths on which they differ from one's own."""

    others: list[dict[str, Any]]
    differences: list[str]


def shows_others(assignment: Assignment) -> bool:
    """Whether the annotator has to confirm, and so is shown what others answered (DiQAD §4.2)."""
    return assignment.task.state == TaskState.CONFIRMING and assignment.state == AssignmentState.SUBMITTED


def confirmation_for(assignment: Assignment) -> Confirmation:
    """Empty unless the annotator has to confirm (DiQAD §4.2): before that, nobody sees what others answered.

    Always empty for users who no longer annotate the project.
    """
    if not shows_others(assignment):
        return Confirmation([], [])
    if Capability.ANNOTATE not in capabilities_of(assignment.annotator, assignment.project):
        return Confirmation([], [])
    live = list(
        Submission.objects.filter(task=assignment.task_id, superseded_at=None).select_related("schema")
    )
    own = next((row for row in live if row.assignment_id == assignment.pk), None)
    if own is None:
        return Confirmation([], [])
    others = [row for row in live if row.assignment_id != assignment.pk]
    Random(assignment.pk).shuffle(others)
    schema, paths = load_schema(own.schema), dict[str, None]()
    for other in others:
        paths |= dict.fromkeys(differing_paths(schema, own.answers, other.answers))
    return Confirmation([{"answers": row.answers, "note": row.note} for row in others], list(paths))


def seconds_left(assignment: Assignment) -> float:
    """Seconds until the minimum reading time is over; 0 for a revision."""
    if assignment.state == AssignmentState.SUBMITTED:
        return 0.0
    served = assignment.served_at or clock.now()
    minimum = assignment.project.labelling.min_seconds
    return max(0.0, round(minimum - (clock.now() - served).total_seconds(), 1))


def live_submissions(user: User, project: Project) -> QuerySet[Submission]:
    """The user's live submissions with the final label and the `opening` of their dialogue, newest first."""
    finals = Prefetch(
        "task__final_labels", FinalLabel.objects.filter(superseded_at=None), to_attr="live_finals"
    )
    rows = Submission.objects.filter(annotator=user, project=project, superseded_at=None)
    first = Utterance.objects.filter(dialogue=OuterRef("task__dialogue"), position=0)
    rows = rows.annotate(opening=Subquery(first.values(begins=Left("text", OPENING_CHARS))))
    return rows.select_related("task__dialogue", "schema").prefetch_related(finals).order_by("-stored_at")


def begun_assignment_of(user: User, project: Project) -> Assignment | None:
    """The active assignment that the person was shown, otherwise one that was fetched ahead."""
    active = Assignment.objects.filter(annotator=user, project=project, state=AssignmentState.ACTIVE)
    return active.filter(served_at__isnull=False).first() or active.first()


def count_submitted(user: User, project: Project) -> int:
    """Leaves out labels that were withdrawn with their batch: those dialogues are labelled again."""
    own = Assignment.objects.filter(annotator=user, project=project, state=AssignmentState.SUBMITTED)
    return own.exclude(task__state=TaskState.WITHDRAWN).count()


def count_available(user: User, project: Project) -> int:
    """How many dialogues the person has labelled, holds or can still get; others may take some of those before.

    What the person has skipped or lost is not offered again, nor is what is for another group.
    """
    own = Assignment.objects.filter(
        annotator=user, project=project, state__in=(*HELD, AssignmentState.SUBMITTED)
    ).exclude(task__state=TaskState.WITHDRAWN)
    had = Assignment.objects.filter(task=OuterRef("pk"), annotator=user)
    free = Task.objects.filter(claimable_by(user, [project]), ~Exists(had), project=project)
    available = own.count() + free.count()
    return min(available, project.labelling.max_per_person or available)


CONFIRMED = Submission.objects.filter(assignment=OuterRef("pk"), superseded_at=None, stage=Stage.CONFIRMATION)
# Assignments whose answers the annotator has to confirm or change.
NEEDS_CONFIRMATION = ~Exists(CONFIRMED) & Q(state=AssignmentState.SUBMITTED, task__state=TaskState.CONFIRMING)


def assignments_to_confirm(user: User, project: Project) -> QuerySet[Assignment]:
    """What the user has to confirm or change, oldest first."""
    rows = Assignment.objects.filter(NEEDS_CONFIRMATION, annotator=user, project=project)
    return rows.select_related("task", "dialogue").order_by("submitted_at", "id")


def disputed_tasks(project: Project) -> QuerySet[Task]:
    """Tasks that a trainer has to decide, highest disagreement first."""
    rows = Task.objects.filter(project=project, state=TaskState.DISPUTED)
    return rows.select_related("dialogue").order_by("-disagreement", "id")


def final_label_history(task: Task) -> QuerySet[FinalLabel]:
    """The task's final labels, the current one last."""
    return FinalLabel.objects.filter(task=task).select_related("decided_by", "schema").order_by("id")


@dataclass(frozen=True, slots=True)
class LabellingProgress:
    """dialogues: all of the project. tasks: in total and by state. held: assignments in work. judgements: submitted.

    final: labels of people; machine: labels of a machine.
    """

    dialogues: int
    tasks: int
    open: int
    confirming: int
    disputed: int
    final: int
    machine: int
    held: int
    judgements: int

    @property
    def unplanned(self) -> int:
        return self.dialogues - self.tasks


def labelling_progress(project: Project) -> LabellingProgress:
    """Four queries, which read only indexes."""
    states = [state for state in TaskState if state != TaskState.WITHDRAWN]
    tasks = Task.objects.filter(project=project, state__in=states).aggregate(
        tasks=Count("id"), **{state.value: Count("id", filter=Q(state=state)) for state in states}
    )
    work = Assignment.objects.filter(project=project).aggregate(
        held=Count("id", filter=Q(state__in=HELD)),
        judgements=Count("id", filter=Q(state=AssignmentState.SUBMITTED)),
    )
    live = FinalLabel.objects.filter(project=project, superseded_at=None)
    machine = live.filter(origin=LabelOrigin.MACHINE).count()
    tasks["final"] -= machine
    dialogues = Dialogue.objects.filter(project=project).count()
    return LabellingProgress(dialogues=dialogues, machine=machine, **tasks, **work)
