"""Submissions and final labels of a page of dialogues, one query each.

Rows are plain tuples: building a model instance for each took half the time of an export.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from annotation.labelling.models.labels import FinalLabel, Submission
from annotation.labelling.schema.answers import Answers
from annotation.tasks.models.work import TaskState
from dialogues.models import Dialogue

LONG_NUMBER = re.compile(r"\d{19}")


class LiveSubmission(NamedTuple):
    """A live submission, and the batch in which it was reviewed."""

    dialogue_id: int
    annotator_id: int
    answers: Answers
    note: str
    schema_version: int
    batch: int | None
    round: int | None
    review: str | None


class SubmissionRevision(NamedTuple):
    """A revision of a submission, perhaps superseded, with its circumstances. task_state: the current one."""

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


# Number of the batch, number and state of its round: the review status of a label.
ROUND = ("task__round__batch__number", "task__round__number", "task__round__state")
ANSWERED = ("task__dialogue_id", "annotator_id", "text", "note", "schema__version", *ROUND)
JUDGED = (
    "task__dialogue_id", "annotator_id", "text", "schema__version", "stage", "revision", "stored_at",
    "superseded_at", "active_ms", "idle_ms", "task__state", *ROUND,
)  # fmt: skip


class FinalLabelRow(NamedTuple):
    """The final label of a dialogue, its origin, and the batch in which it was reviewed.

    machine: of a machine label, see FinalLabel.machine.
    """

    answers: Mapping[str, Any]
    origin: str
    machine: Mapping[str, Any] | None
    batch: int | None
    round: int | None
    review: str | None


def live_submissions_on(page: Sequence[Dialogue]) -> dict[int, list[LiveSubmission]]:
    """Live submissions by dialogue, in the order its annotators claimed it."""
    by_dialogue: dict[int, list[LiveSubmission]] = defaultdict(list)
    for dialogue, person, text, *rest in _ordered(page).filter(superseded_at=None).values_list(*ANSWERED):
        by_dialogue[dialogue].append(LiveSubmission(dialogue, person, _parse_answers(text), *rest))
    return by_dialogue


def revisions_on(page: Sequence[Dialogue]) -> dict[int, list[SubmissionRevision]]:
    """Every revision by dialogue, person by person."""
    by_dialogue: dict[int, list[SubmissionRevision]] = defaultdict(list)
    for dialogue, person, text, *rest in _ordered(page).values_list(*JUDGED):
        by_dialogue[dialogue].append(SubmissionRevision(dialogue, person, _parse_answers(text), *rest))
    return by_dialogue


def _ordered(page: Sequence[Dialogue]) -> QuerySet[Submission]:
    """Submissions by dialogue, without those withdrawn with their batch, which are never exported."""
    rows = Submission.objects.annotate(text=Cast("answers", TextField()))
    rows = rows.filter(task__dialogue__id__any_of=[dialogue.pk for dialogue in page])
    exported = rows.exclude(task__state=TaskState.WITHDRAWN)
    return exported.order_by("task__dialogue_id", "assignment_id", "revision")


def final_labels_on(page: Sequence[Dialogue]) -> dict[int, FinalLabelRow]:
    """The live final label by dialogue."""
    rows = FinalLabel.objects.annotate(text=Cast("answers", TextField()))
    rows = rows.filter(dialogue__id__any_of=[dialogue.pk for dialogue in page], superseded_at=None)
    read = rows.values_list("dialogue_id", "text", "origin", "machine", *ROUND)
    return {dialogue: FinalLabelRow(_parse_answers(text), *rest) for dialogue, text, *rest in read}


def _parse_answers(answers: str) -> Any:
    """orjson is three times as fast as json, but turns integers beyond 64 bits into floats."""
    return json.loads(answers) if LONG_NUMBER.search(answers) else orjson.loads(answers)
