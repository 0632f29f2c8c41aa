"""What people answered about a page of dialogues, and what became final of it; one query each.

Rows are plain tuples: making a model instance of each took half of an export.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet

from annotation.models import FinalLabel, Submission, TaskState
from annotation.schemas import Answers
from dialogues.models import Dialogue


class Answered(NamedTuple):
    """A live submission, and the batch with which it was reviewed."""

    dialogue_id: int
    annotator_id: int
    answers: Answers
    note: str
    schema_version: int
    batch: int | None
    round: int | None
    review: str | None


class Judged(NamedTuple):
    """A submission, perhaps a superseded one, and how it came about. task_state: as it is now."""

    dialogue_id: int
    annotator_id: int
    answers: Answers
    schema_version: int
    stage: str
    revision: int
    stored_at: datetime
    superseded_at: datetime | None
    active_ms: int
    idle_ms: int
    task_state: str
    batch: int | None
    round: int | None
    review: str | None


# Number of the batch, number of its round, and how far that is: the review status of a label.
ROUND = ("task__round__batch__number", "task__round__number", "task__round__state")
ANSWERED = ("task__dialogue_id", "annotator_id", "answers", "note", "schema__version", *ROUND)
JUDGED = (
    "task__dialogue_id", "annotator_id", "answers", "schema__version", "stage", "revision", "stored_at",
    "superseded_at", "active_ms", "idle_ms", "task__state", *ROUND,
)  # fmt: skip


class Final(NamedTuple):
    """The final label of a dialogue, how it came about, and the batch with which it was reviewed."""

    answers: Mapping[str, Any]
    origin: str
    batch: int | None
    round: int | None
    review: str | None


def submissions_on(page: Sequence[Dialogue]) -> dict[int, list[Answered]]:
    """The live ones by dialogue, in the order in which its annotators took it up."""
    found: dict[int, list[Answered]] = defaultdict(list)
    for row in map(Answered._make, _ordered(page).filter(superseded_at=None).values_list(*ANSWERED)):
        found[row.dialogue_id].append(row)
    return found


def judgements_on(page: Sequence[Dialogue]) -> dict[int, list[Judged]]:
    """Every revision by dialogue, person by person."""
    found: dict[int, list[Judged]] = defaultdict(list)
    for row in map(Judged._make, _ordered(page).values_list(*JUDGED)):
        found[row.dialogue_id].append(row)
    return found


def _ordered(page: Sequence[Dialogue]) -> QuerySet[Submission]:
    """Without what was withdrawn with its batch: it never leaves."""
    rows = Submission.objects.filter(task__dialogue__in=[dialogue.pk for dialogue in page])
    kept = rows.exclude(task__state=TaskState.WITHDRAWN)
    return kept.order_by("task__dialogue_id", "assignment_id", "revision")


def finals_on(page: Sequence[Dialogue]) -> dict[int, Final]:
    """The live final label by dialogue."""
    rows = FinalLabel.objects.filter(dialogue__in=[dialogue.pk for dialogue in page], superseded_at=None)
    read = rows.values_list("dialogue_id", "answers", "origin", *ROUND)
    return {dialogue: Final(*rest) for dialogue, *rest in read}
