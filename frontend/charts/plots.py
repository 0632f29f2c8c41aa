"""Plots as SVG in the colours of the page. docs/decisions/0008-plots.md says why no library draws them.

Each mark shows its numbers in a <title>. x, y: names of the axes with their units.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString

from frontend.charts import svg
from frontend.charts.axes import (
    HEIGHT,
    ROW,
    HorizontalAxes,
    Scale,
    VerticalAxes,
    fit_scale,
    fit_signed_scale,
    rows_height,
)
from frontend.charts.svg import draw_both_widths, join

MAX_ROWS: Final = 25
PERCENT: Final = Scale(100.0, 25.0)


@dataclass(frozen=True, slots=True)
class Mark:
    """A bar, dot or point: its value, its tooltip and, if known, the 95 % interval of the value."""

    value: float
    title: str
    interval: tuple[float, float] | None = None

    @property
    def low(self) -> float:
        return self.interval[0] if self.interval else self.value

    @property
    def high(self) -> float:
        return self.interval[1] if self.interval else self.value


def draw_columns(
    labels: Sequence[str],
    marks: Sequence[Mark],
    *,
    x: str,
    y: str,
    description: str,
    expected: tuple[float, str] | None = None,
) -> SafeString:
    """Vertical bars. expected: a value to draw as a horizontal line, and its name."""
    highest = max([mark.high for mark in marks] + [0.0])
    scale = fit_scale(max(highest, expected[0] if expected else 0.0))

    def draw(width: int) -> SafeString:
        axes = VerticalAxes(width, scale, y)
        slots = axes.slots(len(marks))
        bars = join(_draw_column(axes, slot, mark) for slot, mark in zip(slots, marks, strict=True))
        level = axes.draw_level(*expected) if expected else svg.EMPTY
        return join([axes.draw_grid(), bars, level, axes.draw_labels(labels, slots), axes.draw_name(x)])

    return draw_both_widths(draw, HEIGHT, description)


def draw_lines(
    labels: Sequence[str], series: Sequence[Sequence[Mark | None]], *, x: str, y: str, description: str
) -> SafeString:
    """A line for each series, with its intervals as a band. None leaves a gap."""
    scale = _fit_marks([mark for marks in series for mark in marks if mark])

    def draw(width: int) -> SafeString:
        axes = VerticalAxes(width, scale, y)
        slots = axes.slots(len(labels))
        middles = [left + thickness / 2 for left, thickness in slots]
        curves = [_draw_curve(axes, middles, marks, number) for number, marks in enumerate(series, start=1)]
        return join([axes.draw_grid(), *curves, axes.draw_labels(labels, slots), axes.draw_name(x)])

    return draw_both_widths(draw, HEIGHT, description)


def draw_rows(
    labels: Sequence[str], series: Sequence[Sequence[Mark]], *, x: str, description: str
) -> SafeString:
    """Horizontal bars, one below the other for each series. Draws the first MAX_ROWS labels."""
    shown = list(labels)[:MAX_ROWS]
    highest = max([mark.value for marks in series for mark in marks[:MAX_ROWS]] + [0.0])
    return _draw_horizontal_bars(shown, series, fit_scale(highest), x, description, stacked=False)


def draw_stacked_rows(
    labels: Sequence[str], series: Sequence[Sequence[Mark]], *, x: str, description: str
) -> SafeString:
    """Horizontal bars of parts of a whole. Values are shares between 0 and 1."""
    return _draw_horizontal_bars(list(labels)[:MAX_ROWS], series, PERCENT, x, description, stacked=True)


def draw_estimates(
    labels: Sequence[str], *series: Sequence[Mark | None], x: str, description: str
) -> SafeString:
    """A dot with its interval for each series and label; values may be negative. None draws nothing."""
    shown = list(labels)[:MAX_ROWS]
    rows = list(zip(*(marks[:MAX_ROWS] for marks in series), strict=True))
    scale = _fit_marks([mark for marks in rows for mark in marks if mark])

    def draw(width: int) -> SafeString:
        axes = HorizontalAxes(width, scale, shown)
        dots = [
            join([axes.draw_label(n, label), _draw_dots(axes, n, marks)])
            for n, (label, marks) in enumerate(zip(shown, rows, strict=True))
        ]
        return join([axes.draw_grid(), *dots, axes.draw_name(x)])

    return draw_both_widths(draw, rows_height(len(shown)), description)


def _fit_marks(marks: Sequence[Mark]) -> Scale:
    return fit_signed_scale(
        min([mark.low for mark in marks], default=0.0), max([mark.high for mark in marks], default=0.0)
    )


# ---- horizontal -----------------------------------------------------------------------------------------------------


def _draw_horizontal_bars(
    labels: Sequence[str],
    series: Sequence[Sequence[Mark]],
    scale: Scale,
    x: str,
    description: str,
    *,
    stacked: bool,
) -> SafeString:
    draw_row = _draw_stack if stacked else _draw_group

    def draw(width: int) -> SafeString:
        axes = HorizontalAxes(width, scale, labels)
        bars = [
            join([axes.draw_label(n, label), draw_row(axes, n, [marks[n] for marks in series])])
            for n, label in enumerate(labels)
        ]
        return join([axes.draw_grid(), *bars, axes.draw_name(x)])

    return draw_both_widths(draw, rows_height(len(labels)), description)


def _draw_stack(axes: HorizontalAxes, n: int, marks: Sequence[Mark]) -> SafeString:
    parts, x = [], axes.left
    for number, mark in enumerate(marks, start=1):
        length = axes.length_of(mark.value * 100)
        parts.append(svg.bar(x, n * ROW + 4, length, ROW - 8, number, mark.title))
        x += length
    return join(parts)


def _draw_group(axes: HorizontalAxes, n: int, marks: Sequence[Mark]) -> SafeString:
    top, each = n * ROW + 4, (ROW - 8) / max(1, len(marks))
    return join(
        svg.bar(axes.left, top + each * number, axes.length_of(mark.value), each, number + 1, mark.title)
        for number, mark in enumerate(marks)
    )


def _draw_dots(axes: HorizontalAxes, n: int, marks: Sequence[Mark | None]) -> SafeString:
    """The dots of a row, one below the other."""
    middle, each = n * ROW + ROW / 2, (ROW - 8) / len(marks)
    return join(
        _draw_estimate(axes, middle + each * (number - (len(marks) - 1) / 2), number + 1, mark)
        for number, mark in enumerate(marks)
        if mark
    )


def _draw_estimate(axes: HorizontalAxes, y: float, number: int, mark: Mark) -> SafeString:
    dot = svg.dot(axes.left + axes.length_of(mark.value), y, 4, number, mark.title)
    if mark.interval is None:
        return dot
    low, high = (axes.left + axes.length_of(value) for value in mark.interval)
    ends = [svg.line(end, y - 4, end, y + 4, "interval") for end in (low, high)]
    return join([svg.line(low, y, high, y, "interval"), *ends, dot])


# ---- vertical -------------------------------------------------------------------------------------------------------


def _draw_column(axes: VerticalAxes, slot: tuple[float, float], mark: Mark) -> SafeString:
    left, thickness = slot
    top = axes.y_of(mark.value)
    bar = svg.bar(left, top, thickness, axes.floor - top, 1, mark.title)
    if mark.interval is None:
        return bar
    low, high = (axes.y_of(value) for value in mark.interval)
    middle = left + thickness / 2
    ends = [svg.line(middle - 4, y, middle + 4, y, "interval") for y in (low, high)]
    return join([bar, svg.line(middle, low, middle, high, "interval"), *ends])


def _draw_curve(
    axes: VerticalAxes, middles: Sequence[float], marks: Sequence[Mark | None], number: int
) -> SafeString:
    return join(_draw_segment(axes, points, number) for points in _split_at_gaps(middles, marks))


def _split_at_gaps(
    middles: Sequence[float], marks: Sequence[Mark | None]
) -> Iterable[list[tuple[float, Mark]]]:
    pairs = zip(middles, marks, strict=True)
    for is_gap, group in groupby(pairs, key=lambda pair: pair[1] is None):
        if not is_gap:
            yield [(x, mark) for x, mark in group if mark]


def _draw_segment(axes: VerticalAxes, points: Sequence[tuple[float, Mark]], number: int) -> SafeString:
    """A band of intervals, the line, and a dot with the numbers of each point."""
    with_interval = [(x, mark) for x, mark in points if mark.interval]
    outline = [(x, mark.high) for x, mark in with_interval] + [
        (x, mark.low) for x, mark in reversed(with_interval)
    ]
    band = svg.EMPTY
    if outline:
        band = format_html('<path class="band c{}" d="{}Z"/>', number, _path(axes, outline))
    path = _path(axes, [(x, mark.value) for x, mark in points])
    dots = [svg.dot(x, axes.y_of(mark.value), 3, number, mark.title) for x, mark in points]
    return join([band, format_html('<path class="curve c{}" d="{}"/>', number, path), *dots])


def _path(axes: VerticalAxes, points: Sequence[tuple[float, float]]) -> str:
    corners = (f"{svg.coordinate(x)} {svg.coordinate(axes.y_of(value))}" for x, value in points)
    return "M" + "L".join(corners) if points else ""
