"""Vertical bars. x, y: names of the axes with their units."""

from collections.abc import Sequence

from markupsafe import Markup

from plots import svg
from plots.axes import HEIGHT, VerticalAxes, fit_values
from plots.marks import Mark
from plots.svg import draw_both_widths, join


def draw_columns(
    labels: Sequence[str],
    marks: Sequence[Mark],
    *,
    x: str,
    y: str,
    description: str,
    expected: tuple[float, str] | None = None,
) -> Markup:
    """Vertical bars. expected: a value to draw as a horizontal line, and its name."""
    scale = fit_values([*(mark.high for mark in marks), *(expected[:1] if expected else ())])

    def draw(width: int) -> Markup:
        axes = VerticalAxes(width, scale, y)
        slots = axes.slots(len(marks))
        bars = join(_draw_column(axes, slot, mark) for slot, mark in zip(slots, marks, strict=True))
        level = axes.draw_level(*expected) if expected else svg.EMPTY
        return join([axes.draw_grid(), bars, level, axes.draw_labels(labels, slots), axes.draw_name(x)])

    return draw_both_widths(draw, HEIGHT, description)


def _draw_column(axes: VerticalAxes, slot: tuple[float, float], mark: Mark) -> Markup:
    left, thickness = slot
    top = axes.y_of(mark.value)
    bar = svg.bar(left, top, thickness, axes.floor - top, 1, mark.title, is_faint=mark.is_faint)
    if mark.interval is None:
        return bar
    low, high = (axes.y_of(value) for value in mark.interval)
    middle = left + thickness / 2
    ends = [svg.line(middle - 4, y, middle + 4, y, "interval") for y in (low, high)]
    return join([bar, svg.line(middle, low, middle, high, "interval"), *ends])
