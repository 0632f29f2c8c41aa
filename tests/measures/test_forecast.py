"""The forecast of an end: against simulated work of a known pace, and where it is undefined."""

import numpy as np
import pytest

from measures.forecast import forecast_end


def days_needed(rng: np.random.Generator, open: int, mean: float, dispersion: float) -> int:
    """Days until negative binomial daily work of this mean adds up to the open work."""
    done, day = 0, 0
    while done < open:
        done += rng.negative_binomial(dispersion, dispersion / (dispersion + mean))
        day += 1
    return day


@pytest.mark.parametrize(
    ("mean", "dispersion", "open"), [(30.0, 5.0, 900), (8.0, 2.0, 400), (200.0, 1.5, 2000)]
)
def test_the_interval_covers_the_true_end(mean: float, dispersion: float, open: int) -> None:
    rng, hits, runs = np.random.default_rng(3), 0, 300
    for _run in range(runs):
        seen = rng.negative_binomial(dispersion, dispersion / (dispersion + mean), 14)
        forecast = forecast_end([int(count) for count in seen], open)
        end = days_needed(rng, open, mean, dispersion)
        assert forecast.low is not None
        hits += forecast.low <= end + 1 and (forecast.high is None or end - 1 <= forecast.high)
    assert 0.88 <= hits / runs <= 1.0


def test_a_steady_pace_ends_when_it_must() -> None:
    forecast = forecast_end([10] * 14, 100)
    assert (forecast.days, forecast.low, forecast.high) == (10, 10, 10)
    assert (forecast.per_day, forecast.worked) == (10, 14)


def test_more_open_work_ends_later() -> None:
    counts = [0, 12, 8, 15, 9, 0, 0, 11, 7, 14, 10, 9, 0, 0]
    ends = [forecast_end(counts, open).days or 0 for open in (50, 200, 1000)]
    assert ends == sorted(ends)
    assert len(set(ends)) == 3


@pytest.mark.parametrize(
    ("counts", "open"), [([], 10), ([5, 5, 5, 5], 10), ([0, 0, 9, 0, 0, 3], 10), ([4] * 14, 0)]
)
def test_too_little_is_said_to_be_too_little(counts: list[int], open: int) -> None:
    forecast = forecast_end(counts, open)
    assert (forecast.days, forecast.low, forecast.high) == (None, None, None)


def test_an_end_that_nobody_can_promise_is_left_open() -> None:
    forecast = forecast_end([0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0], 20)
    assert forecast.low is not None
    assert forecast.high is None or forecast.high > 100
