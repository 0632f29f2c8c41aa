"""Lines with the intervals of their points. x, y: names of the axes with their units."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from markupsafe import Markup

from plots import svg
from plots.axes import HEIGHT, VerticalAxes
from plots.marks import Mark, fit_marks
from plots.svg import draw_both_widths, join


def draw_lines(
    labels: Sequence[str],
    series: Sequence[Sequence[Mark | None]],
    *,
    x: str,
    y: str,
    description: str,
    at: Sequence[float] | None = None,
    bridges_gaps: bool = False,
) -> Markup:
    """A line for each series, with its intervals as a band. None leaves a gap, unless the line bridges_gaps.

    at: the number of each label, positive and ascending, for a logarithmic axis; None: labels are equally far apart.
    """
    scale = fit_marks([mark for marks in series for mark in marks if mark])

    def draw(width: int) -> Markup:
        axes = VerticalAxes(width, scale, y)
        slots = axes.slots_by_logarithm(at) if at else axes.slots(len(labels))
        middles = [left + thickness / 2 for left, thickness in slots]
        segments = [
            _join(middles, marks) if bridges_gaps else _split_at_gaps(middles, marks) for marks in series
        ]
        curves = [_draw_curve(axes, points, number) for number, points in enumerate(segments, start=1)]
        names = axes.draw_uneven_labels(labels, slots) if at else axes.draw_labels(labels, slots)
        return join([axes.draw_grid(), *curves, names, axes.draw_name(x)])

    return draw_both_widths(draw, HEIGHT, description)


def _draw_curve(axes: VerticalAxes, segments: Iterable[Sequence[tuple[float, Mark]]], number: int) -> Markup:
    return join(_draw_segment(axes, points, number) for points in segments)


def _join(middles: Sequence[float], marks: Sequence[Mark | None]) -> list[list[tuple[float, Mark]]]:
    return [[(x, mark) for x, mark in zip(middles, marks, strict=True) if mark]]


def _split_at_gaps(
    middles: Sequence[float], marks: Sequence[Mark | None]
) -> Iterable[list[tuple[float, Mark]]]:
    pairs = zip(middles, marks, strict=True)
    for is_gap, group in groupby(pairs, key=lambda pair: pair[1] is None):
        if not is_gap:
            yield [(x, mark) for x, mark in group if mark]


def _draw_segment(axes: VerticalAxes, points: Sequence[tuple[float, Mark]], number: int) -> Markup:
    """A band of intervals, the line, and a dot with the numbers of each point."""
    with_interval = [(x, mark) for x, mark in points if mark.interval]
    outline = [(x, mark.high) for x, mark in with_interval] + [
        (x, mark.low) for x, mark in reversed(with_interval)
    ]
    band = svg.EMPTY
    if outline:
        band = svg.element('<path class="band c{}" d="{}Z"/>', number, _path(axes, outline))
    path = _path(axes, [(x, mark.value) for x, mark in points])
    dots = [
        svg.dot(x, axes.y_of(mark.value), 3, number, mark.title, is_faint=mark.is_faint) for x, mark in points
    ]
    return join([band, svg.element('<path class="curve c{}" d="{}"/>', number, path), *dots])


def _path(axes: VerticalAxes, points: Sequence[tuple[float, float]]) -> str:
    corners = (f"{svg.coordinate(x)} {svg.coordinate(axes.y_of(value))}" for x, value in points)
    return "M" + "L".join(corners) if points else ""
