"""A baseline that reads the reply alone: an evaluator that does not beat it has learned nothing of the context.

The n-grams of `joint.evaluation.lexical`, fitted on the split train of a snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preference.training.common.dialogues import read_dialogues
from preference.training.common.evaluators import ReplyScore, ReplyToScore
from preference.training.common.output import sha256_of
from preference.training.joint.evaluation.command import dialogues_of_split
from preference.training.joint.evaluation.lexical import LexicalRanker, fit_lexical_ranker


@dataclass(frozen=True, slots=True)
class Lexical:
    """Log-odds that a person wrote the reply."""

    name: str
    ranker: LexicalRanker
    data_sha256: str

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        values = self.ranker.log_odds([reply.response for reply in replies])
        return [ReplyScore(reply.id, value) for reply, value in zip(replies, values, strict=True)]

    def describe(self) -> dict[str, Any]:
        return {
            "evaluator": "lexical",
            "data_sha256": self.data_sha256,
            "n_replies": self.ranker.n_replies,
        }


def fit_lexical(data: Path, *, name: str = "lexical") -> Lexical:
    """Fit on the split train of a snapshot folder or JSONL file. Raises TrainingError if it has no turns."""
    dialogues = dialogues_of_split(read_dialogues(data), "train", data)
    return Lexical(name, fit_lexical_ranker(dialogues), sha256_of(data))
