"""Agreement of several raters on categories: percent, κ of Fleiss and Randolph, α of Krippendorff.

All of them read `counts`, shape (items, categories): how many raters gave the item each category (`Ratings.counts`).
An item with fewer than two ratings says nothing about agreement: it is left out and counted.
"""

import math
from typing import Literal

import numpy as np

from measures.bootstrap import REPLICATES, SEED, Floats, Ints, bootstrapped, distinct
from measures.estimate import Estimate
from measures.proportion import Z_95

Level = Literal["nominal", "ordinal", "interval"]


def percent_agreement(counts: Ints, *, replicates: int = REPLICATES, seed: int = SEED) -> Estimate:
    """Mean over items of the share of pairs of raters who agree, between 0 and 1; items may have unequal ratings."""
    rated, left_out = _rated_twice(counts)
    patterns, items = distinct(rated)
    shares = _agreeing_pairs(patterns)
    return bootstrapped(
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

    Needs equally many ratings of every item: items with another number than the most common one are left out.
    The analytic interval is κ ± 1.96 standard errors of Fleiss, Nee and Landis (1979), as in Table 3 of the DCH paper;
    it supposes agreement near chance. The bootstrap draws items. None when all ratings are one category.
    """
    rated, raters, left_out = _equally_rated(counts)
    patterns, items = distinct(rated)
    observed = _agreeing_pairs(patterns)

    def kappa(weights: Floats) -> Floats:
        n = weights.sum(axis=1)
        expected = ((weights @ patterns / (n * raters)[:, None]) ** 2).sum(axis=1)
        return _corrected(weights @ observed / n, expected)

    if interval == "bootstrap":
        return bootstrapped(kappa, items, replicates=replicates, seed=seed, left_out=left_out)
    estimate = bootstrapped(kappa, items, replicates=0, left_out=left_out)
    if estimate.value is None:
        return estimate
    half = Z_95 * _fleiss_standard_error(rated, raters)
    low, high = max(-1.0, estimate.value - half), min(1.0, estimate.value + half)
    return Estimate(estimate.value, low, high, estimate.n, left_out)


def randolph_kappa(counts: Ints, *, replicates: int = REPLICATES, seed: int = SEED) -> Estimate:
    """Agreement corrected for a chance of one in as many as there are categories (κ_free; Randolph, 2005).

    counts has a column for every option that raters could choose, chosen or not. Items with another number of ratings
    than the most common one are left out. None for a single option.
    """
    rated, _, left_out = _equally_rated(counts)
    patterns, items = distinct(rated)
    observed, options = _agreeing_pairs(patterns), counts.shape[1]

    def kappa(weights: Floats) -> Floats:
        return _corrected(
            weights @ observed / weights.sum(axis=1), np.full(len(weights), 1 / max(options, 1))
        )

    return bootstrapped(kappa, items, replicates=replicates, seed=seed, left_out=left_out)


def krippendorff_alpha(
    counts: Ints,
    *,
    level: Level = "nominal",
    values: Floats | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Estimate:
    """Reliability for any number of raters with ratings missing (α; Krippendorff, 2011), interval by drawing items.

    level: "ordinal" takes the columns in their order, "interval" their `values`, shape (categories,).
    None when all ratings are one value. Raises ValueError when interval has no values.
    """
    rated, left_out = _rated_twice(counts)
    shown, items = distinct(rated)
    patterns = shown.astype(np.float64)
    disagreement = {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval}[level]
    if level == "interval" and values is None:
        raise ValueError("Krippendorff's α for an interval scale needs the values of the categories.")
    scale = np.zeros(counts.shape[1]) if values is None else np.asarray(values, np.float64)

    def alpha(weights: Floats) -> Floats:
        observed, expected = disagreement(weights, patterns, scale)
        return np.where(expected > 0, 1 - observed / expected, np.nan)

    return bootstrapped(alpha, items, replicates=replicates, seed=seed, left_out=left_out)


def _nominal(weights: Floats, patterns: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Observed and expected share of unequal pairs, shape (resamples,)."""
    raters, margins = patterns.sum(axis=1), weights @ patterns
    total = margins.sum(axis=1)
    unequal = (raters**2 - (patterns**2).sum(axis=1)) / (raters - 1)
    expected = (total**2 - (margins**2).sum(axis=1)) / (total * (total - 1))
    return weights @ unequal / total, expected


def _interval(weights: Floats, patterns: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Observed and expected squared difference of a pair; the scale is centred and shrunk to a width of 1."""
    centred = (scale - (scale.min() + scale.max()) / 2) / max(float(np.ptp(scale)), 1e-300)
    raters, sums, squares = (patterns @ np.stack([np.ones(scale.size), centred, centred**2], axis=1)).T
    within = 2 * (raters * squares - sums**2) / (raters - 1)
    observed, total, all_sums, all_squares = (weights @ np.stack([within, raters, sums, squares], axis=1)).T
    expected = 2 * (total * all_squares - all_sums**2) / (total * (total - 1))
    return observed / total, np.where(expected > 1e-12, expected, 0.0)


def _ordinal(weights: Floats, patterns: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """As for an interval scale, on the mid-ranks of the categories: Krippendorff's ordinal distance is their gap."""
    raters, margins = patterns.sum(axis=1), weights @ patterns
    total = margins.sum(axis=1)
    ranks = np.cumsum(margins, axis=1) - margins / 2 - total[:, None] / 2
    sums = ranks @ patterns.T
    within = 2 * (raters * (ranks**2 @ patterns.T) - sums**2) / (raters - 1)
    expected = 2 * (total * (margins * ranks**2).sum(axis=1) - (margins * ranks).sum(axis=1) ** 2)
    observed = (weights * within).sum(axis=1) / total
    return observed, _unless_one_value(expected / (total * (total - 1)), margins)


def _unless_one_value(expected: Floats, margins: Floats) -> Floats:
    """Zero where a single value was given, whatever rounding left there."""
    return np.where((margins > 0).sum(axis=1) > 1, expected, 0.0)


def _corrected(observed: Floats, expected: Floats) -> Floats:
    corrected: Floats = np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)
    return corrected


def _agreeing_pairs(counts: Ints) -> Floats:
    """Shape (items,): the share of an item's pairs of ratings that are equal."""
    raters = counts.sum(axis=1)
    shares: Floats = (counts * (counts - 1)).sum(axis=1) / np.maximum(raters * (raters - 1), 1)
    return shares


def _rated_twice(counts: Ints) -> tuple[Ints, int]:
    enough = counts.sum(axis=1) >= 2
    return counts[enough], int((~enough).sum())


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
