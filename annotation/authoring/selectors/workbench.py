"""What the authoring workbench shows."""

from collections.abc import Sequence
from typing import Any

from django.db.models import F
from django.db.models.functions import Left

from annotation.tasks.models.work import Assignment
from dialogues.models import Utterance
from generation import selectors as generation
from generation.models import CandidateRequest

OPENING_LENGTH = 80  # characters


def list_utterances(assignment: Assignment) -> list[dict[str, Any]]:
    """The dialogue so far. turn_id: the turn to undo, None for an imported utterance."""
    fields = ("position", "speaker", "text", "action", "source", "edit_distance")
    rows = Utterance.objects.filter(dialogue=assignment.dialogue_id).order_by("position")
    return list(rows.values(*fields, turn_id=F("turn")))


def latest_request(assignment: Assignment) -> CandidateRequest | None:
    """The newest request for the turn to be written next; None at the opening."""
    return generation.latest_request(assignment.dialogue) if assignment.dialogue.utterance_count else None


def openings_by_dialogue(assignments: Sequence[Assignment]) -> dict[int, str]:
    """The beginning of each dialogue, by dialogue id."""
    first = Utterance.objects.filter(dialogue__in=[row.dialogue_id for row in assignments], position=0)
    return dict(first.values_list("dialogue_id", Left("text", OPENING_LENGTH)))
