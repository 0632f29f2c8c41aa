"""Pearson's r, Spearman's ρ and Kendall's τ_b with 95 % intervals; None if one of the variables does not vary."""

import math
from collections.abc import Sequence

import numpy as np

from measures.bootstrap import (
    REPLICATES,
    SEED,
    Floats,
    Ints,
    bootstrap_estimate,
    percentile_interval,
    resamples,
)
from measures.estimate import Estimate, undefined
from measures.proportion import Z_95

BOOTSTRAP_UP_TO = 2000  # pairs; a resample of τ takes time quadratic in them

Numbers = Sequence[float | None] | Floats


def pearson(x: Numbers, y: Numbers, *, replicates: int = REPLICATES, seed: int = SEED) -> Estimate:
    """Linear correlation; the interval resamples pairs. Pairs with None or NaN are left out."""
    known_x, known_y, left_out = _known_pairs(x, y)
    if _is_constant(known_x, known_y):
        return undefined(known_x.size, left_out)
    columns = np.column_stack([_scaled(known_x), _scaled(known_y)])
    table = np.column_stack([columns, columns**2, columns[:, 0] * columns[:, 1]])

    def correlation(weights: Floats) -> Floats:
        mean_x, mean_y, square_x, square_y, product = (weights @ table / weights.sum(axis=1)[:, None]).T
        return _ratio(product - mean_x * mean_y, square_x - mean_x**2, square_y - mean_y**2)

    ones = np.ones(known_x.size, np.int64)
    return bootstrap_estimate(correlation, ones, replicates=replicates, seed=seed, left_out=left_out)


def spearman(x: Numbers, y: Numbers, *, replicates: int = REPLICATES, seed: int = SEED) -> Estimate:
    """Correlation of mid-ranks, which are ranked again in every resample. Pairs with None or NaN are left out."""
    known_x, known_y, left_out = _known_pairs(x, y)
    if _is_constant(known_x, known_y):
        return undefined(known_x.size, left_out)
    codes_x, codes_y = _dense_ranks(known_x), _dense_ranks(known_y)

    def correlation(weights: Floats) -> Floats:
        return np.array([_rank_correlation(row, codes_x, codes_y) for row in weights])

    ones = np.ones(known_x.size, np.int64)
    return bootstrap_estimate(correlation, ones, replicates=replicates, seed=seed, left_out=left_out)


def kendall(
    x: Numbers,
    y: Numbers,
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
    bootstrap_up_to: int = BOOTSTRAP_UP_TO,
) -> Estimate:
    """Kendall's τ_b. Pairs with None or NaN are left out.

    The interval is a bootstrap up to `bootstrap_up_to` pairs. Above, where a bootstrap takes minutes and gives the same
    result, it is τ ± 1.96 standard errors from each pair's influence on τ (delta method), in O(n log² n).
    """
    known_x, known_y, left_out = _known_pairs(x, y)
    n = known_x.size
    if _is_constant(known_x, known_y):
        return undefined(n, left_out)
    codes_x, codes_y = _dense_ranks(known_x), _dense_ranks(known_y)
    value, error = _tau(codes_x, codes_y)
    if replicates == 0 or n < 3:
        return Estimate(value, None, None, n, left_out)
    if n <= bootstrap_up_to:
        low, high = percentile_interval(_resampled_taus(codes_x, codes_y, replicates, seed))
        return Estimate(value, low, high, n, left_out)
    return Estimate(value, max(-1.0, value - Z_95 * error), min(1.0, value + Z_95 * error), n, left_out)


def _tau(x: Ints, y: Ints) -> tuple[float, float]:
    """τ_b of dense ranks and its standard error."""
    n = x.size
    signs = (_count_below(x, y) + _count_below(-x, -y) - _count_below(x, -y) - _count_below(-x, y)) / n
    free_x, free_y = 1 - np.bincount(x)[x] / n, 1 - np.bincount(y)[y] / n
    scale = math.sqrt(float(free_x.mean() * free_y.mean()))
    value = float(signs.mean()) / scale
    ties = (free_x / free_x.mean() + free_y / free_y.mean() - 2) * value
    influence = 2 * (signs - signs.mean()) / scale - ties
    return max(-1.0, min(1.0, value)), float(influence.std(ddof=1)) / math.sqrt(n)


