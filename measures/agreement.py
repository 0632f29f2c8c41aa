"""Agreement of several raters on categories: percent, Fleiss' and Randolph's κ, Krippendorff's α.

All functions take `counts`, shape (items, categories): how many raters gave an item each category (`Ratings.counts`).
Items with fewer than two ratings carry no information about agreement; they are left out and counted in `left_out`.
"""

import math
from typing import Literal

import numpy as np

from measures.bootstrap import REPLICATES, SEED, Floats, Ints, bootstrap_estimate, distinct_rows
from measures.estimate import Estimate
from measures.proportion import Z_95

Level = Literal["nominal", "ordinal", "interval"]


def percent_agreement(counts: Ints, *, replicates: int = REPLICATES, seed: int = SEED) -> Estimate:
    """The mean over items of the share of agreeing pairs of raters, 0 to 1. Items may have unequal ratings."""
    rated, left_out = _rated_twice(counts)
    patterns, items = distinct_rows(rated)
    shares = _agreeing_pairs(patterns)
    return bootstrap_estimate(
        lambda weights: (weights @ shares) / weights.sum(axis=1),
        items,
        replicates=replicates,
        seed=seed,
        left_out=left_out,
    )


def fleiss_kappa(
    counts: Ints,
    *,
    interval: Literal["analytic", "bootstrap"] = "analytic",
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Estimate:
    """Chance-corrected agreement of many raters on nominal categories (Fleiss, 1971).

    Requires the same number of ratings for every item; items without the most common number are left out.
    The analytic interval is κ ± 1.96 standard errors (Fleiss, Nee and Landis, 1979), as in Table 3 of the DCH paper; it
    assumes agreement near chance. The bootstrap resamples items. None if all ratings are in one category.
    """
    rated, raters, left_out = _equally_rated(counts)
    patterns, items = distinct_rows(rated)
    observed = _agreeing_pairs(patterns)

    def kappa(weights: Floats) -> Floats:
        n = weights.sum(axis=1)
        expected = ((weights @ patterns / (n * raters)[:, None]) ** 2).sum(axis=1)
        return _corrected(weights @ observed / n, expected)

    if interval == "bootstrap":
        return bootstrap_estimate(kappa, items, replicates=replicates, seed=seed, left_out=left_out)
    estimate = bootstrap_estimate(kappa, items, replicates=0, left_out=left_out)
    if estimate.value is None:
        return estimate
    half = Z_95 * _fleiss_standard_error(rated, raters)
    low, high = max(-1.0, estimate.value - half), min(1.0, estimate.value + half)
    return Estimate(estimate.value, low, high, estimate.n, left_out)


def randolph_kappa(counts: Ints, *, replicates: int = REPLICATES, seed: int = SEED) -> Estimate:
    """Agreement corrected for uniform chance over the categories (κ_free; Randolph, 2005).

    counts: one column for every option that raters could choose, chosen or not. Items without the most common number of
    ratings are left out. None for a single option.
    """
    rated, _, left_out = _equally_rated(counts)
    patterns, items = distinct_rows(rated)
    observed, options = _agreeing_pairs(patterns), counts.shape[1]

    def kappa(weights: Floats) -> Floats:
        return _corrected(
            weights @ observed / weights.sum(axis=1), np.full(len(weights), 1 / max(options, 1))
        )

    return bootstrap_estimate(kappa, items, replicates=replicates, seed=seed, left_out=left_out)


def krippendorff_alpha(
    counts: Ints,
    *,
    level: Level = "nominal",
    values: Floats | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Estimate:
    """Reliability for any number of raters with missing ratings (α; Krippendorff, 2011). The interval resamples items.

    level: "ordinal" uses the order of the columns, "interval" their `values`, shape (categories,).
    None if all ratings have one value. Raises ValueError if level is "interval" and `values` is missing.
    """
    rated, left_out = _rated_twice(counts)
    rows, items = distinct_rows(rated)
    patterns = rows.astype(np.float64)
    disagreement = {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval}[level]
    if level == "interval" and values is None:
        raise ValueError("Krippendorff's α for an interval scale needs the values of the categories.")
    scale = np.zeros(counts.shape[1]) if values is None else np.asarray(values, np.float64)

    def alpha(weights: Floats) -> Floats:
        observed, expected = disagreement(weights, patterns, scale)
        return np.where(expected > 0, 1 - observed / expected, np.nan)

    return bootstrap_estimate(alpha, items, replicates=replicates, seed=seed, left_out=left_out)


def _nominal(weights: Floats, patterns: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Observed and expected share of unequal pairs, each of shape (resamples,)."""
    raters, margins = patterns.sum(axis=1), weights @ patterns
    total = margins.sum(axis=1)
    unequal = (raters**2 - (patterns**2).sum(axis=1)) / (raters - 1)
    expected = (total**2 - (margins**2).sum(axis=1)) / (total * (total - 1))
    return weights @ unequal / total, expected


def _interval(weights: Floats, patterns: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Observed and expected squared difference of a pair, on a scale that is centred and has a width of 1."""
    centred = (scale - (scale.min() + scale.max()) / 2) / max(float(np.ptp(scale)), 1e-300)
    raters, sums, squares = (patterns @ np.stack([np.ones(scale.size), centred, centred**2], axis=1)).T
    within = 2 * (raters * squares - sums**2) / (raters - 1)
    observed, total, all_sums, all_squares = (weights @ np.stack([within, raters, sums, squares], axis=1)).T
    expected = 2 * (total * all_squares - all_sums**2) / (total * (total - 1))
    return observed / total, np.where(expected > 1e-12, expected, 0.0)


def _ordinal(weights: Floats, patterns: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Like `_interval`, on the mid-ranks of the categories: Krippendorff's ordinal distance is their difference."""
    raters, margins = patterns.sum(axis=1), weights @ patterns
    total = margins.sum(axis=1)
    ranks = np.cumsum(margins, axis=1) - margins / 2 - total[:, None] / 2
    sums = ranks @ patterns.T
    within = 2 * (raters * (ranks**2 @ patterns.T) - sums**2) / (raters - 1)
    expected = 2 * (total * (margins * ranks**2).sum(axis=1) - (margins * ranks).sum(axis=1) ** 2)
    observed = (weights * within).sum(axis=1) / total
    return observed, _unless_one_value(expected / (total * (total - 1)), margins)


def _unless_one_value(expected: Floats, margins: Floats) -> Floats:
    """Set to zero if only one value was given, where rounding may leave a small number."""
    return np.where((margins > 0).sum(axis=1) > 1, expected, 0.0)


def _corrected(observed: Floats, expected: Floats) -> Floats:
    corrected: Floats = np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)
    return corrected


def _agreeing_pairs(counts: Ints) -> Floats:
    """The share of equal pairs of ratings of each item, shape (items,)."""
    raters = counts.sum(axis=1)
    shares: Floats = (counts * (counts - 1)).sum(axis=1) / np.maximum(raters * (raters - 1), 1)
    return shares


def _rated_twice(counts: Ints) -> tuple[Ints, int]:
    has_two = counts.sum(axis=1) >= 2
    return counts[has_two], int((~has_two).sum())


def _equally_rated(counts: Ints) -> tuple[Ints, int, int]:
    """The items with the most common number of ratings (the larger of two), that number, and how many are left out."""
    rated, _ = _rated_twice(counts)
    if rated.shape[0] == 0:
        return rated, 2, counts.shape[0]
    per_item = rated.sum(axis=1)
    frequency = np.bincount(per_item)
    raters = int(np.flatnonzero(frequency == frequency.max())[-1])
    kept = rated[per_item == raters]
    return kept, raters, counts.shape[0] - kept.shape[0]


def _fleiss_standard_error(counts: Ints, raters: int) -> float:
    """Fleiss, Nee and Landis (1979), equation 12."""
    shares = counts.sum(axis=0) / counts.sum()
    spread = shares * (1 - shares)
    part = spread.sum() ** 2 - (spread * (1 - 2 * shares)).sum()
    return float(math.sqrt(max(0.0, 2 * part / (counts.shape[0] * raters * (raters - 1)))) / spread.sum())
