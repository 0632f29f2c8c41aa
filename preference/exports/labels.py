"""What people answered about a page of dialogues, and what became final of it; two queries a page."""

from collections import defaultdict
from collections.abc import Sequence

from annotation.models import FinalLabel, Submission
from dialogues.models import Dialogue

ANSWERED = (
    "answers", "note", "stage", "revision", "stored_at", "superseded_at", "active_ms", "idle_ms", "annotator_id",
    "assignment_id", "schema__version", "task__dialogue_id", "task__state",
)  # fmt: skip


def submissions_on(page: Sequence[Dialogue], *, superseded: bool = False) -> dict[int, list[Submission]]:
    """By dialogue, in the order in which its annotators took it up; superseded: earlier revisions too."""
    rows = Submission.objects.filter(task__dialogue__in=page).select_related("schema", "task")
    if not superseded:
        rows = rows.filter(superseded_at=None)
    found: dict[int, list[Submission]] = defaultdict(list)
    for row in rows.only(*ANSWERED).order_by("task__dialogue_id", "assignment_id", "revision"):
        found[row.task.dialogue_id or 0].append(row)
    return found


def finals_on(page: Sequence[Dialogue]) -> dict[int, FinalLabel]:
    """The live final label by dialogue."""
    rows = FinalLabel.objects.filter(dialogue__in=page, superseded_at=None).select_related("schema")
    return {row.dialogue_id: row for row in rows}
