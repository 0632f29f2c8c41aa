"""Differences of correlations on the same resamples."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from measures.bootstrap import Floats, clustered_estimate, resamples
from measures.correlation import BOOTSTRAP_UP_TO, kendall, pearson, spearman
from measures.paired_bootstrap import Measure, correlation_difference, paired_difference

HUMAN = [1, 2, 3, 4, 5, 6, 7, 8]
GOOD = [1, 3, 2, 4, 5, 7, 6, 8]
POOR = [5, 1, 7, 2, 8, 3, 6, 4]
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def test_correlations_computed_by_hand() -> None:
    """Two neighbours swapped twice: Σd² = 4, so that ρ = 1 - 6·4 / (5·24) = 0.8; 2 of 10 pairs are discordant."""
    x, y = [1, 2, 3, 4, 5], [2, 1, 4, 3, 5]
    assert pearson(x, y).value == pytest.approx(0.8)
    assert spearman(x, y).value == pytest.approx(0.8)
    assert kendall(x, y).value == pytest.approx(0.6)


@pytest.mark.parametrize("measure", SCIPY)
def test_the_difference_equals_scipys_on_the_same_resamples(measure: Measure) -> None:
    found = correlation_difference(GOOD, POOR, HUMAN, measure=measure, replicates=200, seed=3)
    expected = []
    for weights in np.concatenate(list(resamples(np.ones(8, np.int64), replicates=200, seed=3))):
        rows = np.repeat(np.arange(8), weights.astype(int))
        one, other, human = (np.array(side)[rows] for side in (GOOD, POOR, HUMAN))
        expected.append(SCIPY[measure](one, human)[0] - SCIPY[measure](other, human)[0])
    assert found.one == pytest.approx(SCIPY[measure](GOOD, HUMAN)[0])
    assert found.other == pytest.approx(SCIPY[measure](POOR, HUMAN)[0])
    low, high = np.percentile(expected, [2.5, 97.5])
    assert (found.difference.low, found.difference.high) == pytest.approx((low, high))
    below = sum(value <= 0 for value in expected)
    assert found.p == pytest.approx(2 * (below + 1) / 201)
    assert found.difference.n == 8


def test_p_is_that_of_all_possible_resamples() -> None:
    """Four items have 256 resamples; where a correlation is undefined, the resample does not count."""
    one, other, human = np.array([1, 2, 4, 3.0]), np.array([2, 1, 3, 4.5]), np.arange(4.0)
    drawn = np.array(
        [
            np.corrcoef(one[rows], human[rows])[0, 1] - np.corrcoef(other[rows], human[rows])[0, 1]
            for rows in map(list, product(range(4), repeat=4))
            if len(set(rows)) > 1
        ]
    )
    tail = min(np.mean(drawn <= 1e-9), np.mean(drawn >= -1e-9))
    found = correlation_difference(one, other, human, measure="pearson", replicates=20_000)
    assert found.p == pytest.approx(min(1.0, 2 * float(tail)), abs=0.03)


def test_only_items_with_all_three_values_count() -> None:
    found = correlation_difference([*GOOD, None, 1], [*POOR, 2, None], [*HUMAN, 3, 3], measure="pearson")
    assert (found.difference.n, found.difference.left_out) == (8, 2)
    assert found.one == pytest.approx(stats.pearsonr(GOOD, HUMAN)[0])


def test_an_evaluator_equal_to_itself_does_not_differ() -> None:
    found = correlation_difference(GOOD, GOOD, HUMAN)
    assert (found.difference.value, found.difference.low, found.difference.high) == (0, 0, 0)
    assert found.p == 1


@pytest.mark.parametrize("measure", SCIPY)
@pytest.mark.parametrize("one", [[], [1.0], [2.0] * 8, [None] * 8])
def test_constant_scores_have_no_difference(one: list[float | None], measure: Measure) -> None:
    count = len(one)
    found = correlation_difference(one, POOR[:count], HUMAN[:count], measure=measure)
    assert (found.difference.value, found.difference.low, found.p) == (None, None, None)
    equal = correlation_difference(GOOD, POOR, [3.0] * 8, measure=measure)
    assert (equal.difference.value, equal.p) == (None, None)


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="paired"):
        correlation_difference(GOOD, POOR[:3], HUMAN)
    with pytest.raises(ValueError, match="cluster"):
        correlation_difference(GOOD, POOR, HUMAN, clusters=[1, 2])


def test_the_delta_method_agrees_with_the_bootstrap() -> None:
    rng = np.random.default_rng(3)
    human = rng.normal(size=BOOTSTRAP_UP_TO + 400)
    one, other = human + rng.normal(size=human.size), human + 1.2 * rng.normal(size=human.size)
    found = correlation_difference(one, other, human, measure="kendall")
    some = slice(0, 800)
    drawn = correlation_difference(one[some], other[some], human[some], measure="kendall", replicates=300)
    assert found.difference.value is not None
    assert found.difference.low is not None
    assert drawn.difference.low is not None
    assert drawn.difference.high is not None
    width = (found.difference.value - found.difference.low) * 2
    expected = (drawn.difference.high - drawn.difference.low) * (800 / human.size) ** 0.5
    assert width == pytest.approx(expected, rel=0.25)
    assert found.p is not None
    assert found.p < 0.05


def test_items_of_one_cluster_are_no_further_evidence() -> None:
    """Each item four times, as one cluster: the interval stays that of the single items."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    once = pearson(x, y, seed=1)
    repeated = pearson(np.repeat(x, 4), np.repeat(y, 4), clusters=[*np.repeat(np.arange(40), 4)], seed=1)
    assert (repeated.value, repeated.low, repeated.high) == pytest.approx((once.value, once.low, once.high))
    assert (once.n, repeated.n) == (40, 160)
    tau = kendall(x, y, bootstrap_up_to=0)
    many = kendall(
        np.repeat(x, 4), np.repeat(y, 4), clusters=[*np.repeat(np.arange(40), 4)], bootstrap_up_to=0
    )
    assert many.low == pytest.approx(tau.low, abs=0.01)


def test_an_undefined_statistic_has_no_difference() -> None:
    def undefined(weights: Floats) -> Floats:
        return np.full(len(weights), np.nan)

    found = paired_difference(undefined, lambda weights: weights.sum(axis=1), [1, 2, 3])
    assert (found.one, found.other, found.difference.value, found.p) == (None, 3, None, None)
    assert paired_difference(undefined, undefined, []).difference.n == 0
    assert clustered_estimate(lambda weights: weights.sum(axis=1), []).value is None
