"""Everything that people answered about one dialogue, as far as the reader may know it."""

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
from projects.roles import Capability

MOST_ROWS = 200  # submissions and their revisions of one dialogue


UNPLANNED = "unplanned"
LABEL_STATES = [
    *((state.value, state.label) for state in TaskState if state != TaskState.WITHDRAWN),
    (UNPLANNED, _("Given to nobody yet")),
]


def filter_by_label_state(rows: QuerySet[Dialogue], state: str) -> QuerySet[Dialogue]:
    """Those of the dialogues whose labels are so far; one of LABEL_STATES."""
    tasks = Task.objects.filter(dialogue=OuterRef("pk")).exclude(state=TaskState.WITHDRAWN)
    return rows.filter(~Exists(tasks) if state == UNPLANNED else Exists(tasks.filter(state=state)))


def label_states(dialogues: Sequence[Dialogue]) -> dict[int, TaskState]:
    """How far the labels of each are; absent where nobody is given the dialogue. One query."""
    rows = Task.objects.filter(dialogue__in=dialogues).exclude(state=TaskState.WITHDRAWN)
    return {
        dialogue: TaskState(state) for dialogue, state in rows.values_list("dialogue_id", "state") if dialogue
    }


@dataclass(frozen=True, slots=True)
class PersonAnswers:
    """What one person answered: the present answers, and the revisions before them, the newest first.

    number: among the dialogue's people, from 1. name: empty where the reader may not know it.
    """

    number: int
    name: str
    is_own: bool
    is_imported: bool
    now: Submission
    earlier: list[Submission]


@dataclass(frozen=True, slots=True)
class DialogueLabels:
    """final: the present label. before: those that it took the place of, the newest first.

    people: without whom the reader may not see; `withheld` counts those. schema: of the final label, else the newest.
    is_judged_blind: the reader is to label it themselves first, for a sample, and sees nobody's answers.
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
    def is_imported(self) -> bool:
        return bool(self.people) and all(one.is_imported for one in self.people)


def dialogue_labels(user: User, dialogue: Dialogue, granted: Set[Capability]) -> DialogueLabels | None:
    """A few queries; None for a dialogue that is no task.

    Who labels here sees others' answers only when nobody answers any more: before that they would not be independent.
    Who may not read the project's dialogues sees nobody's but their own.
    """
    task = (
        Task.objects.filter(dialogue=dialogue).select_related("project__labelling").order_by("-id").first()
    )  # of the latest round
    if task is None:
        return None
    if hidden_labels(user, task.project, granted).filter(task=task).exists():
        return DialogueLabels(task, None, [], [], 0, None, names_people=False, is_judged_blind=True)
    sent = Submission.objects.filter(task=task).select_related("annotator", "schema")
    rows = list(sent.order_by("assignment_id", "-revision")[:MOST_ROWS])
    names = Capability.READ_STATISTICS in granted
    people = _people(rows, user, names=names)
    is_settled = task.state in (TaskState.FINAL, TaskState.DISPUTED)
    sees_all = Capability.READ_DIALOGUES in granted and (is_settled or Capability.ANNOTATE not in granted)
    seen = [one for one in people if sees_all or one.is_own]
    history = list(final_label_history(task))
    final = next((one for one in history if one.superseded_at is None), None)
    newest = max((one.now for one in seen), key=lambda one: one.stored_at, default=None)
    return DialogueLabels(
        task=task,
        final=final,
        before=[one for one in reversed(history) if one.superseded_at] if sees_all else [],
        people=seen,
        withheld=len(people) - len(seen),
        schema=final.schema if final else newest.schema if newest else None,
        names_people=names,
    )


def _people(rows: list[Submission], user: User, *, names: bool) -> list[PersonAnswers]:
    by_assignment: dict[int, list[Submission]] = {}
    for row in rows:
        by_assignment.setdefault(row.assignment_id, []).append(row)
    live = [each for each in by_assignment.values() if each[0].superseded_at is None]
    return [
        PersonAnswers(
            number=number,
            name=each[0].annotator.shown_name if names else "",
            is_own=each[0].annotator_id == user.pk,
            is_imported=each[0].annotator.imported,
            now=each[0],
            earlier=each[1:],
        )
        for number, each in enumerate(live, start=1)
    ]


def has_labelled(user: User, dialogue: Dialogue) -> bool:
    """Whether the person has sent labels for it: then they may read it again."""
    rows = Assignment.objects.filter(dialogue=dialogue, annotator=user, state=AssignmentState.SUBMITTED)
    return rows.exists()
