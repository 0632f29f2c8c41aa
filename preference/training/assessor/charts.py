"""Plots of the report as SVG text. Lengths are user units; shares are between 0 and 1.

Written here instead of drawn by a plotting library: a report is then one file without images, in the reader's colours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 60, 16, 16, 64  # margins around the plotting area
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
COLOURS = 4  # classes s0 … s3 of the style sheet


@dataclass(frozen=True, slots=True)
class Point:
    """low, high: ends of the vertical line through the point; None for none. title: the tooltip."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from `least` to `most` on a line from `start` to `end`. logarithmic: needs least > 0."""

    least: float
    most: float
    start: float
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Where a value is on the line; in the middle if the scale has no extent."""
        low, high, at = (math.log(v) if self.logarithmic else v for v in (self.least, self.most, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)


def vertical_shares() -> Axis:
    """From 0 at the bottom of the plotting area to 1 at its top."""
    return Axis(0.0, 1.0, HEIGHT - BOTTOM, TOP)


def svg(parts: Iterable[str], description: str, *, height: float = HEIGHT) -> str:
    """A whole plot. description: for who cannot see it."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(description)}">'
        + "".join(parts)
        + "</svg>"
    )


def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def rectangle(x: float, y: float, width: float, height: float, kind: str, title: str, style: str = "") -> str:
    styled = f' style="{style}"' if style else ""
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{styled}>'
        f"<title>{escape(title)}</title></rect>"
    )


def share_axis(label: str) -> list[str]:
    """The vertical axis of a plot of shares, with lines across."""
    axis = vertical_shares()
    parts = []
    for share in SHARES:
        y = axis.place(share)
        parts += [line(LEFT, y, WIDTH - RIGHT, y, "grid"), text(LEFT - 8, y + 4, f"{share:.1f}", "end")]
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'<g transform="rotate(-90 14 {middle:.1f})">{text(14, middle, label)}</g>'
    return [*parts, turned]


def confusion_plot(classes: Sequence[object], rows: Sequence[Sequence[int]], labels: tuple[str, str]) -> str:
    """A cell for each pair of classes, darker with its share of the row. labels: of rows and columns."""
    size = max(14.0, min(60.0, (WIDTH - 160) / len(classes)))
    left, top = 130.0, 44.0
    parts = [text(left + size * len(classes) / 2, 14, labels[1]), text(left - 8, 34, labels[0], "end")]
    for place, name in enumerate(classes):
        parts += [
            text(left + size * (place + 0.5), 34, _short(name, size)),
            text(left - 8, top + size * (place + 0.5) + 4, str(name), "end"),
        ]
    for i, row in enumerate(rows):
        for j, count in enumerate(row):
            share = count / sum(row) if sum(row) else 0.0
            x, y = left + size * j, top + size * i
            title = f"{classes[i]} → {classes[j]}: {count}"
            parts.append(rectangle(x, y, size - 1, size - 1, "cell", title, f"--share:{share:.3f}"))
            if size >= 30:
                parts.append(text(x + size / 2, y + size / 2 + 4, str(count)))
    return svg(parts, ", ".join(labels), height=top + size * len(classes) + 8)


def _short(name: object, width: float) -> str:
    letters = max(1, int(width / 8))
    return str(name) if len(str(name)) <= letters else str(name)[: max(1, letters - 1)] + "…"


def reliability_plot(bins: Sequence[Mapping[str, float | None]], labels: tuple[str, str]) -> str:
    """Accuracy over confidence, a bar for each bin with items; the diagonal is perfect. labels: of both axes."""
    across, up = Axis(0.0, 1.0, LEFT, WIDTH - RIGHT), vertical_shares()
    parts = share_axis(labels[1])
    parts += [text(across.place(share), HEIGHT - BOTTOM + 18, f"{share:.1f}") for share in SHARES]
    for one in bins:
        low, high, accuracy = one["low"], one["high"], one["accuracy"]
        if low is None or high is None or accuracy is None:
            continue
        x, y = across.place(low), up.place(accuracy)
        title = f"{low:.2f}-{high:.2f}: {accuracy:.3f} (n = {one['n']})"
        parts.append(rectangle(x + 1, y, across.place(high) - x - 2, up.place(0.0) - y, "mark s0", title))
    parts.append(line(across.place(0), up.place(0), across.place(1), up.place(1), "ideal"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 40, labels[0]))
    return svg(parts, ", ".join(labels))


