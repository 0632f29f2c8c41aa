"""Correlations against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measures.correlation import kendall, pearson, spearman

pairs = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=40)


@given(pairs)
def test_they_equal_scipys(points: list[tuple[int, int]]) -> None:
    x, y = (np.array(side, float) for side in zip(*points, strict=True))
    varied = len(set(x)) > 1 and len(set(y)) > 1
    for ours, theirs in ((pearson, stats.pearsonr), (spearman, stats.spearmanr), (kendall, stats.kendalltau)):
        expected = pytest.approx(theirs(x, y)[0], abs=1e-9) if varied else None
        assert ours(x, y, replicates=0).value == expected


def test_missing_values_are_left_out_and_counted() -> None:
    result = pearson([1, 2, None, 4], [2.0, 4.0, 5.0, 8.0])
    assert result.value == pytest.approx(1)
    assert (result.n, result.left_out) == (3, 1)


@pytest.mark.parametrize("measure", [pearson, spearman, kendall])
def test_without_variance_there_is_none(measure: object) -> None:
    for x in ([], [1.0], [2.0, 2.0, 2.0]):
        assert measure(x, list(range(len(x)))).value is None  # type: ignore[operator]
    with pytest.raises(ValueError, match="paired"):
        measure([1.0], [1.0, 2.0])  # type: ignore[operator]


def test_both_intervals_of_tau_agree() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=600)
    y = np.round(x + rng.normal(size=600))
    drawn, delta = kendall(x, y), kendall(x, y, bootstrap_up_to=0)
    assert drawn.value == delta.value
    assert (drawn.low, drawn.high) == pytest.approx((delta.low, delta.high), abs=0.012)


@pytest.mark.parametrize("measure", [pearson, spearman])
def test_the_bootstrap_is_as_wide_as_theory_says(measure: object) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=2000)
    result = measure(x, rng.normal(size=2000))  # type: ignore[operator]
    assert result.high - result.low == pytest.approx(2 * 1.96 / 2000**0.5, rel=0.12)
    assert measure(x, x**3, seed=1) == measure(x, x**3, seed=1)  # type: ignore[operator]


def test_tau_of_100_000_pairs_does_not_compare_each_with_each() -> None:
    """That would take hours."""
    rng = np.random.default_rng(5)
    assert abs(kendall(rng.normal(size=100_000), rng.normal(size=100_000)).value or 0) < 0.02
