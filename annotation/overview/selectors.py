"""What a person can do next in their projects: the counts, and the order of the steps that every page shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import Aggregate, Count, Exists, Min, OuterRef, Q, QuerySet

from accounts.models import User
from annotation.batch_review.selectors.eligibility import waits_for
from annotation.expert_review.models import ExpertReview, Verdict
from annotation.expert_review.selectors import FOR_EXPERTS
from annotation.labelling.selectors.workbench import NEEDS_CONFIRMATION
from annotation.onboarding.models import Thread, ThreadState
from annotation.onboarding.selectors.admission import projects_needing_admission
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import HELD, Assignment, Task, TaskState
from annotation.tasks.selectors.claimable import claimable_by
from annotation.tasks.selectors.queue import FETCHED_AHEAD
from dialogues.models import Dialogue, DialogueState, Origin, ReviewState
from projects.models import Membership, Project, Protocol, Role
from projects.roles import Capability, roles_with


@dataclass(frozen=True, slots=True)
class Overview:
    """The counts of one project.

    Of the person: open (assignments), came_back (vetoed dialogues whose reasons are unread), to_confirm (labels),
    untested (has to pass the admission test first), readable (tasks with open slots that the person may be given: in
    languages that they read, for everybody or their group, and not had before), to_judge (batches that wait for this
    controller), next_batch (the number of the first of these).
    Of dialogues: dialogues (finished), imported (of these), unplanned (those of a labelling project that have no task),
    unreviewed, passed and vetoed (by experts), disputed (a trainer has to decide), confirming (annotators look at them
    again), labelled (the final label can be exported), unaccepted (it cannot, because their batch is not accepted),
    unbatched (it cannot, because they are in no batch).
    Of the project: tasks (planned), free (tasks with open slots), asked (threads without an answer), in_review (batches
    that wait for controllers); annotators, reviewers (controllers and trainers) and trainers who can sign in.
    """

    open: int = 0
    came_back: int = 0
    to_confirm: int = 0
    untested: bool = False
    unreviewed: int = 0
    passed: int = 0
    vetoed: int = 0
    dialogues: int = 0
    imported: int = 0
    unplanned: int = 0
    tasks: int = 0
    free: int = 0
    readable: int = 0
    disputed: int = 0
    confirming: int = 0
    labelled: int = 0
    unaccepted: int = 0
    unbatched: int = 0
    in_review: int = 0
    to_judge: int = 0
    next_batch: int | None = None
    asked: int = 0
    annotators: int = 0
    reviewers: int = 0
    trainers: int = 0

    @property
    def reviewed(self) -> int:
        return self.passed + self.vetoed


def overviews(user: User, projects: Sequence[Project]) -> dict[int, Overview]:
    """The counts by project id. Eight queries for any number of projects."""
    counted = _count_all(user, projects)
    tests = projects_needing_admission(user, projects)
    return {
        project.pk: Overview(**_merge_counts(counted, project), untested=project.pk in tests)
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
    waits = waits_for(user)
    is_open = Q(~FETCHED_AHEAD, state__in=HELD)
    return [
        _by_project(
            mine,
            open=Count("id", filter=is_open),
            came_back=Count("id", filter=vetoed),
            had=Count("task", filter=claimable_by(user, projects, "task__"), distinct=True),
        ),
        _by_project(
            finished,
            dialogues=Count("id"),
            imported=Count("id", filter=Q(origin=Origin.IMPORTED)),
            unreviewed=Count("id", filter=is_unreviewed & FOR_EXPERTS),
            passed=Count("id", filter=Q(review_state=ReviewState.PASSED)),
            vetoed=Count("id", filter=Q(review_state=ReviewState.VETOED)),
        ),
        _by_project(
            Task.objects.filter(project__in=projects).exclude(state=TaskState.WITHDRAWN),
            tasks=Count("id"),
            free=Count("id", filter=Q(open_slots__gt=0)),
            readable=Count("id", filter=claimable_by(user, projects)),
            disputed=Count("id", filter=Q(state=TaskState.DISPUTED)),
            confirming=Count("id", filter=Q(state=TaskState.CONFIRMING)),
            labelled=Count("id", filter=Q(state=TaskState.FINAL, round__state=RoundState.ACCEPTED)),
            unaccepted=Count(
                "id", filter=Q(state=TaskState.FINAL) & ~Q(round=None) & ~Q(round__state=RoundState.ACCEPTED)
            ),
            unbatched=Count("id", filter=Q(state=TaskState.FINAL, round=None)),
        ),
        _by_project(
            Round.objects.filter(project__in=projects),
            rounds=Count("id"),
            in_review=Count("id", filter=Q(state__in=[RoundState.SEALED, RoundState.IN_REVIEW])),
            to_judge=Count("id", filter=waits),
            next_batch=Min("batch__number", filter=waits),
        ),
        _by_project(mine.filter(NEEDS_CONFIRMATION), to_confirm=Count("id")),
        _by_project(Thread.objects.filter(project__in=projects, state=ThreadState.OPEN), asked=Count("id")),
        _by_project(
            Membership.objects.filter(project__in=projects, user__is_active=True),
            annotators=Count("id", filter=Q(roles__contains=[Role.ANNOTATOR])),
            reviewers=Count("id", filter=Q(roles__overlap=roles_with(Capability.REVIEW))),
            trainers=Count("id", filter=Q(roles__overlap=roles_with(Capability.DECIDE))),
        ),
    ]


def _by_project(rows: QuerySet[Any], **counts: Aggregate) -> dict[int, dict[str, int]]:
    counted = rows.order_by().values("project").annotate(**counts)
    return {row.pop("project"): row for row in counted}


def _merge_counts(counted: Sequence[dict[int, dict[str, int]]], project: Project) -> dict[str, Any]:
    counts = {name: n for by_project in counted for name, n in by_project.get(project.pk, {}).items()}
    if project.protocol == Protocol.LABELLING:
        counts["unplanned"] = max(0, counts.get("dialogues", 0) - counts.get("tasks", 0))
    rounds = counts.pop("rounds", 0)
    if had := counts.pop("had", 0):
        counts["readable"] -= had
    # Once a project has batches, only dialogues of accepted batches are exported.
    if not rounds:
        counts["labelled"] = counts.get("labelled", 0) + counts.pop("unbatched", 0)
    return counts


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
        Step.PEOPLE: not counts.annotators or bool(steps_without_people(counts)),
        Step.EXPORT: bool(counts.labelled if is_labelling else counts.passed),
        Step.PLAN: bool(counts.unplanned) if is_labelling else not counts.free,
        Step.STATISTICS: bool(counts.dialogues or counts.tasks),
    }
    return [step for step in is_due if is_due[step]]


def steps_without_people(counts: Overview) -> list[Step]:
    """The steps for which dialogues or batches wait although nobody has the role that takes them."""
    lacks_people = {
        Step.DECIDE: bool(counts.disputed) and not counts.trainers,
        Step.JUDGE: bool(counts.in_review) and not counts.reviewers,
        Step.REVIEW: bool(counts.unreviewed) and not counts.reviewers,
    }
    return [step for step in lacks_people if lacks_people[step]]


def waiting_steps(project: Project, counts: Overview) -> list[Step]:
    """The due steps with work that waits for this person: begun, sent back, for their role, or for whoever adds people.

    A dialogue that any annotator may take next does not wait for one of them.
    """
    has_begun = bool(counts.open or counts.came_back)
    waits = {Step.CONFIRM, Step.DECIDE, Step.ANSWER, Step.REVIEW, Step.JUDGE}
    if has_begun:
        waits |= {Step.WRITE, Step.LABEL}
    if steps_without_people(counts):
        waits.add(Step.PEOPLE)
    return [step for step in due_steps(project, counts) if step in waits]


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
