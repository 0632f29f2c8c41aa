"""Texts as TF-IDF of n-grams, for baselines without a neural network.

Words (1 and 2 of them) are found in text with spaces; characters (1 to 4) in all text. A Chinese text has no spaces
and gives characters only, where 1 to 4 of them are about as much as 1 or 2 words. N-grams are hashed into columns,
because a dictionary of those of 100,000 dialogues takes gigabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import FeatureUnion

# Letters and digits, but no Chinese characters: those have no words between spaces.
WORD = r"[^\W_\u3400-\u9fff]+"
COLUMNS = 2**18  # of each kind of n-gram
LEAST_TEXTS = 2  # that have an n-gram; others say nothing about new texts, and cost time


class NGrams:
    """From texts to a sparse table of TF-IDF, shape (texts, columns), with what it learned from the training texts."""

    def __init__(self) -> None:
        words = _hashed(analyzer="word", token_pattern=WORD, ngram_range=(1, 2))
        characters = _hashed(analyzer="char", ngram_range=(1, 4))
        self._counts = FeatureUnion([("words", words), ("characters", characters)])
        self._weights = TfidfTransformer(sublinear_tf=True)
        self._columns = np.zeros(0, np.int64)

    def fit_transform(self, texts: Sequence[str]) -> Any:
        counts = self._counts.fit_transform(texts).tocsr()
        self._columns = np.flatnonzero(counts.getnnz(axis=0) >= LEAST_TEXTS)
        return self._weights.fit_transform(counts[:, self._columns])

    def transform(self, texts: Sequence[str]) -> Any:
        return self._weights.transform(self._counts.transform(texts).tocsr()[:, self._columns])


def _hashed(**options: Any) -> HashingVectorizer:
    # Without signs, because naive Bayes and chi² take counts.
    return HashingVectorizer(n_features=COLUMNS, alternate_sign=False, norm=None, dtype=np.float32, **options)
