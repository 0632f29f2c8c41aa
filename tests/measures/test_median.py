"""The median's interval: a published example, its coverage, and data too few for one."""

import numpy as np
import pytest

from measures.median import median_estimate


def test_order_statistics_of_ten_values() -> None:
    """For n = 10 the interval runs from the 2nd to the 9th value (Conover, 1999, table A3)."""
    estimate = median_estimate([float(value) for value in range(1, 11)])
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (5.5, 2, 9, 10)


@pytest.mark.parametrize("n", [8, 25, 200])
def test_it_covers_the_true_median(n: int) -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _run in range(1000):
        estimate = median_estimate(list(rng.lognormal(0, 1, n)))
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= 1 <= estimate.high
    assert hits >= 940


def test_few_values_have_no_interval() -> None:
    assert median_estimate([]).value is None
    few = median_estimate([3, 1, 2])
    assert (few.value, few.low, few.high) == (2, None, None)
