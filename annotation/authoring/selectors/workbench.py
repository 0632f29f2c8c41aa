"""What the authoring workbench shows."""

from collections.abc import Sequence
from typing import Any

from django.db.models import F

from annotation.tasks.models.work import Assignment
from dialogues.models import Utterance
from generation import selectors as generation
from generation.models import CandidateRequest


def utterances_of(assignment: Assignment) -> list[dict[str, Any]]:
    """The dialogue so far, each utterance with the turn that undo takes."""
    fields = ("position", "speaker", "text", "action", "source", "edit_distance")
    rows = Utterance.objects.filter(dialogue=assignment.dialogue_id).order_by("position")
    return list(rows.values(*fields, turn_id=F("turn")))


def latest_request(assignment: Assignment) -> CandidateRequest | None:
    """The newest request for the turn that is to be written; None at the opening."""
    return generation.latest_request(assignment.dialogue) if assignment.dialogue.utterance_count else None


def openings_of(assignments: Sequence[Assignment]) -> dict[int, str]:
    """The first 80 characters of each dialogue, by dialogue id."""
    first = Utterance.objects.filter(dialogue__in=[row.dialogue_id for row in assignments], position=0)
    return {dialogue: text[:80] for dialogue, text in first.values_list("dialogue_id", "text")}
