"""What the labelling workbench and the lists around it show."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Stage, Submission
from annotation.labelling.schema.answers import differing_paths
from annotation.labelling.selectors.schemas import load_schema
from annotation.tasks.models.work import HELD, Assignment, AssignmentState, Task, TaskState
from dialogues.models import Dialogue, Utterance
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

UTTERANCE_FIELDS = ("position", "speaker", "text", "time")


def speakers_in(dialogue_id: int | None) -> list[str]:
    """Who says each utterance, in order."""
    rows = Utterance.objects.filter(dialogue=dialogue_id).order_by("position")
    return list(rows.values_list("speaker", flat=True))


def utterances_in(dialogue_id: int) -> list[dict[str, Any]]:
    rows = Utterance.objects.filter(dialogue=dialogue_id).order_by("position")
    return list(rows.values(*UTTERANCE_FIELDS))


def utterances_by_dialogue(dialogues: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
    """Those of several dialogues, in one query; empty for a dialogue without any."""
    said: dict[int, list[dict[str, Any]]] = {dialogue: [] for dialogue in dialogues}
    rows = Utterance.objects.filter(dialogue__in=said).order_by("dialogue", "position")
    for row in rows.values("dialogue_id", *UTTERANCE_FIELDS):
        said[row.pop("dialogue_id")].append(row)
    return said


def live_submission(assignment: Assignment) -> Submission | None:
    """What the person sent last."""
    return Submission.objects.filter(assignment=assignment, superseded_at=None).first()


def is_decided(task: Task) -> bool:
    """Whether a trainer's decision holds."""
    if task.state != TaskState.FINAL:
        return False
    return FinalLabel.objects.filter(task=task, superseded_at=None, origin=LabelOrigin.DECIDED).exists()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The others' answers and notes, nameless and in an order that says nothing, and where they differ from one's."""

    others: list[dict[str, Any]]
    differences: list[str]


def confirmation_for(assignment: Assignment) -> Confirmation:
    """Empty unless the person has to confirm (DiQAD §4.2): before that nobody is told what others answered, and who
    annotates here no more never."""
    if assignment.task.state != TaskState.CONFIRMING or assignment.state != AssignmentState.SUBMITTED:
        return Confirmation([], [])
    if Capability.ANNOTATE not in capabilities_of(assignment.annotator, assignment.project):
        return Confirmation([], [])
    live = list(
        Submission.objects.filter(task=assignment.task_id, superseded_at=None).select_related("schema")
    )
    mine = next((one for one in live if one.assignment_id == assignment.pk), None)
    if mine is None:
        return Confirmation([], [])
    others = [one for one in live if one.assignment_id != assignment.pk]
    Random(assignment.pk).shuffle(others)
    schema, paths = load_schema(mine.schema), dict[str, None]()
    for other in others:
        paths |= dict.fromkeys(differing_paths(schema, mine.answers, other.answers))
    return Confirmation([{"answers": one.answers, "note": one.note} for one in others], list(paths))


def seconds_left(assignment: Assignment) -> float:
    """Of the least time on a dialogue; 0 when it is over, or for a revision."""
    if assignment.state == AssignmentState.SUBMITTED:
        return 0.0
    served = assignment.served_at or timezone.now()
    least = assignment.project.labelling.min_seconds
    return max(0.0, round(least - (timezone.now() - served).total_seconds(), 1))


def live_submissions(user: User, project: Project) -> QuerySet[Submission]:
    """The person's own live submissions with their dialogue's final label, newest first."""
    finals = Prefetch(
        "task__final_labels", FinalLabel.objects.filter(superseded_at=None), to_attr="live_finals"
    )
    rows = Submission.objects.filter(annotator=user, project=project, superseded_at=None)
    return rows.select_related("task__dialogue", "schema").prefetch_related(finals).order_by("-stored_at")


CONFIRMED = Submission.objects.filter(assignment=OuterRef("pk"), superseded_at=None, stage=Stage.CONFIRMATION)
# Of assignments: those whose answers the person has to confirm or change.
NEEDS_CONFIRMATION = ~Exists(CONFIRMED) & Q(state=AssignmentState.SUBMITTED, task__state=TaskState.CONFIRMING)


def assignments_to_confirm(user: User, project: Project) -> QuerySet[Assignment]:
    """What the person has to confirm or change, oldest first."""
    rows = Assignment.objects.filter(NEEDS_CONFIRMATION, annotator=user, project=project)
    return rows.select_related("task", "dialogue").order_by("submitted_at", "id")


def disputed_tasks(project: Project) -> QuerySet[Task]:
    """Dialogues that a trainer has to decide, the most disagreed first."""
    rows = Task.objects.filter(project=project, state=TaskState.DISPUTED)
    return rows.select_related("dialogue").order_by("-disagreement", "id")


def final_label_history(task: Task) -> QuerySet[FinalLabel]:
    """Its final labels, the present one last."""
    return FinalLabel.objects.filter(task=task).select_related("decided_by", "schema").order_by("id")


@dataclass(frozen=True, slots=True)
class LabellingProgress:
    """dialogues: all of the project; tasks by state; slots: people still wanted; held: in work; judgements: sent."""

    dialogues: int
    tasks: int
    open: int
    confirming: int
    disputed: int
    final: int
    held: int
    judgements: int

    @property
    def unplanned(self) -> int:
        return self.dialogues - self.tasks


def labelling_progress(project: Project) -> LabellingProgress:
    """Three queries, whatever the size; the counts read indexes."""
    shown = [state for state in TaskState if state != TaskState.WITHDRAWN]
    tasks = Task.objects.filter(project=project, state__in=shown).aggregate(
        tasks=Count("id"), **{state.value: Count("id", filter=Q(state=state)) for state in shown}
    )
    work = Assignment.objects.filter(project=project).aggregate(
        held=Count("id", filter=Q(state__in=HELD)),
        judgements=Count("id", filter=Q(state=AssignmentState.SUBMITTED)),
    )
    return LabellingProgress(dialogues=Dialogue.objects.filter(project=project).count(), **tasks, **work)
