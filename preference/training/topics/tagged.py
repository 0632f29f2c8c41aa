"""Rows of the topic tagger: a dialogue that goes in, and its topic that comes out."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from preference.training.assessor.data import Turns
from preference.training.common.json_lines import Row


@dataclass(frozen=True, slots=True)
class DialogueToTag:
    id: str
    turns: Turns


@dataclass(frozen=True, slots=True)
class TaggedDialogue:
    """probability: of the topic, 0 to 1."""

    id: str
    topic: str
    probability: float

    def as_row(self) -> Row:
        """The row of the output file."""
        return asdict(self)
