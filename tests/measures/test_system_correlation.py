"""Correlation over systems, and errors by class."""

import numpy as np
import pytest
from scipy import stats

from measures.class_errors import class_errors
from measures.classification import classification
from measures.system_correlation import system_correlation


def test_systems_are_compared_by_their_means() -> None:
    systems = ["A", "A", "B", "B", "C", "C", "D", ""]
    scores = [1.0, 3, 4, 6, 5, None, 9, 100]
    human = [2.0, 4, 3, 3, 5, 5, 4, 1]
    found = system_correlation(scores, human, systems)
    assert [(each.system, each.score, each.human, each.n) for each in found.means] == [
        ("A", 2, 3, 2),
        ("B", 5, 3, 2),
        ("C", 5, 5, 1),
        ("D", 9, 4, 1),
    ]
    x, y = [2, 5, 5, 9], [3, 3, 5, 4]
    assert found.pearson.value == pytest.approx(stats.pearsonr(x, y)[0])
    assert found.spearman.value == pytest.approx(stats.spearmanr(x, y)[0])
    assert found.kendall.value == pytest.approx(stats.kendalltau(x, y)[0])
    assert found.pearson.n == 4
    interval = stats.pearsonr(x, y).confidence_interval(0.95)  # Fisher's z as well
    assert (found.pearson.low, found.pearson.high) == pytest.approx((interval.low, interval.high))
    assert found.kendall.low is None  # four systems are too few


def test_systems_that_agree_completely_have_no_interval() -> None:
    found = system_correlation([1.0, 2, 3, 4, 5, 6], [2.0, 3, 4, 5, 6, 7], list("ABCDEF"))
    assert found.pearson.value == pytest.approx(1)
    assert found.pearson.low is None


def test_eight_random_systems_rarely_seem_to_correlate() -> None:
    """A 95 % interval excludes 0 in about 5 % of such studies."""
    rng = np.random.default_rng(1)
    found = [
        system_correlation(rng.normal(size=8), rng.normal(size=8), list("ABCDEFGH")).spearman
        for _ in range(300)
    ]
    excluded = [each for each in found if each.low is not None and (each.low > 0 or (each.high or 0) < 0)]
    assert len(excluded) / 300 < 0.09


def test_two_systems_correlate_with_nothing() -> None:
    found = system_correlation([1.0, 2], [1.0, 2], ["A", "B"])
    assert (found.pearson.value, found.kendall.value, found.pearson.n) == (None, None, 2)


def test_errors_of_each_class() -> None:
    """ok: 2 found, 1 missed, 1 wrongly put in; bad: 1 found, 1 missed, 1 wrongly put in; odd: never predicted."""
    gold = ["ok", "ok", "ok", "bad", "bad", "odd"]
    predicted = ["ok", "ok", "bad", "bad", "ok", "bad"]
    confusion = classification(gold, predicted, ["ok", "bad", "odd"]).confusion
    ok, bad, odd = class_errors(confusion, ["ok", "bad", "odd"])
    assert (ok.true_positives, ok.false_positives, ok.false_negatives) == (2, 1, 1)
    assert (bad.true_positives, bad.false_positives, bad.false_negatives) == (1, 2, 1)
    assert ok.precision.share == pytest.approx(2 / 3)
    assert ok.false_positive_rate.share == pytest.approx(1 / 3)
    assert (odd.precision.share, odd.recall.share, odd.false_negatives) == (None, 0, 1)
