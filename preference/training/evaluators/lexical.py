"""A baseline that reads the reply alone: an evaluator that does not beat it has learned nothing of the context.

Logistic regression on TF-IDF of n-grams, words and characters as in `assessor.classical`, fitted on the split train
of a snapshot: replies that people wrote against the candidates that they passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression

from preference.training.assessor.classical import NGrams
from preference.training.common.dialogues import read_dialogues
from preference.training.common.evaluators import ReplyScore, ReplyToScore
from preference.training.common.output import sha256_of
from preference.training.joint.evaluation.command import dialogues_of_split

MAX_ITERATIONS = 1000


@dataclass(frozen=True, slots=True)
class Lexical:
    """Log-odds that a person wrote the reply. n_replies: that it was fitted on."""

    name: str
    n_grams: NGrams
    model: LogisticRegression
    data_sha256: str
    n_replies: int

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        if not replies:
            return []
        features = self.n_grams.transform([reply.response for reply in replies])
        log_odds = self.model.decision_function(features)
        return [ReplyScore(reply.id, float(value)) for reply, value in zip(replies, log_odds, strict=True)]

    def describe(self) -> dict[str, Any]:
        return {"evaluator": "lexical", "data_sha256": self.data_sha256, "n_replies": self.n_replies}


def fit_lexical(data: Path, *, name: str = "lexical") -> Lexical:
    """Fit on the split train of a snapshot folder or JSONL file. Raises TrainingError if it has no turns."""
    turns = [turn for each in dialogues_of_split(read_dialogues(data), "train", data) for turn in each.turns]
    texts = [text for turn in turns for text in (turn.human, *turn.candidates)]
    is_human = [place == 0 for turn in turns for place in range(1 + len(turn.candidates))]
    n_grams = NGrams()
    features = n_grams.fit_transform(texts)
    # Balanced, because every human reply stands against several candidates.
    model = LogisticRegression(class_weight="balanced", max_iter=MAX_ITERATIONS).fit(features, is_human)
    return Lexical(name, n_grams, model, sha256_of(data), len(texts))
