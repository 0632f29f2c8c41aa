"""Measures of single raters: their bias against the others, and their ratings on a common scale."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from measures.bootstrap import Floats, Ints
from measures.ratings import Ratings


@dataclass(frozen=True, slots=True)
class Bias:
    """The mean difference between a rater's values and the others' mean on the same n items, with its 95 % t interval.

    value is None if no item is shared; low and high are None for fewer than two items.
    """

    rater: Hashable
    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean and standard deviation (ddof 1) of one rater's n ratings; sd is None for fewer than two."""

    rater: Hashable
    n: int
    mean: float | None
    sd: float | None


@dataclass(frozen=True, slots=True, eq=False)
class StandardisedRatings:
    """z-scores in long form, without raters whose ratings do not vary.

    item, rater: indices into items and raters, shape (kept,). z: shape (kept,). spreads: of every rater. excluded:
    raters with fewer than two ratings or sd 0. left_out: the number of their ratings.
    """

    items: tuple[Hashable, ...]
    raters: tuple[Hashable, ...]
    item: Ints
    rater: Ints
    z: Floats
    spreads: tuple[Spread, ...]
    excluded: tuple[Hashable, ...]
    left_out: int

    def item_means(self) -> dict[Hashable, float | None]:
        """The mean z-score of every item; None if all its ratings are left out."""
        n = np.bincount(self.item, minlength=len(self.items))
        sums = np.bincount(self.item, self.z, minlength=len(self.items))
        return {name: float(sums[i] / n[i]) if n[i] else None for i, name in enumerate(self.items)}


def rater_bias(ratings: Ratings) -> tuple[Bias, ...]:
    """The bias of every rater, in their order. Raises ValueError if a category is not a number."""
    values, others = ratings.values(), np.bincount(ratings.item, minlength=len(ratings.items)) - 1
    sums = np.bincount(ratings.item, values, minlength=len(ratings.items))
    shared = others[ratings.item] > 0
    item, rater, own = ratings.item[shared], ratings.rater[shared], values[shared]
    gaps = own - (sums[item] - own) / others[item]
    return tuple(
        Bias(name, *_mean_interval(mean, sd, n), n)
        for name, (n, mean, sd) in zip(
            ratings.raters, _by_rater(rater, gaps, len(ratings.raters)), strict=True
        )
    )


def z_scores(ratings: Ratings) -> StandardisedRatings:
    """Each rating minus its rater's mean, divided by the rater's standard deviation (ddof 1; DCH paper, section 5).

    Raises ValueError if a category is not a number.
    """
    values = ratings.values()
    rows = _by_rater(ratings.rater, values, len(ratings.raters))
    spreads = tuple(Spread(name, *row) for name, row in zip(ratings.raters, rows, strict=True))
    means = np.array([spread.mean or 0.0 for spread in spreads])
    sds = np.array([spread.sd or 0.0 for spread in spreads])
    kept = sds[ratings.rater] > 0
    rater = ratings.rater[kept]
    return StandardisedRatings(
        items=ratings.items,
        raters=ratings.raters,
        item=ratings.item[kept],
        rater=rater,
        z=(values[kept] - means[rater]) / sds[rater],
        spreads=spreads,
        excluded=tuple(spread.rater for spread in spreads if not spread.sd),
        left_out=int((~kept).sum()),
    )


def _by_rater(rater: Ints, values: Floats, raters: int) -> list[tuple[int, float | None, float | None]]:
    """n, mean and sd (ddof 1) of each rater's values; sd is exactly 0 if they are all equal."""
    n = np.bincount(rater, minlength=raters)
    means = np.bincount(rater, values, minlength=raters) / np.maximum(n, 1)
    squares = np.bincount(rater, (values - means[rater]) ** 2, minlength=raters)
    low, high = np.full(raters, np.inf), np.full(raters, -np.inf)
    np.minimum.at(low, rater, values)
    np.maximum.at(high, rater, values)
    sds = np.where(low == high, 0.0, np.sqrt(squares / np.maximum(n - 1, 1)))
    return [
        (int(n[i]), float(means[i]) if n[i] else None, float(sds[i]) if n[i] > 1 else None)
        for i in range(raters)
    ]


def _mean_interval(
    mean: float | None, sd: float | None, n: int
) -> tuple[float | None, float | None, float | None]:
    if mean is None or sd is None:
        return mean, None, None
    half = float(stdtrit(n - 1, 0.975)) * sd / n**0.5
    return mean, mean - half, mean + half
