"""Scatter plots."""

import xml.etree.ElementTree as ElementTree

import pytest

from preference.training.meta.plots import Point, fit_axis, scatter_svg


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([1, 5], (1, 2, 3, 4, 5)),
        ([-0.13, 0.4], (-0.2, 0, 0.2, 0.4)),
        ([3, 3], (2.4, 2.6, 2.8, 3.0, 3.2, 3.4, 3.6)),
        ([], (0, 0.2, 0.4, 0.6, 0.8, 1)),
    ],
)
def test_ticks_are_round_and_hold_all_values(values: list[float], ticks: tuple[float, ...]) -> None:
    assert fit_axis(values).ticks == pytest.approx(ticks)


def test_points_lie_inside_and_names_are_escaped() -> None:
    svg = scatter_svg([Point(1, -2, "a<b"), Point(5, 7, "c")], x="people & co", y="<y>", description='"d"')
    root = ElementTree.fromstring(svg)
    circles = [each for each in root.iter() if each.tag.endswith("circle")]
    assert [float(each.attrib["cx"]) for each in circles] == sorted(
        float(each.attrib["cx"]) for each in circles
    )
    assert all(0 < float(each.attrib["cy"]) < 330 for each in circles)
    assert [title.text for each in circles for title in each] == ["a<b", "c"]
