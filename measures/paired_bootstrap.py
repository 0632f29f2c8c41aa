"""Whether two statistics of the same items differ: both come from the same resamples (Efron & Tibshirani, 1993)."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr

from measures.bootstrap import (
    REPLICATES,
    SEED,
    Floats,
    Statistic,
    clustered_standard_error,
    number_clusters,
    percentile_interval,
    resamples,
)
from measures.correlation import BOOTSTRAP_UP_TO, Clusters, KnownPairs, Numbers, known_pairs, to_floats
from measures.correlation_statistics import (
    kendall_statistic,
    pearson_statistic,
    spearman_statistic,
    tau_with_influence,
)
from measures.estimate import Estimate, undefined
from measures.proportion import Z_95

Measure = Literal["pearson", "spearman", "kendall"]
STATISTICS: dict[Measure, Callable[[Floats, Floats], Statistic]] = {
    "pearson": pearson_statistic,
    "spearman": spearman_statistic,
    "kendall": kendall_statistic,
}


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """one, other: the two statistics on the items that both have. difference: one - other.

    p: two-sided, of the hypothesis that both are equal. None for what is undefined.
    """

    one: float | None
    other: float | None
    difference: Estimate
    p: float | None


def paired_difference(
    one: Statistic,
    other: Statistic,
    clusters: Sequence[Hashable],
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
    left_out: int = 0,
) -> PairedDifference:
    """The difference of two statistics of weights over the same items, by resampling whole clusters.

    clusters: the cluster of each item. p is twice the smaller share of resamples with a difference of at most, or at
    least, 0; the data count as one resample more, so that p is never 0 (Davison & Hinkley, 1997, section 4.2).
    """
    places = number_clusters(clusters)
    ones = np.ones((1, places.size))
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (float(each(ones)[0]) if places.size else math.nan for each in (one, other))
    if not (math.isfinite(first) and math.isfinite(second)):
        return PairedDifference(_known(first), _known(second), undefined(places.size, left_out), None)
    count = int(places.max()) + 1
    if count < 2 or replicates == 0:
        return PairedDifference(
            first, second, Estimate(first - second, None, None, places.size, left_out), None
        )
    blocks = resamples(np.ones(count, np.int64), replicates=replicates, seed=seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = np.concatenate([one(block[:, places]) - other(block[:, places]) for block in blocks])
    low, high = percentile_interval(drawn)
    estimate = Estimate(first - second, low, high, places.size, left_out)
    return PairedDifference(first, second, estimate, None if low is None else _p_value(drawn))


def correlation_difference(
    one: Numbers,
    other: Numbers,
    human: Numbers,
    *,
    measure: Measure = "spearman",
    clusters: Clusters | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> PairedDifference:
    """How much better `one` correlates with `human` than `other` does, on the items that have all three values.

    Above BOOTSTRAP_UP_TO items the interval and p of Kendall's τ are those of the delta method. Raises ValueError for
    unequal lengths.
    """
    first, second = to_floats(one), to_floats(other)
    if first.shape != second.shape:
        raise ValueError(f"{first.size} values cannot be paired with {second.size}.")
    pairs = known_pairs(np.where(np.isfinite(first), second, np.nan), human, clusters)
    first, second = first[pairs.rows], pairs.x
    if pairs.is_constant or np.ptp(first) == 0:
        return PairedDifference(None, None, undefined(pairs.n, pairs.left_out), None)
    if measure == "kendall" and pairs.n > BOOTSTRAP_UP_TO:
        return _tau_difference(first, second, pairs)
    statistic = STATISTICS[measure]
    return paired_difference(
        statistic(first, pairs.y),
        statistic(second, pairs.y),
        pairs.clusters,
        replicates=replicates,
        seed=seed,
        left_out=pairs.left_out,
    )


def _tau_difference(one: Floats, other: Floats, pairs: KnownPairs) -> PairedDifference:
    (first, influence), (second, other_influence) = (
        tau_with_influence(values, pairs.y) for values in (one, other)
    )
    difference = first - second
    error = clustered_standard_error(influence - other_influence, pairs.clusters)
    if not error > 0:
        estimate = Estimate(difference, None, None, pairs.n, pairs.left_out)
        return PairedDifference(first, second, estimate, None)
    half = Z_95 * error
    estimate = Estimate(difference, difference - half, difference + half, pairs.n, pairs.left_out)
    return PairedDifference(first, second, estimate, float(2 * ndtr(-abs(difference) / error)))


def _p_value(drawn: Floats) -> float:
    defined = drawn[np.isfinite(drawn)]
    fewer = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
    return min(1.0, 2 * (fewer + 1) / (defined.size + 1))


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
