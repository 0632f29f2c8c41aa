"""Compares systems by the scores of their dialogues, context by context where they were given the same ones."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from measures.bootstrap import Floats
from measures.reliability import one_sided_p_values

# Of the standard normal distribution: 97.5 % for a two-sided test at 0.05, 80 % for the power.
NEEDED_Z: Final = 1.959964 + 0.841621
# Fewer can never reach p < 0.05, two-sided: 2 / 2⁶ for pairs, 2 / 70 for two samples.
FEWEST_PAIRS: Final = 6
FEWEST_OF_EACH: Final = 4

# So few differences are permuted: 2¹³ signs. SciPy permutes as many where ranks are tied, one by one in 10 s.
PERMUTED: Final = 13

Scores = Mapping[int, float]  # by the number of the context


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """Two systems by one criterion, the one with the higher mean first.

    p: two-sided, adjusted for the number of pairs (Holm, 1979); None if nothing can be compared or nothing differs.
    n: contexts that both were given, or the dialogues of the smaller sample. needed: how many would show a difference
    of this size at 0.05 with a power of 0.8; None without a difference.
    """

    better: str
    worse: str
    means: tuple[float, float]
    p: float | None
    n: int
    needed: int | None

    def is_significant(self, level: float = 0.05) -> bool:
        return self.p is not None and self.p < level


def better_on_same_contexts(one: Scores, other: Scores) -> float | None:
    """p of the one-sided signed-rank test (Wilcoxon, 1945) that `one` scores higher than `other`.

    Only contexts of both count, and contexts without a difference drop out. None if nothing is left.
    """
    differences = _differences(one, other)
    differences = differences[differences != 0]
    if differences.size == 0:
        return None
    if differences.size == 1:  # two signs, which SciPy refuses to permute
        return 0.5 if differences[0] > 0 else 1.0
    from scipy import stats  # 0.7 s to import, which every process would take to start

    if differences.size > PERMUTED:
        return float(stats.wilcoxon(differences, alternative="greater").pvalue)
    ranks = stats.rankdata(np.abs(differences))
    test = stats.permutation_test(
        (differences,),
        lambda signed, axis: np.sum((signed > 0) * ranks, axis=axis),
        permutation_type="samples",
        n_resamples=math.inf,
        alternative="greater",
    )
    return float(test.pvalue)


def compare_systems(scores: Mapping[str, Scores], *, is_paired: bool) -> tuple[SystemComparison, ...]:
    """Every two systems once, by one criterion.

    is_paired: whether equal numbers are equal contexts; otherwise systems are compared as independent samples.
    """
    compare = _compare_pairs if is_paired else _compare_samples
    found = [compare(one, other, scores) for one, other in itertools.combinations(sorted(scores), 2)]
    adjusted = holm([each.p for each in found])
    return tuple(replace(each, p=p) for each, p in zip(found, adjusted, strict=True))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p values adjusted for their number, so that the chance of any false finding stays at the level (Holm, 1979)."""
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(tested):
        highest = max(highest, min(1.0, p * (len(tested) - rank)))
        adjusted[place] = highest
    return adjusted


def _compare_pairs(one: str, other: str, scores: Mapping[str, Scores]) -> SystemComparison:
    shared = sorted(scores[one].keys() & scores[other].keys())
    means = _mean([scores[one][n] for n in shared]), _mean([scores[other][n] for n in shared])
    p = _two_sided(
        better_on_same_contexts(scores[one], scores[other]),
        better_on_same_contexts(scores[other], scores[one]),
    )
    variance = _variance(_differences(scores[one], scores[other]))
    needed = _needed(variance, means[0] - means[1], FEWEST_PAIRS)
    return _ordered(one, other, means, p, len(shared), needed)


def _compare_samples(one: str, other: str, scores: Mapping[str, Scores]) -> SystemComparison:
    first, second = (np.array(list(scores[name].values()), np.float64) for name in (one, other))
    p = _two_sided(*one_sided_p_values([(first, second), (second, first)]))
    means = _mean(first.tolist()), _mean(second.tolist())
    needed = _needed(_variance(first) + _variance(second), means[0] - means[1], FEWEST_OF_EACH)
    return _ordered(one, other, means, p, min(first.size, second.size), needed)


def _ordered(
    one: str, other: str, means: tuple[float, float], p: float | None, n: int, needed: int | None
) -> SystemComparison:
    if means[1] > means[0]:
        return SystemComparison(other, one, (means[1], means[0]), p, n, needed)
    return SystemComparison(one, other, means, p, n, needed)


def _differences(one: Scores, other: Scores) -> Floats:
    return np.array([one[context] - other[context] for context in sorted(one.keys() & other.keys())])


def _two_sided(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else min(1.0, 2 * min(first, second))


def _needed(variance: float, difference: float, fewest: int) -> int | None:
    """By the normal approximation."""
    if difference == 0 or not math.isfinite(variance):
        return None
    return max(fewest, math.ceil(NEEDED_Z**2 * variance / difference**2))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _variance(values: Floats) -> float:
    return float(values.var(ddof=1)) if values.size > 1 else math.nan
