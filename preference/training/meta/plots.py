"""Scatter plots as SVG: people's scores across, an evaluator's upwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 440, 330  # user units
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 14, 46
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:currentColor}line{stroke:currentColor;stroke-opacity:.2}"
    "circle{fill:#2f6fb0;fill-opacity:.45}"
)


@dataclass(frozen=True, slots=True)
class Point:
    """x: people's score. y: the evaluator's. title: shown when the mouse rests on it."""

    x: float
    y: float
    title: str


@dataclass(frozen=True, slots=True)
class Axis:
    """Ticks of a round step around all values."""

    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """The position of a value between the first tick, 0, and the last, 1."""
        return (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])


def scatter_svg(points: Sequence[Point], *, x: str, y: str, description: str) -> str:
    """A document of its own that can also stand inside HTML. x, y: names of the axes."""
    across, upwards = fit_axis([point.x for point in points]), fit_axis([point.y for point in points])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(description)}"><style>{STYLE}</style>',
        *(_horizontal_grid(upwards, tick) for tick in upwards.ticks),
        *(_vertical_grid(across, tick) for tick in across.ticks),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x)}</text>',
        f'<text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle">{escape(y)}</text>',
        *(_circle(across, upwards, point) for point in points),
        "</svg>",
    ]
    return "".join(parts)


def fit_axis(values: Sequence[float], steps: int = 5) -> Axis:
    """About `steps` steps of 1, 2 or 5 times a power of ten; from 0 to 1 without values."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / steps
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Axis(tuple(step * number for number in range(first, last + 1)))


def _x(axis: Axis, value: float) -> float:
    return LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - TOP - BOTTOM)


def _horizontal_grid(axis: Axis, tick: float) -> str:
    y = _y(axis, tick)
    line = f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return f'{line}<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:.4g}</text>'


def _vertical_grid(axis: Axis, tick: float) -> str:
    x = _x(axis, tick)
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
    return f'{line}<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{tick:.4g}</text>'


def _circle(across: Axis, upwards: Axis, point: Point) -> str:
    x, y = _x(across, point.x), _y(upwards, point.y)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(point.title)}</title></circle>'
