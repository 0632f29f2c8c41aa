"""Correlations as functions of resampling weights, so that one set of resamples serves several of them.

Each function takes two variables, shape (items,), without missing values, and returns a statistic: from weights, shape
(resamples, items), to one value per resample, NaN where a variable does not vary.
"""

import math

import numpy as np

from measures.bootstrap import Floats, Ints, Statistic


def pearson_statistic(x: Floats, y: Floats) -> Statistic:
    """Linear correlation."""
    columns = np.column_stack([_scaled(x), _scaled(y)])
    table = np.column_stack([columns, columns**2, columns[:, 0] * columns[:, 1]])

    def correlation(weights: Floats) -> Floats:
        mean_x, mean_y, square_x, square_y, product = (weights @ table / weights.sum(axis=1)[:, None]).T
        return _ratio(product - mean_x * mean_y, square_x - mean_x**2, square_y - mean_y**2)

    return correlation


def spearman_statistic(x: Floats, y: Floats) -> Statistic:
    """Correlation of mid-ranks, which are ranked again in every resample."""
    ranks_of_x, ranks_of_y = _centred_ranks(x), _centred_ranks(y)

    def correlation(weights: Floats) -> Floats:
        ranks_x, ranks_y = ranks_of_x(weights), ranks_of_y(weights)
        weighted_x = weights * ranks_x
        product = np.einsum("bi,bi->b", weighted_x, ranks_y)
        square_x = np.einsum("bi,bi->b", weighted_x, ranks_x)
        square_y = np.einsum("bi,bi,bi->b", weights, ranks_y, ranks_y)
        return _ratio(product, square_x, square_y)

    return correlation


def kendall_statistic(x: Floats, y: Floats) -> Statistic:
    """Kendall's τ_b. Takes memory and time quadratic in the number of items."""
    codes_x, codes_y = _dense_ranks(x), _dense_ranks(y)
    signs = (np.sign(codes_x[:, None] - codes_x) * np.sign(codes_y[:, None] - codes_y)).astype(np.float32)
    in_x, in_y = np.eye(codes_x.max() + 1)[codes_x], np.eye(codes_y.max() + 1)[codes_y]

    def correlation(weights: Floats) -> Floats:
        concordance = np.einsum("bi,bi->b", weights.astype(np.float32) @ signs, weights, dtype=np.float64)
        pairs = weights.sum(axis=1) ** 2
        free_x = pairs - ((weights @ in_x) ** 2).sum(axis=1)
        free_y = pairs - ((weights @ in_y) ** 2).sum(axis=1)
        return _ratio(concordance, free_x, free_y)

    return correlation


def tau_with_influence(x: Floats, y: Floats) -> tuple[float, Floats]:
    """τ_b of variables that vary, and each item's influence on it, shape (items,), with mean 0; in O(n log² n).

    The variance of τ_b is about the variance of the mean influence (delta method).
    """
    codes_x, codes_y = _dense_ranks(x), _dense_ranks(y)
    signs = _signs_against_all(codes_x, codes_y)
    n = x.size
    free_x, free_y = 1 - np.bincount(codes_x)[codes_x] / n, 1 - np.bincount(codes_y)[codes_y] / n
    scale = math.sqrt(float(free_x.mean() * free_y.mean()))
    value = float(signs.mean()) / scale
    ties = (free_x / free_x.mean() + free_y / free_y.mean() - 2) * value
    influence: Floats = 2 * (signs - signs.mean()) / scale - ties
    return max(-1.0, min(1.0, value)), influence


def _signs_against_all(x: Ints, y: Ints) -> Floats:
    """For each item, the concordant minus the discordant pairs that it is in, divided by the number of items."""
    concordant = _count_below(x, y) + _count_below(-x, -y)
    discordant = _count_below(x, -y) + _count_below(-x, y)
    signs: Floats = (concordant - discordant) / x.size
    return signs


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


def _centred_ranks(values: Floats) -> Statistic:
    """From weights to mid-ranks minus their mean, shape (resamples, items), if item i occurs weights[:, i] times."""
    codes = _dense_ranks(values)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(codes.max() + 1))

    def ranks(weights: Floats) -> Floats:
        times = np.add.reduceat(weights[:, order], starts, axis=1)
        middles: Floats = np.cumsum(times, axis=1) - times / 2 - weights.sum(axis=1)[:, None] / 2
        return middles[:, codes]

    return ranks


def _ratio(product: Floats, one: Floats, other: Floats) -> Floats:
    product, scale = np.asarray(product, np.float64), one * other
    is_defined = (one > 1e-12) & (other > 1e-12)
    ratio: Floats = np.full(product.shape, np.nan)
    np.divide(product, np.sqrt(np.where(is_defined, scale, 1.0)), out=ratio, where=is_defined)
    return np.clip(ratio, -1.0, 1.0)


def _scaled(values: Floats) -> Floats:
    centred = values - values.mean()
    scaled: Floats = centred / max(float(np.abs(centred).max()), 1e-300)
    return scaled


def _dense_ranks(values: Floats) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)
