"""Everything that people answered about one dialogue, as far as the reader may see it."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, Schema, Submission
from annotation.labelling.selectors.visibility import hidden_labels
from annotation.labelling.selectors.workbench import final_label_history
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from dialogues.models import Dialogue
from projects.models import Project
from projects.roles import Capability

MAX_SUBMISSIONS = 200  # of one dialogue, revisions included
UNPLANNED = "unplanned"
PEOPLE = 200
LABEL_STATES = [
    *((state.value, state.label) for state in TaskState if state != TaskState.WITHDRAWN),
    (UNPLANNED, _("Not planned yet")),
]


def filter_by_label_state(rows: QuerySet[Dialogue], state: str) -> QuerySet[Dialogue]:
    """The dialogues whose labels are in this state, one of LABEL_STATES."""
    tasks = Task.objects.filter(dialogue=OuterRef("pk")).exclude(state=TaskState.WITHDRAWN)
    return rows.filter(~Exists(tasks) if state == UNPLANNED else Exists(tasks.filter(state=state)))


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """An answer about a dialogue. is_list: one of several chosen options."""

    question: str
    value: int | str
    is_list: bool = False


def filter_by_final_answer(
    rows: QuerySet[Dialogue], reader: User, project: Project, granted: Set[Capability], answer: FinalAnswer
) -> QuerySet[Dialogue]:
    """The dialogues with this answer in their final label, without those that the reader may have to judge blind."""
    value = [answer.value] if answer.is_list else answer.value
    finals = FinalLabel.objects.filter(
        dialogue=OuterRef("pk"),
        superseded_at=None,
        answers__contains={"dialogue": {answer.question: value}},
    )
    hidden = hidden_labels(reader, project, granted).values("task")
    return rows.filter(Exists(finals.exclude(task__in=hidden)))


def label_states(dialogues: Sequence[Dialogue]) -> dict[int, TaskState]:
    """The label state of each dialogue; dialogues without a task are absent. One query."""
    rows = Task.objects.filter(dialogue__in=dialogues).exclude(state=TaskState.WITHDRAWN)
    return {
        dialogue: TaskState(state) for dialogue, state in rows.values_list("dialogue_id", "state") if dialogue
    }


def annotators_of(project: Project) -> list[tuple[str, str]]:
    """Who has submitted dialogues of the project, as (id, name), by name."""
    sent = Assignment.objects.filter(
        project=project, annotator=OuterRef("pk"), state=AssignmentState.SUBMITTED
    )
    people = User.objects.filter(Exists(sent))[:PEOPLE]
    return sorted(((str(one.pk), one.shown_name) for one in people), key=lambda row: row[1])


def submitted_by(annotator: int) -> QuerySet[Assignment]:
    """The person's submitted work on a dialogue, for Exists."""
    return Assignment.objects.filter(
        dialogue=OuterRef("pk"), annotator=annotator, state=AssignmentState.SUBMITTED
    )


def was_returned(task: Task) -> bool:
    """Whether the dialogue was answered in an earlier round, which was returned."""
    return Task.objects.filter(dialogue=task.dialogue_id, pk__lt=task.pk, round__isnull=False).exists()


@dataclass(frozen=True, slots=True)
class PersonAnswers:
    """One person's current submission and its earlier revisions, newest first.

    number: among the dialogue's people, from 1. name: empty if the reader may not see it.
    """

    number: int
    name: str
    is_own: bool
    is_imported: bool
    now: Submission
    earlier: list[Submission]


@dataclass(frozen=True, slots=True)
class DialogueLabels:
    """The labels of one dialogue.

    final: the current label. before: the labels that it replaced, newest first. people: only those that the reader may
    see; `withheld` counts the others. schema: of the final label, else of the newest submission.
    is_judged_blind: the reader has to judge the dialogue in a sample first, and sees nobody's answers until then.
    """

    task: Task
    final: FinalLabel | None
    before: list[FinalLabel]
    people: list[PersonAnswers]
    withheld: int
    schema: Schema | None
    names_people: bool
    is_judged_blind: bool = False

    @property
    def shows_others(self) -> bool:
        """Whether the reader sees what other people answered, or what was made of it."""
        is_final_of_several = bool(self.final or self.before) and self.task.overlap > 1
        return is_final_of_several or any(not person.is_own for person in self.people)

    @property
    def is_imported(self) -> bool:
        return bool(self.people) and all(person.is_imported for person in self.people)


def dialogue_labels(user: User, dialogue: Dialogue, granted: Set[Capability]) -> DialogueLabels | None:
    """A dialogue's labels for a reader with these capabilities; None if the dialogue has no task. A few queries.

    Annotators see others' answers only once the task is final or disputed, so that their own stay independent.
    Without the right to read dialogues, users see only their own answers.
    """
    task = (
        Task.objects.filter(dialogue=dialogue).select_related("project__labelling").order_by("-id").first()
    )  # of the latest round
    if task is None:
        return None
    if hidden_labels(user, task.project, granted).filter(task=task).exists():
        return DialogueLabels(task, None, [], [], 0, None, names_people=False, is_judged_blind=True)
    sent = Submission.objects.filter(task=task).select_related("annotator", "schema")
    rows = list(sent.order_by("assignment_id", "-revision")[:MAX_SUBMISSIONS])
    names = Capability.READ_STATISTICS in granted
    people = _people(rows, user, names=names)
    is_settled = task.state in (TaskState.FINAL, TaskState.DISPUTED)
    sees_all = Capability.READ_DIALOGUES in granted and (is_settled or Capability.ANNOTATE not in granted)
    visible = [person for person in people if sees_all or person.is_own]
    history = list(final_label_history(task))
    final = next((label for label in history if label.superseded_at is None), None)
    newest = max((person.now for person in visible), key=lambda row: row.stored_at, default=None)
    return DialogueLabels(
        task=task,
        final=final,
        before=[label for label in reversed(history) if label.superseded_at] if sees_all else [],
        people=visible,
        withheld=len(people) - len(visible),
        schema=final.schema if final else newest.schema if newest else None,
        names_people=names,
    )


def _people(rows: list[Submission], user: User, *, names: bool) -> list[PersonAnswers]:
    by_assignment: dict[int, list[Submission]] = {}
    for row in rows:
        by_assignment.setdefault(row.assignment_id, []).append(row)
    live = [revisions for revisions in by_assignment.values() if revisions[0].superseded_at is None]
    return [
        PersonAnswers(
            number=number,
            name=revisions[0].annotator.shown_name if names else "",
            is_own=revisions[0].annotator_id == user.pk,
            is_imported=revisions[0].annotator.imported,
            now=revisions[0],
            earlier=revisions[1:],
        )
        for number, revisions in enumerate(live, start=1)
    ]


def has_labelled(user: User, dialogue: Dialogue) -> bool:
    """Whether the user has submitted labels for the dialogue, and so may read it again."""
    rows = Assignment.objects.filter(dialogue=dialogue, annotator=user, state=AssignmentState.SUBMITTED)
    return rows.exists()
