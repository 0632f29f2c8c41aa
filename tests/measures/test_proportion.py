"""Shares with their intervals."""

import pytest

from measures.proportion import proportion


def test_a_share_lies_inside_its_interval() -> None:
    part = proportion(41, 100)
    assert part.share == 0.41
    # Wilson's interval of 41 of 100, as scipy's binomtest(41, 100).proportion_ci(method="wilson") gives it.
    assert (round(part.low or 0, 4), round(part.high or 0, 4)) == (0.3187, 0.5080)


def test_nothing_has_no_share() -> None:
    part = proportion(0, 0)
    assert (part.share, part.low, part.high) == (None, None, None)


@pytest.mark.parametrize("count", [0, 5])
def test_the_interval_stays_a_share_at_both_ends(count: int) -> None:
    part = proportion(count, 5)
    assert part.low is not None
    assert part.high is not None
    assert 0 <= part.low <= count / 5 <= part.high <= 1
    assert part.high - part.low > 0.3  # five say little


@pytest.mark.parametrize(("count", "n"), [(-1, 5), (6, 5)])
def test_more_than_all_is_refused(count: int, n: int) -> None:
    with pytest.raises(ValueError, match="not a proportion"):
        proportion(count, n)
