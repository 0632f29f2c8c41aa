"""How well scores rank systems: correlation of each system's mean score with people's mean score for it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from measures.bootstrap import REPLICATES, SEED, Floats
from measures.correlation import Numbers, kendall, known_pairs, pearson, spearman
from measures.estimate import Estimate, undefined

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
    """Correlations over systems (Ji et al., 2022, Tables 5 and 6); n counts systems, and intervals resample them.

    None for fewer than FEWEST_SYSTEMS, or if a mean does not vary.
    """

    means: tuple[SystemMeans, ...]
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate


def system_correlation(
    scores: Numbers,
    human: Numbers,
    systems: Sequence[str],
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> SystemCorrelation:
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
    estimates = (measure(x, y, replicates=replicates, seed=seed) for measure in (pearson, spearman, kendall))
    return SystemCorrelation(means, *estimates)


def _means(scores: Floats, human: Floats, rows: Sequence[bool]) -> tuple[float, float, int]:
    chosen = np.array(rows)
    return float(scores[chosen].mean()), float(human[chosen].mean()), int(chosen.sum())
