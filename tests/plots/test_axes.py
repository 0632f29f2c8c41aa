"""Scales: round steps that hold all values."""

import pytest

from plots.axes import VerticalAxes, fit_scale, fit_scale_around, fit_values


@pytest.mark.parametrize(
    ("highest", "top"),
    [
        (0, 1),
        (1, 1),
        (3, 3),
        (7, 8),
        (41, 50),
        (99, 100),
        (100, 100),
        (101, 150),
        (0.21, 0.25),
        (12_345, 15_000),
    ],
)
def test_a_scale_is_round_and_holds_the_highest(highest: float, top: float) -> None:
    assert fit_scale(highest).top == pytest.approx(top)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [([1], [0, 1]), ([3, 1], [0, 1, 2, 3]), ([0.5, 1], [0, 0.2, 0.4, 0.6, 0.8, 1]), ([], [0, 1])],
)
def test_counts_have_whole_ticks(values: list[float], ticks: list[float]) -> None:
    assert fit_values(values).ticks == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([1, 5], [1, 2, 3, 4, 5]),
        ([-0.13, 0.4], [-0.2, 0, 0.2, 0.4]),
        ([-190, -151], [-190, -180, -170, -160, -150]),
        ([3, 3], [2.4, 2.6, 2.8, 3.0, 3.2, 3.4, 3.6]),
        ([], [0, 0.2, 0.4, 0.6, 0.8, 1]),
    ],
)
def test_a_scale_around_values_need_not_hold_zero(values: list[float], ticks: list[float]) -> None:
    assert fit_scale_around(values).ticks == pytest.approx(ticks)


def test_on_a_logarithmic_axis_equal_factors_are_equally_far_apart() -> None:
    axes = VerticalAxes(640, fit_scale(1), "share")
    lefts = [left for left, _width in axes.slots_by_logarithm([1, 10, 100])]
    assert lefts[1] - lefts[0] == pytest.approx(lefts[2] - lefts[1])
    assert [left for left, _width in axes.slots_by_logarithm([7])] == [
        pytest.approx((lefts[0] + lefts[2]) / 2)
    ]


def test_labels_that_would_touch_are_skipped() -> None:
    axes = VerticalAxes(320, fit_scale(1), "share")
    drawn = axes.draw_uneven_labels(["110 M", "111 M", "900 M"], axes.slots_by_logarithm([110, 111, 900]))
    assert ("110 M" in drawn, "111 M" in drawn, "900 M" in drawn) == (True, False, True)
