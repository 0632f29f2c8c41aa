"""Pairs of raters: confusion matrices and Cohen's κ."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from measures.bootstrap import Floats, Ints, clustered_estimate
from measures.estimate import Estimate, undefined
from measures.proportion import Z_95
from measures.ratings import Ratings

Weights = Literal["none", "linear", "quadratic"]


@dataclass(frozen=True, slots=True, eq=False)
class PairConfusion:
    """counts: items by the categories of `one` (rows) and `other` (columns), shape (categories, categories)."""

    one: Hashable
    other: Hashable
    counts: Ints


def cohen_kappa(counts: Ints, *, weights: Weights = "none") -> Estimate:
    """Chance-corrected agreement of two raters (Cohen, 1960), weighted by distance of the categories (Cohen, 1968).

    counts: confusion matrix, shape (categories, categories), in their order. The interval is κ ± 1.96 standard errors
    (Fleiss, Cohen and Everitt, 1969). None without items, or if both always use the same single category.
    """
    n = int(counts.sum())
    if n == 0:
        return undefined(0)
    shares, agreed = counts / n, _agreement_weights(counts.shape[0], weights)
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float((shares * agreed).sum()), float(rows @ agreed @ columns)
    if np.isclose(expected, 1.0, rtol=0, atol=1e-12):
        return undefined(n)
    kappa = (observed - expected) / (1 - expected)
    means = (agreed @ columns)[:, None] + (rows @ agreed)[None, :]
    spread = (shares * (agreed - means * (1 - kappa)) ** 2).sum() - (kappa - expected * (1 - kappa)) ** 2
    half = Z_95 * float(np.sqrt(max(0.0, spread) / n)) / (1 - expected)
    return Estimate(kappa, max(-1.0, kappa - half), min(1.0, kappa + half), n)


def clustered_cohen_kappa(one: Ints, other: Ints, clusters: Sequence[Hashable]) -> Estimate:
    """Cohen's κ without weights, with an interval that resamples whole clusters, such as all replies to one opening.

    one, other: the categories that two raters gave, from 0, shape (items,). clusters: the cluster of each item.
    None without items, or if both always use the same single category. Raises ValueError for unequal lengths.
    """
    if not one.shape == other.shape == (len(clusters),):
        raise ValueError("Every item needs two ratings and a cluster.")
    width = int(max(one.max(initial=0), other.max(initial=0))) + 1
    first, second = np.eye(width)[one], np.eye(width)[other]
    agreed = (one == other).astype(np.float64)

    def kappa(weights: Floats) -> Floats:
        n = weights.sum(axis=1)
        observed = weights @ agreed / n
        expected = ((weights @ first) * (weights @ second)).sum(axis=1) / n**2
        is_constant = np.isclose(expected, 1.0, rtol=0, atol=1e-12)
        return np.where(is_constant, np.nan, (observed - expected) / (1 - expected))

    return clustered_estimate(kappa, clusters)


def confusion_between(ratings: Ratings, one: Hashable, other: Hashable) -> Ints:
    """The confusion matrix of the items that both rated, shape (categories, categories); `one` in rows.

    Raises ValueError for an unknown rater.
    """
    unknown = [name for name in (one, other) if name not in ratings.raters]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not one of the raters.")
    table = np.full((2, len(ratings.items)), -1, np.int64)
    for row, name in enumerate((one, other)):
        theirs = ratings.rater == ratings.raters.index(name)
        table[row, ratings.item[theirs]] = ratings.code[theirs]
    both = table[:, (table >= 0).all(axis=0)]
    width = len(ratings.categories)
    return np.bincount(both[0] * width + both[1], minlength=width**2).reshape(width, width).astype(np.int64)


def confusion_of_pairs(counts: Ints) -> Ints:
    """A symmetric matrix, shape (categories, categories), that counts every pair of ratings of an item in both orders.

    counts: shape (items, categories). An item with n ratings adds n (n - 1).
    """
    return counts.T @ counts - np.diag(counts.sum(axis=0))


def confusion_by_pair(ratings: Ratings) -> tuple[PairConfusion, ...]:
    """One confusion matrix per pair of raters who share an item, in the order of ratings.raters."""
    width, people = len(ratings.categories), len(ratings.raters)
    keys: list[Ints] = [
        ((ratings.rater[i] * people + ratings.rater[j]) * width + ratings.code[i]) * width + ratings.code[j]
        for i, j in _shared(ratings)
    ]
    found, times = np.unique(np.concatenate(keys or [np.zeros(0, np.int64)]), return_counts=True)
    tables: dict[int, Ints] = {}
    for key, count in zip(found.tolist(), times.tolist(), strict=True):
        pair, cell = divmod(key, width**2)
        tables.setdefault(pair, np.zeros((width, width), np.int64))[divmod(cell, width)] = count
    return tuple(
        PairConfusion(ratings.raters[pair // people], ratings.raters[pair % people], table)
        for pair, table in tables.items()
    )


def _shared(ratings: Ratings) -> Iterator[tuple[Ints, Ints]]:
    """Yield the indices of pairs of ratings of one item, first rater first, by their distance in the sorted ratings."""
    order = np.lexsort((ratings.rater, ratings.item))
    item = ratings.item[order]
    for gap in range(1, item.size):
        same = np.flatnonzero(item[gap:] == item[:-gap])
        if same.size == 0:
            return
        yield order[same], order[same + gap]


def _agreement_weights(width: int, weights: Weights) -> Floats:
    """1 on the diagonal, 0 for the most distant pair of categories; without weights, 0 everywhere else."""
    if weights == "none":
        return np.eye(width)
    gap = np.abs(np.subtract.outer(np.arange(width), np.arange(width))) / max(1, width - 1)
    return 1 - gap if weights == "linear" else 1 - gap**2
