"""Scatter plots: one dot for each item, two values on the same scale."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from plots.axes import HEIGHT, RIGHT, Scale, VerticalAxes, fit_scale_around, fit_signed_scale, format_tick
from plots.svg import dot, draw_both_widths, join, line, text


@dataclass(frozen=True, slots=True)
class Point:
    """series: from 1, its colour. title: its tooltip."""

    x: float
    y: float
    series: int
    title: str


def draw_scatter(points: Sequence[Point], *, x: str, y: str, description: str) -> Markup:
    """Both axes have the same scale; a dashed line shows where the two values are equal."""
    values = [value for point in points for value in (point.x, point.y)]
    scale = fit_signed_scale(min(values, default=0.0), max(values, default=0.0))

    def draw(width: int) -> Markup:
        axes = VerticalAxes(width, scale, y)
        ends = [(_x_of(axes, value), axes.y_of(value)) for value in (scale.bottom, scale.top)]
        dots = [dot(_x_of(axes, each.x), axes.y_of(each.y), 4, each.series, each.title) for each in points]
        equal = line(*ends[0], *ends[1], "expected")
        return join([axes.draw_grid(), _draw_ticks(axes, scale), equal, *dots, axes.draw_name(x)])

    return draw_both_widths(draw, HEIGHT, description)


@dataclass(frozen=True, slots=True)
class Place:
    """Two values with scales of their own. title: its tooltip, if it has a name."""

    x: float
    y: float
    title: str


def draw_places(places: Sequence[Place], *, x: str, y: str, description: str) -> Markup:
    """Each axis has its own scale, from about the least value to about the largest."""
    across = fit_scale_around([place.x for place in places])
    upwards = fit_scale_around([place.y for place in places])

    def draw(width: int) -> Markup:
        axes = VerticalAxes(width, upwards, y)
        dots = [
            dot(
                _across(axes, across, place.x),
                axes.y_of(place.y),
                3,
                1,
                f"{place.title} {place.x:.3g} · {place.y:.3g}".strip(),
            )
            for place in places
        ]
        ticks = [
            text(_across(axes, across, tick), axes.floor + 15, format_tick(tick), "middle")
            for tick in across.ticks
        ]
        return join([axes.draw_grid(), *ticks, *dots, axes.draw_name(x)])

    return draw_both_widths(draw, HEIGHT, description)


def _across(axes: VerticalAxes, scale: Scale, value: float) -> float:
    return axes.left + scale.share(value) * (axes.width - axes.left - RIGHT - 8)


def _x_of(axes: VerticalAxes, value: float) -> float:
    return _across(axes, axes.scale, value)


def _draw_ticks(axes: VerticalAxes, scale: Scale) -> Markup:
    return join(text(_x_of(axes, tick), axes.floor + 15, format_tick(tick), "middle") for tick in scale.ticks)
