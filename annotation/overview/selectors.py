"""What a person can do next in their projects: the counts, and the order of the steps that every page shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import Aggregate, Count, Exists, Min, OuterRef, Q, QuerySet

from accounts.models import User
from annotation.batch_review.models import SampleItem
from annotation.batch_review.selectors.eligibility import judgeable_by
from annotation.expert_review.models import ExpertReview, Verdict
from annotation.expert_review.selectors import FOR_EXPERTS
from annotation.labelling.selectors.workbench import NEEDS_CONFIRMATION
from annotation.onboarding.models import Thread, ThreadState
from annotation.onboarding.selectors.admission import projects_needing_admission
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import HELD, Assignment, Task, TaskState
from annotation.tasks.selectors.languages import readable_tasks
from annotation.tasks.selectors.queue import FETCHED_AHEAD
from dialogues.models import Dialogue, DialogueState, ReviewState
from projects.models import Membership, Project, Protocol, Role
from projects.roles import Capability


@dataclass(frozen=True, slots=True)
class Overview:
    """The counts of one project.

    Of the person: open (assignments), came_back (vetoed dialogues whose reasons are unread), to_confirm (labels),
    untested (has to pass the admission test first), readable (tasks with open slots, in languages that the person
    reads), to_judge (batches that wait for this controller), next_batch (the number of the first of these).
    Of dialogues: dialogues (finished), unreviewed, passed and vetoed (by experts), disputed (a trainer has to decide),
    labelled (the final label can be exported).
    Of the project: tasks (planned), free (tasks with open slots), asked (threads without an answer), annotators.
    """

    open: int = 0
    came_back: int = 0
    to_confirm: int = 0
    untested: bool = False
    unreviewed: int = 0
    passed: int = 0
    vetoed: int = 0
    dialogues: int = 0
    tasks: int = 0
    free: int = 0
    readable: int = 0
    disputed: int = 0
    labelled: int = 0
    to_judge: int = 0
    next_batch: int | None = None
    asked: int = 0
    annotators: int = 0

    @property
    def reviewed(self) -> int:
        return self.passed + self.vetoed

    @property
    def unplanned(self) -> int:
        """The dialogues of a labelling project that have no task."""
        return max(0, self.dialogues - self.tasks)


def overviews(user: User, projects: Sequence[Project]) -> dict[int, Overview]:
    """The counts by project id. Eight queries for any number of projects."""
    counted = _count_all(user, projects)
    tests = projects_needing_admission(user, projects)
    return {
        project.pk: Overview(**_merge_counts(counted, project.pk), untested=project.pk in tests)
        for project in projects
    }


def _count_all(user: User, projects: Sequence[Project]) -> list[dict[int, dict[str, int]]]:
    unread = ExpertReview.objects.filter(
        dialogue=OuterRef("dialogue"), superseded_at=None, verdict=Verdict.VETO, seen_by_author_at=None
    )
    vetoed = Q(Exists(unread), state="submitted", dialogue__review_state=ReviewState.VETOED)
    mine = Assignment.objects.filter(annotator=user, project__in=projects)
    finished = Dialogue.objects.filter(project__in=projects, state=DialogueState.FINISHED)
    is_unreviewed = Q(review_state=ReviewState.UNREVIEWED)
    readable = readable_tasks(user.reading_languages, projects)
    waits = _waits_for_controller(user)
    is_open = Q(~FETCHED_AHEAD, state__in=HELD)
    return [
        _by_project(mine, open=Count("id", filter=is_open), came_back=Count("id", filter=vetoed)),
        _by_project(
            finished,
            dialogues=Count("id"),
            unreviewed=Count("id", filter=is_unreviewed & FOR_EXPERTS),
            passed=Count("id", filter=Q(review_state=ReviewState.PASSED)),
            vetoed=Count("id", filter=Q(review_state=ReviewState.VETOED)),
        ),
        _by_project(
            Task.objects.filter(project__in=projects).exclude(state=TaskState.WITHDRAWN),
            tasks=Count("id"),
            free=Count("id", filter=Q(open_slots__gt=0)),
            readable=Count("id", filter=Q(open_slots__gt=0) & readable),
            disputed=Count("id", filter=Q(state=TaskState.DISPUTED)),
            labelled=Count("id", filter=Q(state=TaskState.FINAL, round__state=RoundState.ACCEPTED)),
            unbatched=Count("id", filter=Q(state=TaskState.FINAL, round=None)),
        ),
        _by_project(
            Round.objects.filter(project__in=projects),
            rounds=Count("id"),
            to_judge=Count("id", filter=waits),
            next_batch=Min("batch__number", filter=waits),
        ),
        _by_project(mine.filter(NEEDS_CONFIRMATION), to_confirm=Count("id")),
        _by_project(Thread.objects.filter(project__in=projects, state=ThreadState.OPEN), asked=Count("id")),
        _by_project(
            Membership.objects.filter(project__in=projects, roles__contains=[Role.ANNOTATOR]),
            annotators=Count("id"),
        ),
    ]


def _waits_for_controller(user: User) -> Q:
    """Of rounds: a sample is to be drawn, the person can judge on, or everything is judged and the verdict is left."""
    items = SampleItem.objects.filter(sample__round=OuterRef("pk"))
    can_judge, unjudged = items.filter(judgeable_by(user)), items.filter(judgements=None)
    return Q(state=RoundState.SEALED) | (
        Q(state=RoundState.IN_REVIEW) & (Q(Exists(can_judge)) | ~Q(Exists(unjudged)))
    )


def _by_project(rows: QuerySet[Any], **counts: Aggregate) -> dict[int, dict[str, int]]:
    counted = rows.order_by().values("project").annotate(**counts)
    return {row.pop("project"): row for row in counted}


def _merge_counts(counted: Sequence[dict[int, dict[str, int]]], project: int) -> dict[str, Any]:
    counts = {name: n for by_project in counted for name, n in by_project.get(project, {}).items()}
    unbatched, rounds = counts.pop("unbatched", 0), counts.pop("rounds", 0)
    # Once a project has batches, only dialogues of accepted batches are exported.
    return counts | {"labelled": counts.get("labelled", 0) + (0 if rounds else unbatched)}


class Step(StrEnum):
    """Something to do in a project. The values are the URL names of the pages where it is done."""

    WRITE = "queue"
    CONFIRM = "confirmations"
    TEST = "admission"
    LABEL = "label_next"
    REVIEW = "review"
    JUDGE = "batches"
    DECIDE = "disputes"
    ANSWER = "threads"
    EXPORT = "exports"
    TRAIN = "trainings"
    PLAN = "project_settings"
    PEOPLE = "members"
    STATISTICS = "statistics"
    IMPORT = "imports"


NEEDS = {
    Step.WRITE: Capability.ANNOTATE,
    Step.CONFIRM: Capability.ANNOTATE,
    Step.TEST: Capability.ANNOTATE,
    Step.LABEL: Capability.ANNOTATE,
    Step.REVIEW: Capability.REVIEW,
    Step.JUDGE: Capability.REVIEW,
    Step.DECIDE: Capability.DECIDE,
    Step.ANSWER: Capability.DECIDE,
    Step.EXPORT: Capability.EXPORT,
    Step.TRAIN: Capability.TRAIN,
    Step.PLAN: Capability.CONFIGURE,
    Step.PEOPLE: Capability.MANAGE_MEMBERS,
    Step.STATISTICS: Capability.READ_STATISTICS,
    Step.IMPORT: Capability.IMPORT,
}
ONLY_WHEN_DUE = (Step.CONFIRM, Step.TEST, Step.ANSWER, Step.PLAN, Step.STATISTICS)
ONLY_IN = {
    Protocol.AUTHORING: {Step.WRITE, Step.REVIEW, Step.TRAIN},
    Protocol.LABELLING: {Step.CONFIRM, Step.TEST, Step.LABEL, Step.JUDGE, Step.DECIDE},
}


OF_DATA = (Step.EXPORT, Step.TRAIN)  # offered once a dialogue is finished
OF_ARCHIVE = (Step.EXPORT, Step.TRAIN, Step.STATISTICS)
WORK = (Step.WRITE, Step.LABEL, Step.REVIEW, Step.JUDGE, Step.DECIDE)


def due_steps(project: Project, counts: Overview) -> list[Step]:
    """The steps for which something waits, the most urgent first.

    The person's own work comes before that of others, and work that others wait for before the rest: writing before
    reviews, reviews before exports, exports before more plans.
    """
    is_labelling = project.protocol == Protocol.LABELLING
    is_due = {
        Step.CONFIRM: bool(counts.to_confirm),
        Step.WRITE: bool(counts.open or counts.came_back or counts.readable),
        Step.TEST: counts.untested,
        Step.LABEL: bool(counts.open or counts.readable),
        Step.DECIDE: bool(counts.disputed),
        Step.ANSWER: bool(counts.asked),
        Step.REVIEW: bool(counts.unreviewed),
        Step.JUDGE: bool(counts.to_judge),
        Step.IMPORT: is_labelling and not counts.dialogues,
        Step.EXPORT: bool(counts.labelled if is_labelling else counts.passed),
        Step.PEOPLE: not counts.annotators,
        Step.PLAN: bool(counts.unplanned) if is_labelling else not counts.free,
        Step.STATISTICS: bool(counts.dialogues or counts.tasks),
    }
    return [step for step in is_due if is_due[step]]


def steps_for(project: Project, granted: frozenset[Capability], counts: Overview) -> list[Step]:
    """The steps that the person may take, the most urgent first: it is the next step on every page."""
    due = due_steps(project, counts)
    elsewhere = {
        step for protocol, steps in ONLY_IN.items() if protocol != project.protocol for step in steps
    }
    idle = set(ONLY_WHEN_DUE) - set(due) | (set() if counts.dialogues else set(OF_DATA))
    offered = [step for step in Step if NEEDS[step] in granted and step not in elsewhere | idle]
    if project.archived_at:
        offered = [step for step in offered if step in OF_ARCHIVE]
    return [*(step for step in due if step in offered), *(step for step in offered if step not in due)]
