"""A trained topic tagger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preference.training.assessor.assessor import load_assessor
from preference.training.topics.tagged import DialogueToTag, TaggedDialogue


class TopicTagger:
    """The most probable topic of dialogues, by the classifier in a folder."""

    def __init__(self, folder: Path, *, device: str = "auto") -> None:
        """Raises TrainingError if the folder holds something else."""
        self._classifier = load_assessor(folder, device=device, name="topics")

    def score(self, dialogues: Sequence[DialogueToTag], /) -> list[TaggedDialogue]:
        """One topic for each dialogue, in their order. Raises TrainingError if a dialogue does not fit into memory."""
        table = self._classifier.class_probabilities([one.turns for one in dialogues])
        topics = self._classifier.task.classes
        return [
            TaggedDialogue(one.id, str(topics[int(row.argmax())]), float(row.max()))
            for one, row in zip(dialogues, table, strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        """What decides about the topics."""
        return {**self._classifier.describe(), "evaluator": "topics"}
