"""Reliability diagrams: how often predictions of some confidence are right (Guo et al., 2017, figure 1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from plots.axes import HEIGHT, RIGHT, Scale, VerticalAxes, format_tick
from plots.svg import bar, draw_both_widths, join, line, text

SHARES = Scale(1.0, 0.2)


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions with a confidence between low and high: the share of them that is right. title: the tooltip."""

    low: float
    high: float
    accuracy: float
    title: str


def draw_reliability(bins: Sequence[Bin], *, x: str, y: str, description: str) -> Markup:
    """A bar for each bin. A calibrated model's bars end at the dashed diagonal."""

    def draw(width: int) -> Markup:
        axes = VerticalAxes(width, SHARES, y)
        ticks = [
            text(_x_of(axes, tick), axes.floor + 15, format_tick(tick), "middle") for tick in SHARES.ticks
        ]
        diagonal = line(_x_of(axes, 0), axes.y_of(0), _x_of(axes, 1), axes.y_of(1), "expected")
        return join(
            [axes.draw_grid(), *ticks, *(_draw_bin(axes, each) for each in bins), diagonal, axes.draw_name(x)]
        )

    return draw_both_widths(draw, HEIGHT, description)


def _draw_bin(axes: VerticalAxes, each: Bin) -> Markup:
    left, top = _x_of(axes, each.low) + 1, axes.y_of(each.accuracy)
    return bar(left, top, _x_of(axes, each.high) - left - 1, axes.floor - top, 1, each.title)


def _x_of(axes: VerticalAxes, share: float) -> float:
    return axes.left + SHARES.share(share) * (axes.width - axes.left - RIGHT - 8)
