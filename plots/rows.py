"""Horizontal bars, and dots with their intervals, a row for each label. x: name of the axis with its unit."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from plots import svg
from plots.axes import ROW, HorizontalAxes, Scale, fit_values, rows_height
from plots.marks import Mark, fit_marks
from plots.svg import draw_both_widths, join

MAX_ROWS: Final = 30
PERCENT: Final = Scale(100.0, 25.0)


def draw_rows(labels: Sequence[str], series: Sequence[Sequence[Mark]], *, x: str, description: str) -> Markup:
    """Horizontal bars, one below the other for each series. Draws the first MAX_ROWS labels."""
    shown = list(labels)[:MAX_ROWS]
    scale = fit_values([mark.value for marks in series for mark in marks[:MAX_ROWS]])
    return _draw_horizontal_bars(shown, series, scale, x, description, stacked=False)


def draw_stacked_rows(
    labels: Sequence[str], series: Sequence[Sequence[Mark]], *, x: str, description: str
) -> Markup:
    """Horizontal bars of parts of a whole. Values are shares between 0 and 1."""
    return _draw_horizontal_bars(list(labels)[:MAX_ROWS], series, PERCENT, x, description, stacked=True)


def draw_estimates(labels: Sequence[str], *series: Sequence[Mark | None], x: str, description: str) -> Markup:
    """A dot with its interval for each series and label; values may be negative. None draws nothing."""
    shown = list(labels)[:MAX_ROWS]
    rows = list(zip(*(marks[:MAX_ROWS] for marks in series), strict=True))
    scale = fit_marks([mark for marks in rows for mark in marks if mark])

    def draw(width: int) -> Markup:
        axes = HorizontalAxes(width, scale, shown)
        dots = [join([axes.draw_label(n), _draw_dots(axes, n, marks)]) for n, marks in enumerate(rows)]
        return join([axes.draw_grid(), *dots, axes.draw_name(x)])

    return draw_both_widths(draw, rows_height(len(shown)), description)


def _draw_horizontal_bars(
    labels: Sequence[str],
    series: Sequence[Sequence[Mark]],
    scale: Scale,
    x: str,
    description: str,
    *,
    stacked: bool,
) -> Markup:
    draw_row = _draw_stack if stacked else _draw_group

    def draw(width: int) -> Markup:
        axes = HorizontalAxes(width, scale, labels)
        bars = [
            join([axes.draw_label(n), draw_row(axes, n, [marks[n] for marks in series])])
            for n in range(len(labels))
        ]
        return join([axes.draw_grid(), *bars, axes.draw_name(x)])

    return draw_both_widths(draw, rows_height(len(labels)), description)


def _draw_stack(axes: HorizontalAxes, n: int, marks: Sequence[Mark]) -> Markup:
    parts, x = [], axes.left
    for number, mark in enumerate(marks, start=1):
        length = axes.length_of(mark.value * 100)
        part = svg.bar(x, n * ROW + 4, length, ROW - 8, number, mark.title)
        parts.append(svg.element('<g class="pale">{}</g>', part) if mark.is_faint else part)
        x += length
    return join(parts)


def _draw_group(axes: HorizontalAxes, n: int, marks: Sequence[Mark]) -> Markup:
    top, each = n * ROW + 4, (ROW - 8) / max(1, len(marks))
    return join(
        svg.bar(
            axes.left,
            top + each * number,
            axes.length_of(mark.value),
            each,
            number + 1,
            mark.title,
            is_faint=mark.is_faint,
        )
        for number, mark in enumerate(marks)
    )


def _draw_dots(axes: HorizontalAxes, n: int, marks: Sequence[Mark | None]) -> Markup:
    """The dots of a row, one below the other."""
    middle, each = n * ROW + ROW / 2, (ROW - 8) / len(marks)
    return join(
        _draw_estimate(axes, middle + each * (number - (len(marks) - 1) / 2), number + 1, mark)
        for number, mark in enumerate(marks)
        if mark
    )


def _draw_estimate(axes: HorizontalAxes, y: float, number: int, mark: Mark) -> Markup:
    dot = svg.dot(axes.left + axes.length_of(mark.value), y, 4, number, mark.title, is_faint=mark.is_faint)
    if mark.interval is None:
        return dot
    low, high = (axes.left + axes.length_of(value) for value in mark.interval)
    ends = [svg.line(end, y - 4, end, y + 4, "interval") for end in (low, high)]
    return join([svg.line(low, y, high, y, "interval"), *ends, dot])
