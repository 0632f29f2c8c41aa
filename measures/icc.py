"""Agreement on numeric ratings such as sliders: intraclass correlations (Shrout and Fleiss, 1979)."""

from typing import Literal

import numpy as np
from scipy.special import fdtri

from measures.bootstrap import Floats
from measures.estimate import Estimate, undefined

Kind = Literal["1,1", "1,k", "2,1", "2,k"]


def icc(values: Floats, kind: Kind = "1,1") -> Estimate:
    """The share of the ratings' variance that lies between items, with its 95 % interval from the F distribution.

    values: shape (items, raters), NaN for a missing rating (`Ratings.matrix`).
    "1,1": each item has its own raters, as after random assignment; "1,k": the mean of an item's ratings.
    "2,1", "2,k": the same raters rate all items, and their leniency counts as disagreement; items with a missing rating
    are left out. Unequal numbers of ratings (one-way only) are averaged as in Donner (1986).
    None for fewer than two items, without a second rating, or without variance.
    """
    return _one_way(values, kind) if kind in ("1,1", "1,k") else _two_way(values, kind)


def _one_way(values: Floats, kind: Kind) -> Estimate:
    has_two = (~np.isnan(values)).sum(axis=1) >= 2
    rated, left_out = values[has_two], int((~has_two).sum())
    items = rated.shape[0]
    if items < 2:
        return undefined(items, left_out)
    per_item = (~np.isnan(rated)).sum(axis=1)
    total, means = int(per_item.sum()), np.nanmean(rated, axis=1)
    grand = float(np.nansum(rated) / total)
    raters = (total - float((per_item**2).sum()) / total) / (items - 1)
    between = float((per_item * (means - grand) ** 2).sum()) / (items - 1)
    within = float(np.nansum((rated - means[:, None]) ** 2)) / (total - items)
    if _constant(rated):
        return undefined(items, left_out)
    ratio = between / within if within else np.inf
    low = ratio / _f_quantile(0.975, items - 1, total - items)
    high = ratio * _f_quantile(0.975, total - items, items - 1)
    value, lower, upper = (
        _single(bound, raters) if kind == "1,1" else _mean_of(bound) for bound in (ratio, low, high)
    )
    return Estimate(value, lower, upper, items, left_out)


def _two_way(values: Floats, kind: Kind) -> Estimate:
    complete = ~np.isnan(values).any(axis=1)
    rated, left_out = values[complete], int((~complete).sum())
    n, k = rated.shape
    if n < 2 or k < 2 or _constant(rated):
        return undefined(n, left_out)
    grand, rows, columns = rated.mean(), rated.mean(axis=1), rated.mean(axis=0)
    between = k * float(((rows - grand) ** 2).sum()) / (n - 1)
    raters = n * float(((columns - grand) ** 2).sum()) / (k - 1)
    residual = rated - rows[:, None] - columns[None, :] + grand
    error = float((residual**2).sum()) / ((n - 1) * (k - 1))
    single = (between - error) / (between + (k - 1) * error + k * (raters - error) / n)
    low, high = _two_way_bounds(single, between, raters, error, n, k)
    if kind == "2,k":
        single, low, high = (_spearman_brown(bound, k) for bound in (single, low, high))
    return Estimate(single, low, high, n, left_out)


def _two_way_bounds(
    single: float, between: float, raters: float, error: float, n: int, k: int
) -> tuple[float, float]:
    """Shrout and Fleiss (1979), equation 9: Satterthwaite's degrees of freedom."""
    if error <= 0 and raters <= 0:
        return 1.0, 1.0
    a = k * single / (n * (1 - single))
    b = 1 + k * single * (n - 1) / (n * (1 - single))
    freedom = (a * raters + b * error) ** 2 / (
        (a * raters) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1))
    )
    upper, lower = _f_quantile(0.975, n - 1, freedom), _f_quantile(0.975, freedom, n - 1)
    residual = k * raters + (k * n - k - n) * error
    low = n * (between - upper * error) / (upper * residual + n * between)
    high = n * (lower * between - error) / (residual + n * lower * between)
    return low, high


def _f_quantile(share: float, above: float, below: float) -> float:
    return float(fdtri(above, below, share))


def _single(ratio: float, raters: float) -> float:
    return 1.0 if ratio == np.inf else (ratio - 1) / (ratio + raters - 1)


def _mean_of(ratio: float) -> float | None:
    return 1.0 if ratio == np.inf else 1 - 1 / ratio if ratio > 0 else None


def _spearman_brown(single: float, k: int) -> float:
    return k * single / (1 + (k - 1) * single)


def _constant(values: Floats) -> bool:
    return bool(np.nanmin(values) == np.nanmax(values))
