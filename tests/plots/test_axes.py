"""Scales: round steps that hold all values."""

import pytest

from plots.axes import HorizontalAxes, Scale, VerticalAxes, fit_scale, fit_scale_around, fit_values
from plots.marks import Mark, fit_marks
from plots.svg import clip_labels, clip_text


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


@pytest.mark.parametrize(("value", "top"), [(0, 10), (0.4, 10), (41, 50)])
def test_an_axis_reaches_the_value_that_its_marks_ask_for(value: float, top: float) -> None:
    assert fit_marks([Mark(value, "", axis_top=10)]).top == top


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


def test_the_last_label_is_never_skipped() -> None:
    axes = VerticalAxes(320, fit_scale(1), "share")
    labels = ["< 0.001", "< 0.01", "< 0.05", "< 0.1", "< 0.25", "< 0.5", "< 1", "No p"]
    drawn = axes.draw_labels(labels, axes.slots(len(labels)))
    assert ">&lt; 0.001<" in drawn
    assert ">No p<" in drawn
    assert drawn.count("<text") < len(labels)


def test_numbers_of_ticks_do_not_touch_and_one_is_0() -> None:
    scale = Scale(1.0, 0.2, -0.6)
    narrow, wide = (HorizontalAxes(width, scale, ["A rather long label"]).draw_grid() for width in (320, 640))
    assert wide.count("<text") == wide.count("<line") == narrow.count("<line") == 9
    assert narrow.count("<text") == 4
    assert ">0<" in narrow


def test_labels_that_begin_alike_lose_what_they_have_in_common() -> None:
    labels = ["Quality assessor · chat-1", "Quality assessor · chat-2", "A person, on average, of all"]
    one, other, third = clip_labels(labels, 100)
    assert (one, other) == ("Quality…chat-1", "Quality…chat-2")
    assert third == clip_text(labels[2], 100)


def test_a_long_end_takes_the_place_of_the_beginning() -> None:
    ends = ["No answer", "Wrong answer", "Not relevant: other key words", "Not relevant: misses the question"]
    clipped = clip_labels([f"Choose the reasons why you score 0 · {end}" for end in ends], 190)
    assert clipped[:2] == ["…No answer", "…Wrong answer"]
    assert len(set(clipped)) == 4
    assert all(label.startswith("…Not relevant") for label in clipped[2:])
