"""Pearson's r, Spearman's ρ and Kendall's τ_b with 95 % intervals; None if one of the variables does not vary.

Items that belong together, such as several replies to one context, can be given as clusters: the interval then
resamples whole clusters.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from measures.bootstrap import (
    REPLICATES,
    SEED,
    Bools,
    Floats,
    Statistic,
    clustered_estimate,
    clustered_standard_error,
)
from measures.correlation_statistics import (
    kendall_statistic,
    pearson_statistic,
    spearman_statistic,
    tau_with_influence,
)
from measures.estimate import Estimate, undefined
from measures.proportion import Z_95

BOOTSTRAP_UP_TO = 2000  # pairs; a resample of τ takes time quadratic in them

Numbers = Sequence[float | None] | Floats
Clusters = Sequence[Hashable]


def pearson(
    x: Numbers,
    y: Numbers,
    *,
    clusters: Clusters | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Estimate:
    """Linear correlation; the interval resamples pairs, or the cluster of each. Pairs with None or NaN are left out."""
    return _estimate(known_pairs(x, y, clusters), pearson_statistic, replicates, seed)


def spearman(
    x: Numbers,
    y: Numbers,
    *,
    clusters: Clusters | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Estimate:
    """Correlation of mid-ranks, which are ranked again in every resample. Pairs with None or NaN are left out."""
    return _estimate(known_pairs(x, y, clusters), spearman_statistic, replicates, seed)


def kendall(
    x: Numbers,
    y: Numbers,
    *,
    clusters: Clusters | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
    bootstrap_up_to: int = BOOTSTRAP_UP_TO,
) -> Estimate:
    """Kendall's τ_b. Pairs with None or NaN are left out.

    The interval is a bootstrap up to `bootstrap_up_to` pairs. Above, where a bootstrap takes minutes and gives the same
    result, it is τ ± 1.96 standard errors from each pair's influence on τ (delta method), in O(n log² n).
    """
    pairs = known_pairs(x, y, clusters)
    if pairs.n <= bootstrap_up_to and replicates and pairs.n > 2:
        return _estimate(pairs, kendall_statistic, replicates, seed)
    if pairs.is_constant:
        return undefined(pairs.n, pairs.left_out)
    value, influence = tau_with_influence(pairs.x, pairs.y)
    if replicates == 0 or pairs.n < 3:
        return Estimate(value, None, None, pairs.n, pairs.left_out)
    half = Z_95 * clustered_standard_error(influence, pairs.clusters)
    return Estimate(value, max(-1.0, value - half), min(1.0, value + half), pairs.n, pairs.left_out)


@dataclass(frozen=True, slots=True, eq=False)
class KnownPairs:
    """The pairs of which both values are known; x, y: shape (n,). rows: which of all pairs they are."""

    x: Floats
    y: Floats
    clusters: Clusters
    rows: Bools

    @property
    def n(self) -> int:
        return int(self.x.size)

    @property
    def left_out(self) -> int:
        return int((~self.rows).sum())

    @property
    def is_constant(self) -> bool:
        """Whether there are fewer than two pairs, or one of the variables does not vary."""
        return self.n < 2 or bool(self.x.min() == self.x.max() or self.y.min() == self.y.max())


def known_pairs(x: Numbers, y: Numbers, clusters: Clusters | None = None) -> KnownPairs:
    """clusters: of each pair; by default every pair is one. Raises ValueError for unequal lengths."""
    left, right = to_floats(x), to_floats(y)
    if left.shape != right.shape:
        raise ValueError(f"{left.size} values cannot be paired with {right.size}.")
    names = range(left.size) if clusters is None else clusters
    if len(names) != left.size:
        raise ValueError("Every pair needs a cluster.")
    known = np.isfinite(left) & np.isfinite(right)
    kept = [name for name, is_known in zip(names, known, strict=True) if is_known]
    return KnownPairs(left[known], right[known], kept, known)


def to_floats(values: Numbers) -> Floats:
    """Values as an array, NaN for None."""
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _estimate(
    pairs: KnownPairs, statistic_of: Callable[[Floats, Floats], Statistic], replicates: int, seed: int
) -> Estimate:
    if pairs.is_constant:
        return undefined(pairs.n, pairs.left_out)
    return clustered_estimate(
        statistic_of(pairs.x, pairs.y),
        pairs.clusters,
        replicates=replicates,
        seed=seed,
        left_out=pairs.left_out,
    )
