"""Compares two systems that were given the same contexts."""

from collections.abc import Mapping

import numpy as np
from scipy.stats import wilcoxon


def better_on_same_contexts(one: Mapping[int, float], other: Mapping[int, float]) -> float | None:
    """p of the one-sided signed-rank test (Wilcoxon, 1945) that `one` scores higher than `other`.

    one, other: a score by the number of the context. Only contexts of both count, and contexts without a difference
    drop out. None if nothing is left.
    """
    shared = one.keys() & other.keys()
    differences = np.array([one[context] - other[context] for context in shared])
    differences = differences[differences != 0]
    if differences.size == 0:
        return None
    return float(wilcoxon(differences, alternative="greater").pvalue)
