"""What people answered about a page of dialogues, and what became final of it; one query each.

Rows are plain tuples: making a model instance of each took half of an export.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from annotation.models import FinalLabel, Submission, TaskState
from annotation.schemas import Answers
from dialogues.models import Dialogue


class Answered(NamedTuple):
    """One submission: its fields, and of its schema the version, of its task the state, the batch and its round."""

    dialogue_id: int
    annotator_id: int
    answers: Answers
    note: str
    stage: str
    revision: int
    stored_at: datetime
    superseded_at: datetime | None
    active_ms: int
    idle_ms: int
    schema_version: int
    task_state: str
    batch: int | None
    round: int | None
    review: str | None


# Number of the batch, number of its round, and how far that is: the review status of a label.
ROUND = ("task__round__batch__number", "task__round__number", "task__round__state")
ANSWERED = (
    "task__dialogue_id", "annotator_id", "answers", "note", "stage", "revision", "stored_at", "superseded_at",
    "active_ms", "idle_ms", "schema__version", "task__state", *ROUND,
)  # fmt: skip


class Final(NamedTuple):
    """The final label of a dialogue, how it came about, and the batch with which it was reviewed."""

    answers: Mapping[str, Any]
    origin: str
    batch: int | None
    round: int | None
    review: str | None


def submissions_on(page: Sequence[Dialogue], *, superseded: bool = False) -> dict[int, list[Answered]]:
    """By dialogue, in the order in which its annotators took it up; superseded: earlier revisions too.

    What was withdrawn with its batch never leaves.
    """
    rows = Submission.objects.filter(task__dialogue__in=[dialogue.pk for dialogue in page])
    rows = rows.exclude(task__state=TaskState.WITHDRAWN)
    if not superseded:
        rows = rows.filter(superseded_at=None)
    found: dict[int, list[Answered]] = defaultdict(list)
    ordered = rows.order_by("task__dialogue_id", "assignment_id", "revision")
    for row in map(Answered._make, ordered.values_list(*ANSWERED)):
        found[row.dialogue_id].append(row)
    return found


def finals_on(page: Sequence[Dialogue]) -> dict[int, Final]:
    """The live final label by dialogue."""
    rows = FinalLabel.objects.filter(dialogue__in=[dialogue.pk for dialogue in page], superseded_at=None)
    read = rows.values_list("dialogue_id", "answers", "origin", *ROUND)
    return {dialogue: Final(*rest) for dialogue, *rest in read}