def _resampled_taus(x: Ints, y: Ints, replicates: int, seed: int) -> Floats:
    signs = (np.sign(x[:, None] - x) * np.sign(y[:, None] - y)).astype(np.float32)
    in_x, in_y = np.eye(x.max() + 1)[x], np.eye(y.max() + 1)[y]
    resampled = []
    for weights in resamples(np.ones(x.size, np.int64), replicates=replicates, seed=seed):
        concordance = np.einsum("bi,bi->b", weights.astype(np.float32) @ signs, weights, dtype=np.float64)
        pairs = weights.sum(axis=1) ** 2
        free_x = pairs - ((weights @ in_x) ** 2).sum(axis=1)
        free_y = pairs - ((weights @ in_y) ** 2).sum(axis=1)
        resampled.append(_ratio(concordance, free_x, free_y))
    return np.concatenate(resampled)


def _count_below(x: Ints, y: Ints) -> Floats:
    """The number of points strictly below each point in both coordinates, shape (n,), bit by bit of y's ranks."""
    ranks = y - y.min()
    order = np.lexsort((-ranks, x))
    ranks = ranks[order]
    below = np.zeros(x.size)
    for bit in range(int(ranks.max()).bit_length()):
        group = ranks >> (bit + 1)
        places = np.argsort(group, kind="stable")
        zeros = 1 - ((ranks[places] >> bit) & 1)
        before = np.cumsum(zeros) - zeros
        first = np.searchsorted(group[places], group[places], side="left")
        below[places] += np.where(zeros == 0, before - before[first], 0)
    counted = np.empty(x.size)
    counted[order] = below
    return counted


def _rank_correlation(weights: Floats, x: Ints, y: Ints) -> float:
    ranks_x, ranks_y = _weighted_ranks(weights, x), _weighted_ranks(weights, y)
    product = float(weights @ (ranks_x * ranks_y))
    squares = float(weights @ ranks_x**2) * float(weights @ ranks_y**2)
    return product / math.sqrt(squares) if squares > 0 else math.nan


def _weighted_ranks(weights: Floats, codes: Ints) -> Floats:
    """Mid-ranks minus their mean, if item i occurs weights[i] times."""
    times = np.bincount(codes, weights)
    ranks: Floats = (np.cumsum(times) - times / 2 - weights.sum() / 2)[codes]
    return ranks


def _ratio(product: Floats, one: Floats, other: Floats) -> Floats:
    product, scale = np.asarray(product, np.float64), one * other
    is_defined = (one > 1e-12) & (other > 1e-12)
    ratio: Floats = np.full(product.shape, np.nan)
    np.divide(product, np.sqrt(np.where(is_defined, scale, 1.0)), out=ratio, where=is_defined)
    return np.clip(ratio, -1.0, 1.0)


def _known_pairs(x: Numbers, y: Numbers) -> tuple[Floats, Floats, int]:
    """The pairs of which both values are known, and the number of others. Raises ValueError for unequal lengths."""
    left, right = (np.array([np.nan if v is None else v for v in side], np.float64) for side in (x, y))
    if left.shape != right.shape:
        raise ValueError(f"{left.size} values cannot be paired with {right.size}.")
    known = np.isfinite(left) & np.isfinite(right)
    return left[known], right[known], int((~known).sum())


def _is_constant(x: Floats, y: Floats) -> bool:
    return x.size < 2 or bool(x.min() == x.max() or y.min() == y.max())


def _scaled(values: Floats) -> Floats:
    centred = values - values.mean()
    scaled: Floats = centred / max(float(np.abs(centred).max()), 1e-300)
    return scaled


def _dense_ranks(values: Floats) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)
