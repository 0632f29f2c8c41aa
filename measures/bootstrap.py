"""95 % intervals by resampling items (percentile bootstrap; Efron, 1979); 100,000 items take about a second.

Equal items are grouped into patterns. A resample is a row of weights over the patterns, and a statistic is a function
of such rows. Its value on the data is the same function of the observed counts.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from measures.estimate import Estimate

REPLICATES = 1000
SEED = 20_171_205
MAX_COLUMNS = 32  # wider rows rarely repeat and are slow to compare
MAX_KEY = 2**62
BLOCK_CELLS = 4_000_000  # weights in memory at a time: 32 MB

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Statistic = Callable[[Floats], Floats]
"""From weights, shape (resamples, patterns), to one value per resample, shape (resamples,); NaN if undefined."""


def distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The distinct rows of a table, shape (items, columns), and how many items have each. Wide rows stay ungrouped."""
    if rows.shape[0] == 0 or rows.shape[1] > MAX_COLUMNS:
        return rows, np.ones(rows.shape[0], np.int64)
    base = int(rows.max()) + 1
    if rows.min() < 0 or base ** rows.shape[1] > MAX_KEY:
        patterns, counts = np.unique(rows, axis=0, return_counts=True)
        return patterns, counts.astype(np.int64)
    # Encode each row as one number with these digits, because numbers sort much faster than rows.
    powers = base ** np.arange(rows.shape[1] - 1, -1, -1, dtype=np.int64)
    keys, counts = np.unique(rows @ powers, return_counts=True)
    return keys[:, None] // powers % base, counts.astype(np.int64)


def resamples(counts: Ints, *, replicates: int = REPLICATES, seed: int = SEED) -> Iterator[Floats]:
    """Yield blocks of weights, shape (at most replicates, patterns); each row is n items drawn with replacement.

    counts: the number of items with each pattern, shape (patterns,); n is their sum.
    """
    rng, n, width = np.random.default_rng(seed), int(counts.sum()), counts.size
    block = max(1, BLOCK_CELLS // max(1, width))
    has_few_patterns = width * 8 < n
    owners = np.empty(0, np.int64) if has_few_patterns else np.repeat(np.arange(width), counts)
    for start in range(0, replicates, block):
        size = min(block, replicates - start)
        if has_few_patterns:
            yield rng.multinomial(n, counts / n, size=size).astype(np.float64)
        else:
            draws = (np.bincount(owners[rng.integers(0, n, n)], minlength=width) for _ in range(size))
            yield np.stack(list(draws)).astype(np.float64)


def bootstrap_estimate(
    statistic: Statistic,
    counts: Ints,
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
    left_out: int = 0,
) -> Estimate:
    """The statistic with its interval. None if it is undefined; no interval for fewer than two items."""
    n = int(counts.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(counts[None, :].astype(np.float64))[0]) if n else float("nan")
        if not np.isfinite(value):
            return Estimate(None, None, None, n, left_out)
        if n < 2 or replicates == 0:
            return Estimate(value, None, None, n, left_out)
        resampled = np.concatenate(
            [statistic(block) for block in resamples(counts, replicates=replicates, seed=seed)]
        )
    low, high = percentile_interval(resampled)
    return Estimate(value, low, high, n, left_out)


def number_clusters(clusters: Sequence[Hashable]) -> Ints:
    """The number of each item's cluster, shape (items,), counted from 0 in the order in which they occur."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], np.int64)


def clustered_estimate(
    statistic: Statistic,
    clusters: Sequence[Hashable],
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
    left_out: int = 0,
) -> Estimate:
    """A statistic of weights over items, with an interval that resamples whole clusters. n counts items.

    clusters: the cluster of each item. No interval for fewer than two clusters.
    """
    places = number_clusters(clusters)
    estimate = bootstrap_estimate(
        lambda weights: statistic(weights[:, places]),
        np.ones(places.max(initial=-1) + 1, np.int64),
        replicates=replicates,
        seed=seed,
    )
    return replace(estimate, n=places.size, left_out=left_out)


def clustered_standard_error(influence: Floats, clusters: Sequence[Hashable]) -> float:
    """The standard error of a statistic from each item's influence on it, shape (items,), with mean 0.

    Items of one cluster are not independent, so their influences are added up first. NaN for fewer than two clusters.
    """
    sums = np.bincount(number_clusters(clusters), influence)
    if sums.size < 2:
        return float("nan")
    return float(np.sqrt(sums.size / (sums.size - 1) * (sums**2).sum())) / influence.size


def percentile_interval(resampled: Floats) -> tuple[float, float] | tuple[None, None]:
    """The middle 95 % of the resampled values; None if the statistic is undefined in most resamples."""
    defined = resampled[np.isfinite(resampled)]
    if defined.size * 2 < resampled.size:
        return None, None
    low, high = np.percentile(defined, [2.5, 97.5])
    return float(low), float(high)


def bootstrap_mean(values: Floats, *, seed: int = SEED, left_out: int = 0) -> Estimate:
    """The mean of values, shape (items,), with its interval; None without items."""
    return bootstrap_estimate(
        lambda weights: (weights @ values) / weights.sum(axis=1),
        np.ones(values.size, np.int64),
        seed=seed,
        left_out=left_out,
    )


def clustered_ratio(
    numerators: Floats,
    denominators: Floats,
    clusters: Sequence[Hashable],
    *,
    seed: int = SEED,
    left_out: int = 0,
) -> Estimate:
    """The sum of numerators over the sum of denominators, both of shape (items,); resamples whole clusters.

    clusters: the cluster of each item. Items of one cluster, such as the turns of a dialogue, are not independent, so
    resampling single items would make the interval too narrow. n counts items; no interval for fewer than two clusters.
    Raises ValueError for unequal lengths. Source: Davison & Hinkley, Bootstrap Methods and their Application (1997),
    section 3.8.
    """
    places = number_clusters(clusters)
    if not places.shape == numerators.shape == denominators.shape:
        raise ValueError("Every item needs a cluster.")
    numerator_sums, denominator_sums = (
        np.bincount(places, weights=values) for values in (numerators, denominators)
    )
    estimate = bootstrap_estimate(
        lambda weights: (weights @ numerator_sums) / (weights @ denominator_sums),
        np.ones(numerator_sums.size, np.int64),
        seed=seed,
    )
    return replace(estimate, n=numerators.size, left_out=left_out)


def clustered_mean(
    values: Floats, clusters: Sequence[Hashable], *, seed: int = SEED, left_out: int = 0
) -> Estimate:
    """The mean of values, shape (items,). The interval resamples whole clusters."""
    return clustered_ratio(values, np.ones_like(values), clusters, seed=seed, left_out=left_out)
