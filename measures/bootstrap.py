"""95 % intervals by drawing the items again (percentile bootstrap; Efron, 1979), for 100,000 items in a second.

Items that look the same are counted once: a resample is a row of weights over the distinct ones, and a statistic is a
function of such rows. Its value on the data itself is the same function of the true counts.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from measures.estimate import Estimate

REPLICATES = 1000
SEED = 20_171_205
WIDE = 32  # columns; wider rows rarely repeat and take long to compare
LARGEST = 2**62
CELLS = 4_000_000  # weights held at a time: 32 MB

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
"""Weights of shape (resamples, patterns) to one value a resample, NaN where it is undefined."""


def distinct(rows: Ints) -> tuple[Ints, Ints]:
    """The different rows of an (items, columns) table, and how many items show each; wide rows stay as they are."""
    if rows.shape[0] == 0 or rows.shape[1] > WIDE:
        return rows, np.ones(rows.shape[0], np.int64)
    base = int(rows.max()) + 1
    if rows.min() < 0 or base ** rows.shape[1] > LARGEST:
        patterns, counts = np.unique(rows, axis=0, return_counts=True)
        return patterns, counts.astype(np.int64)
    # Small counts fit one number, whose digits they are: numbers are sorted much faster than rows.
    powers = base ** np.arange(rows.shape[1] - 1, -1, -1, dtype=np.int64)
    keys, counts = np.unique(rows @ powers, return_counts=True)
    return keys[:, None] // powers % base, counts.astype(np.int64)


def resamples(counts: Ints, *, replicates: int = REPLICATES, seed: int = SEED) -> Iterator[Floats]:
    """Blocks of weights, (≤ replicates, patterns): each row is n items drawn with replacement.

    counts: shape (patterns,), how many of the n items show each pattern.
    """
    rng, n, width = np.random.default_rng(seed), int(counts.sum()), counts.size
    block = max(1, CELLS // max(1, width))
    few = width * 8 < n
    owners = np.empty(0, np.int64) if few else np.repeat(np.arange(width), counts)
    for start in range(0, replicates, block):
        size = min(block, replicates - start)
        if few:
            yield rng.multinomial(n, counts / n, size=size).astype(np.float64)
        else:
            draws = (np.bincount(owners[rng.integers(0, n, n)], minlength=width) for _ in range(size))
            yield np.stack(list(draws)).astype(np.float64)


def bootstrapped(
    statistic: Statistic,
    counts: Ints,
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
    left_out: int = 0,
) -> Estimate:
    """The statistic of the items and its interval; None where undefined, no interval from fewer than two items."""
    n = int(counts.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(counts[None, :].astype(np.float64))[0]) if n else float("nan")
        if not np.isfinite(value):
            return Estimate(None, None, None, n, left_out)
        if n < 2 or replicates == 0:
            return Estimate(value, None, None, n, left_out)
        drawn = np.concatenate(
            [statistic(block) for block in resamples(counts, replicates=replicates, seed=seed)]
        )
    low, high = percentiles(drawn)
    return Estimate(value, low, high, n, left_out)


def percentiles(drawn: Floats) -> tuple[float, float] | tuple[None, None]:
    """The middle 95 % of resampled values; None when most resamples leave the statistic undefined."""
    known = drawn[np.isfinite(drawn)]
    if known.size * 2 < drawn.size:
        return None, None
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)


def bootstrapped_mean(values: Floats, *, seed: int = SEED, left_out: int = 0) -> Estimate:
    """Mean of one value an item, shape (items,), with its interval; None without items."""
    return bootstrapped(
        lambda weights: (weights @ values) / weights.sum(axis=1),
        np.ones(values.size, np.int64),
        seed=seed,
        left_out=left_out,
    )


def clustered_ratio(
    tops: Floats, bottoms: Floats, clusters: Sequence[Hashable], *, seed: int = SEED, left_out: int = 0
) -> Estimate:
    """Sum of `tops` over sum of `bottoms`, both of shape (items,), with its interval by drawing whole clusters.

    clusters: which one each item belongs to. Items of one cluster, such as the turns of a dialogue, are not
    independent, and drawing them one by one would make the interval too narrow. n counts items; no interval from fewer
    than two clusters. Source: Davison & Hinkley, Bootstrap Methods and their Application (1997), section 3.8.
    """
    numbers: dict[Hashable, int] = {}
    places = np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], np.int64)
    if not places.shape == tops.shape == bottoms.shape:
        raise ValueError("Every item needs a cluster.")
    above, below = (np.bincount(places, weights=values, minlength=len(numbers)) for values in (tops, bottoms))
    made = bootstrapped(
        lambda weights: (weights @ above) / (weights @ below), np.ones(len(numbers), np.int64), seed=seed
    )
    return replace(made, n=tops.size, left_out=left_out)


def clustered_mean(
    values: Floats, clusters: Sequence[Hashable], *, seed: int = SEED, left_out: int = 0
) -> Estimate:
    """Mean of one value an item, shape (items,), with its interval by drawing whole clusters."""
    return clustered_ratio(values, np.ones_like(values), clusters, seed=seed, left_out=left_out)
