"""How well scores rank systems: correlation of each system's mean score with people's mean score for it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from measures.bootstrap import Floats
from measures.correlation import Numbers, kendall, known_pairs, pearson, spearman
from measures.estimate import Estimate, undefined
from measures.proportion import Z_95

FEWEST_SYSTEMS = 3  # two always correlate with 1 or -1


@dataclass(frozen=True, slots=True)
class SystemMeans:
    """A system's mean scores over the n items that have both."""

    system: str
    score: float
    human: float
    n: int


@dataclass(frozen=True, slots=True)
class SystemCorrelation:
    """Correlations over systems (Ji et al., 2022, Tables 5 and 6); n counts systems.

    None for fewer than FEWEST_SYSTEMS, or if a mean does not vary. The intervals use Fisher's z: with the few systems
    that a study has, a bootstrap over systems makes them much too narrow.
    """

    means: tuple[SystemMeans, ...]
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate


def system_correlation(scores: Numbers, human: Numbers, systems: Sequence[str]) -> SystemCorrelation:
    """Items without one of the scores, or without a system, "", are left out. Raises ValueError for unequal lengths."""
    pairs = known_pairs(scores, human, systems)
    means = tuple(
        SystemMeans(name, *_means(pairs.x, pairs.y, [each == name for each in pairs.clusters]))
        for name in dict.fromkeys(systems)
        if name and name in pairs.clusters
    )
    if len(means) < FEWEST_SYSTEMS:
        return SystemCorrelation(means, *[undefined(len(means))] * 3)
    x, y = [each.score for each in means], [each.human for each in means]
    return SystemCorrelation(
        means,
        pearson=_with_interval(pearson(x, y, replicates=0), variance=1.0, lost=3),
        spearman=_with_interval(spearman(x, y, replicates=0), variance=1.06, lost=3),
        kendall=_with_interval(kendall(x, y, replicates=0), variance=0.437, lost=4),
    )


def _with_interval(estimate: Estimate, *, variance: float, lost: int) -> Estimate:
    """atanh of a correlation has the variance `variance` / (n - lost) (Fieller, Hartley & Pearson, 1957).

    No interval for a correlation of 1 or -1, or for n up to `lost`.
    """
    value, n = estimate.value, estimate.n
    if value is None or n <= lost or abs(value) > 1 - 1e-12:
        return estimate
    half = Z_95 * math.sqrt(variance / (n - lost))
    return replace(
        estimate, low=math.tanh(math.atanh(value) - half), high=math.tanh(math.atanh(value) + half)
    )


def _means(scores: Floats, human: Floats, rows: Sequence[bool]) -> tuple[float, float, int]:
    chosen = np.array(rows)
    return float(scores[chosen].mean()), float(human[chosen].mean()), int(chosen.sum())