def bar_plot(groups: Sequence[object], series: Mapping[str, Sequence[float]], labels: tuple[str, str]) -> str:
    """Bars of shares side by side: a group for each class, a colour for each series. labels: of both axes."""
    across, up = Axis(0.0, max(1, len(groups)), LEFT, WIDTH - RIGHT), vertical_shares()
    parts = share_axis(labels[1])
    width = (across.place(1) - across.place(0)) * 0.8 / max(1, len(series))
    for place, group in enumerate(groups):
        start = across.place(place + 0.1)
        for number, (name, values) in enumerate(series.items()):
            if place < len(values):
                y = up.place(values[place])
                title = f"{name}, {group}: {values[place]:.3f}"
                parts.append(
                    rectangle(
                        start + number * width,
                        y,
                        width - 1,
                        up.place(0) - y,
                        f"mark s{number % COLOURS}",
                        title,
                    )
                )
        parts.append(text(across.place(place + 0.5), HEIGHT - BOTTOM + 18, str(group)))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 36, labels[0]))
    return svg([*parts, *legend(series)], ", ".join(labels))


def line_plot(
    series: Mapping[str, Sequence[Point]], labels: tuple[str, str], *, logarithmic: bool = True
) -> str:
    """Lines of shares over a number, by default on a logarithmic axis. labels: of both axes."""
    values = [point.x for points in series.values() for point in points]
    if not values:
        return ""
    across = Axis(min(values), max(values), LEFT + 20, WIDTH - RIGHT - 20, logarithmic)
    parts = share_axis(labels[1])
    for tick in ticks(across):
        x = across.place(tick)
        parts += [
            line(x, TOP, x, HEIGHT - BOTTOM, "grid"),
            text(x, HEIGHT - BOTTOM + 18, short_number(tick)),
        ]
    for number, points in enumerate(series.values()):
        parts += _line_of_points(points, across, f"s{number % COLOURS}")
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 36, labels[0]))
    return svg([*parts, *legend(series)], ", ".join(labels))


def _line_of_points(points: Sequence[Point], across: Axis, kind: str) -> list[str]:
    up = vertical_shares()
    places = [(across.place(point.x), up.place(point.y)) for point in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f'<polyline class="curve {kind}" points="{path}"/>']
    for point, (x, y) in zip(points, places, strict=True):
        if point.low is not None and point.high is not None:
            parts.append(line(x, up.place(point.low), x, up.place(point.high), f"range {kind}"))
        parts.append(
            f'<circle class="mark {kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(point.title)}</title></circle>'
        )
    return parts


def ticks(axis: Axis) -> list[float]:
    """1, 2 and 5 times powers of ten within the axis; its ends if these are fewer than two."""
    if axis.least <= 0:
        return [axis.least, axis.most]
    powers = range(math.floor(math.log10(axis.least)), math.ceil(math.log10(axis.most)) + 1)
    round_numbers = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    inside = [number for number in round_numbers if axis.least <= number <= axis.most]
    return inside if len(inside) >= 2 else sorted({axis.least, axis.most})


def short_number(value: float) -> str:
    """1500000 as 1.5 M."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:g}"


def legend(names: Iterable[str]) -> list[str]:
    """A coloured square and a name for each series, below the plot."""
    parts, x = [], float(LEFT)
    for number, name in enumerate(names):
        parts += [
            rectangle(x, HEIGHT - 18, 10, 10, f"mark s{number % COLOURS}", name),
            text(x + 14, HEIGHT - 9, name, "start"),
        ]
        x += 30 + sum(14 if letter >= "\u2e80" else 8 for letter in name)
    return parts
