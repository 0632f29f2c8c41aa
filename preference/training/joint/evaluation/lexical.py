"""A ranking without a context: logistic regression on n-grams of the reply.

Fitted on what people wrote against the candidates that they passed over. A model that ranks no better has not been
shown to read the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sklearn.linear_model import LogisticRegression

from preference.training.common.dialogues import TrainingDialogue
from preference.training.common.n_grams import NGrams

MAX_ITERATIONS = 1000


@dataclass(frozen=True, slots=True)
class LexicalRanker:
    """n_replies: that it was fitted on."""

    n_grams: NGrams
    model: LogisticRegression
    n_replies: int

    def log_odds(self, texts: Sequence[str]) -> list[float]:
        """For each text, the log-odds that a person wrote it."""
        if not texts:
            return []
        return [float(value) for value in self.model.decision_function(self.n_grams.transform(texts))]


def fit_lexical_ranker(dialogues: Sequence[TrainingDialogue]) -> LexicalRanker:
    """dialogues: at least one of them with a turn."""
    turns = [turn for dialogue in dialogues for turn in dialogue.turns]
    texts = [text for turn in turns for text in (turn.human, *turn.candidates)]
    is_human = [place == 0 for turn in turns for place in range(1 + len(turn.candidates))]
    n_grams = NGrams()
    features = n_grams.fit_transform(texts)
    # Balanced, because every human reply stands against several candidates.
    model = LogisticRegression(class_weight="balanced", max_iter=MAX_ITERATIONS).fit(features, is_human)
    return LexicalRanker(n_grams, model, len(texts))
