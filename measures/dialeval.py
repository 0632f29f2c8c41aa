"""Compares estimated with gold distributions of ratings, as in the NTCIR DialEval tasks (Sakai, SIGIR 2018).

Distributions are arrays of shape (…, bins) without negative entries; each is scaled to a sum of 1. Every measure has
shape (…), is 0 for equal distributions and at most 1. Raises ValueError for unequal shapes, a negative entry, a
distribution of zeros and, for measures that use the order of bins, a single bin.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from measures.bootstrap import SEED, Floats, bootstrap_mean
from measures.estimate import Estimate

Scores = NDArray[np.float64]


def distribution(labels: Sequence[Hashable], options: Sequence[Hashable]) -> Floats:
    """The share of raters per option, shape (options,). Raises ValueError without labels or for an unknown one."""
    if not labels:
        raise ValueError("Without a rating there is no distribution.")
    shares = np.zeros(len(options))
    for label in labels:
        shares[options.index(label)] += 1 / len(labels)
    return shares


def nmd(estimated: ArrayLike, gold: ArrayLike) -> Scores:
    """Normalised match distance: the earth mover's distance along ordered bins."""
    p, q = _ordered(estimated, gold)
    moved: Scores = np.abs(np.cumsum(p - q, axis=-1)).sum(axis=-1) / (p.shape[-1] - 1)
    return moved


def rsnod(estimated: ArrayLike, gold: ArrayLike) -> Scores:
    """Root symmetric normalised order-aware divergence, over the bins that each distribution uses."""
    p, q = _ordered(estimated, gold)
    bins = np.arange(p.shape[-1])
    weighted = (p - q) ** 2 @ np.abs(bins[:, None] - bins)
    sides = [np.where(side > 0, weighted, 0.0).sum(axis=-1) / (side > 0).sum(axis=-1) for side in (p, q)]
    root: Scores = np.sqrt((sides[0] + sides[1]) / 2 / (p.shape[-1] - 1))
    return root


def rnss(estimated: ArrayLike, gold: ArrayLike) -> Scores:
    """Root normalised sum of squares."""
    p, q = _normalised(estimated, gold)
    root: Scores = np.sqrt(((p - q) ** 2).sum(axis=-1) / 2)
    return root


def jsd(estimated: ArrayLike, gold: ArrayLike) -> Scores:
    """Jensen-Shannon divergence to base 2."""
    p, q = _normalised(estimated, gold)
    middle = (p + q) / 2
    divergence: Scores = (_divergence(p, middle) + _divergence(q, middle)) / 2
    return np.maximum(divergence, 0.0)


def nugget_score(customer: Sequence[float], helpdesk: Sequence[float], *, alpha: float = 0.5) -> float | None:
    """A dialogue's score from the RNSS or JSD of its turns. alpha: the weight of the customer's mean.

    If one side has no turns, the other counts alone; None without turns.
    """
    means = [sum(side) / len(side) if side else None for side in (customer, helpdesk)]
    if means[0] is None or means[1] is None:
        return means[1] if means[0] is None else means[0]
    return alpha * means[0] + (1 - alpha) * means[1]


def mean_score(scores: Sequence[float | None] | Floats, *, seed: int = SEED) -> Estimate:
    """The mean over dialogues with a bootstrap interval. Dialogues without a score are left out."""
    values = np.array([np.nan if score is None else score for score in scores], np.float64)
    known = values[np.isfinite(values)]
    return bootstrap_mean(known, seed=seed, left_out=int(values.size - known.size))


def _normalised(estimated: ArrayLike, gold: ArrayLike) -> tuple[Floats, Floats]:
    p, q = np.asarray(estimated, np.float64), np.asarray(gold, np.float64)
    if p.shape != q.shape or p.ndim == 0:
        raise ValueError(f"Distributions of shapes {p.shape} and {q.shape} cannot be compared.")
    if not ((p >= 0).all() and (q >= 0).all() and (p.sum(axis=-1) > 0).all() and (q.sum(axis=-1) > 0).all()):
        raise ValueError("A distribution has no negative entries and is not all zeros.")
    return p / p.sum(axis=-1, keepdims=True), q / q.sum(axis=-1, keepdims=True)


def _ordered(estimated: ArrayLike, gold: ArrayLike) -> tuple[Floats, Floats]:
    p, q = _normalised(estimated, gold)
    if p.shape[-1] < 2:
        raise ValueError("A single bin has no order.")
    return p, q


def _divergence(p: Floats, q: Floats) -> Floats:
    ratio = np.divide(p, q, out=np.ones_like(p), where=p > 0)
    bits: Floats = (p * np.log2(ratio)).sum(axis=-1)
    return bits
