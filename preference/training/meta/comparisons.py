"""What the single comparisons of PairEval show: position bias, and how much the comparison examples matter.

A row of its scores has `orders`: for each comparison example, the probability that the reply is better when it is shown
first, and when it is shown second. The score is the mean of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random

import numpy as np

from measures.bootstrap import Floats, clustered_mean
from measures.correlation import pearson, spearman
from preference.training.meta.data import EvaluatorResult, JudgedReply
from preference.training.meta.scores import Figures, Resampling, histories

MOST_SUBSETS = 50  # of one size


def comparison_figures(
    result: EvaluatorResult, replies: Sequence[JudgedReply], resampling: Resampling
) -> Figures | None:
    """None for an evaluator that compares nothing."""
    found = enumerate(_orders(score.details.get("orders")) for score in result.scores)
    known = [(place, orders) for place, orders in found if orders]
    if not known:
        return None
    clusters = histories(replies)
    biases = np.array([np.mean([first - second for first, second in orders]) for _, orders in known])
    bias = clustered_mean(biases, [clusters[place] for place, _ in known], seed=resampling.seed)
    gaps = [abs(first - second) for _, orders in known for first, second in orders]
    return {
        "position_bias": bias.as_dict(),
        "mean_gap": math.fsum(gaps) / len(gaps),
        "examples": _sensitivity(known, replies, resampling.seed),
    }


def _orders(value: object) -> list[tuple[float, float]]:
    """Pairs of probabilities; [] for anything else."""
    if not isinstance(value, list) or not value:
        return []
    pairs = [tuple(pair) for pair in value if isinstance(pair, list | tuple) and len(pair) == 2]
    numbers = all(isinstance(number, int | float) for pair in pairs for number in pair)
    return (
        [(float(one), float(other)) for one, other in pairs] if numbers and len(pairs) == len(value) else []
    )


def _sensitivity(
    known: Sequence[tuple[int, list[tuple[float, float]]]], replies: Sequence[JudgedReply], seed: int
) -> list[Figures]:
    """Correlations with fewer comparison examples: over all subsets of a size, or MOST_SUBSETS drawn from the seed.

    Rows with fewer examples than the others are left out.
    """
    count = max(len(orders) for _, orders in known)
    rows = [(place, orders) for place, orders in known if len(orders) == count]
    human = [replies[place].reply.human for place, _ in rows]
    table = np.array([[sum(pair) / 2 for pair in orders] for _, orders in rows])
    return [_figures_of_size(table, human, size, seed) for size in range(1, count + 1)]


def _figures_of_size(table: Floats, human: Sequence[float | None], size: int, seed: int) -> Figures:
    subsets = list(_subsets(table.shape[1], size, seed))
    figures: Figures = {"k": size, "subsets": len(subsets)}
    for name, measure in (("pearson", pearson), ("spearman", spearman)):
        found = [measure(table[:, subset].mean(axis=1), human, replicates=0).value for subset in subsets]
        values = [value for value in found if value is not None]
        figures[name] = (
            {"mean": math.fsum(values) / len(values), "low": min(values), "high": max(values)}
            if values
            else {"mean": None, "low": None, "high": None}
        )
    return figures


def _subsets(count: int, size: int, seed: int) -> Iterator[list[int]]:
    if math.comb(count, size) <= MOST_SUBSETS:
        yield from (list(subset) for subset in combinations(range(count), size))
        return
    random = Random(f"{seed}/{count}/{size}")
    yield from (random.sample(range(count), size) for _ in range(MOST_SUBSETS))
