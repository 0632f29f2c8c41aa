"""Whether a classifier's confidence is right: of the items predicted with 80 %, about 80 % should be correct."""

from dataclasses import dataclass

import numpy as np

from measures.bootstrap import REPLICATES, SEED, Floats, Ints, bootstrap_estimate
from measures.estimate import Estimate

BINS = 15


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The items with a confidence above `low` and up to `high`.

    confidence: mean probability of the predicted class. accuracy: share of correct predictions. Both are None if n = 0.
    """

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """ece: expected calibration error, between 0 and 1; None without items. bins: from low to high confidence."""

    ece: Estimate
    bins: tuple[ReliabilityBin, ...]


def calibration(
    probabilities: Floats, gold: Ints, *, bins: int = BINS, replicates: int = REPLICATES, seed: int = SEED
) -> Calibration:
    """Compare the confidence of predictions with their accuracy; intervals resample items.

        ECE = Σ_b (n_b / n) · |accuracy_b - confidence_b|        (Guo et al., 2017, equation 3)

    probabilities: shape (items, classes), rows sum to 1; the prediction is the first largest. gold: the place of the
    right class, shape (items,). bins: of equal width between 0 and 1. Raises ValueError for unequal lengths.
    """
    if len(probabilities) != len(gold):
        raise ValueError(f"{len(probabilities)} predictions cannot be compared with {len(gold)} labels.")
    confidence = probabilities.max(axis=1, initial=0.0)
    correct = (probabilities.argmax(axis=1) == gold).astype(np.float64) if len(gold) else np.zeros(0)
    edges = np.linspace(0, 1, bins + 1)
    places = np.searchsorted(edges[1:-1], confidence, side="left")
    # Row i holds the surplus of item i in the column of its bin, so that weights @ surplus sums the bins.
    surplus = np.zeros((len(gold), bins))
    surplus[np.arange(len(gold)), places] = correct - confidence
    ece = bootstrap_estimate(
        lambda weights: np.abs(weights @ surplus).sum(axis=1) / weights.sum(axis=1),
        np.ones(len(gold), np.int64),
        replicates=replicates,
        seed=seed,
    )
    return Calibration(ece, _reliability_bins(edges, places, confidence, correct))


def _reliability_bins(
    edges: Floats, places: Ints, confidence: Floats, correct: Floats
) -> tuple[ReliabilityBin, ...]:
    width = edges.size - 1
    counts = np.bincount(places, minlength=width).tolist()
    sums = (np.bincount(places, weights=values, minlength=width).tolist() for values in (confidence, correct))
    rows = zip(edges[:-1].tolist(), edges[1:].tolist(), counts, *sums, strict=True)
    return tuple(
        ReliabilityBin(low, high, n, sure / n if n else None, right / n if n else None)
        for low, high, n, sure, right in rows
    )
