"""Scales and axes of plots."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.safestring import SafeString

from frontend.charts.svg import LETTER, clip_text, join, line, text, text_width

HEIGHT: Final = 240  # of plots with vertical bars or lines
TOP, BOTTOM, RIGHT = 22.0, 40.0, 8.0  # margins
ROW: Final = 26.0  # height of a horizontal bar with its margins
LABEL_SHARE: Final = 0.36  # of the width, at most, for the labels of rows


@dataclass(frozen=True, slots=True)
class Scale:
    """From `bottom`, which is at most 0, to `top` in equal steps of a round number."""

    top: float
    step: float
    bottom: float = 0.0

    @property
    def ticks(self) -> list[float]:
        first, last = round(self.bottom / self.step), round(self.top / self.step)
        return [round(self.step * n, 9) for n in range(first, last + 1)]

    def share(self, value: float) -> float:
        """The position of a value between bottom (0) and top (1)."""
        return (value - self.bottom) / (self.top - self.bottom)

    def down_to(self, lowest: float) -> "Scale":
        return Scale(self.top, self.step, min(0.0, math.floor(lowest / self.step + 1e-9) * self.step))


def fit_scale(highest: float, most_steps: int = 5) -> Scale:
    """The smallest scale from 0 that holds `highest` in steps of 1, 2 or 5 times a power of ten."""
    if highest <= 0:
        return Scale(1.0, 1.0)
    rough = highest / most_steps
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    return Scale(step * math.ceil(highest / step - 1e-9), step)


def fit_signed_scale(lowest: float, highest: float) -> Scale:
    """A scale that holds both values and 0."""
    lowest, highest = min(lowest, 0.0), max(highest, 0.0)
    if lowest == 0:
        return fit_scale(highest)
    step = fit_scale(max(highest, -lowest)).step
    return Scale(max(step, math.ceil(highest / step - 1e-9) * step), step).down_to(lowest)


class VerticalAxes:
    """The axes of vertical bars and of lines."""

    def __init__(self, width: int, scale: Scale, y: str) -> None:
        self.width, self.scale, self.y = width, scale, y
        self.left = 12 + LETTER * max(len(format_tick(tick)) for tick in scale.ticks)
        self.floor = HEIGHT - BOTTOM

    def y_of(self, value: float) -> float:
        return self.floor - self.scale.share(value) * (self.floor - TOP)

    def slots(self, count: int) -> list[tuple[float, float]]:
        """The left edge and the width of each bar."""
        each = (self.width - self.left - RIGHT) / max(1, count)
        width = min(each * 0.8, 44.0)
        return [(self.left + each * n + (each - width) / 2, width) for n in range(count)]

    def draw_grid(self) -> SafeString:
        ticks = [self._draw_tick(tick) for tick in self.scale.ticks]
        return join([*ticks, text(0, 11, self.y, "start")])

    def _draw_tick(self, value: float) -> SafeString:
        y = self.y_of(value)
        rule = line(self.left, y, self.width - RIGHT, y, "grid-line" if value else "axis")
        return join([rule, text(self.left - 6, y + 4, format_tick(value), "end")])

    def draw_level(self, value: float, name: str) -> SafeString:
        """A horizontal line at an expected value."""
        y = self.y_of(value)
        rule = line(self.left, y, self.width - RIGHT, y, "expected")
        return join([rule, text(self.width - RIGHT, TOP - 11, name, "end")])

    def draw_labels(self, labels: Sequence[str], slots: Sequence[tuple[float, float]]) -> SafeString:
        """Labels below the bars. Skips as many as needed so that they do not touch."""
        widest = max([text_width(label) for label in labels] + [1.0]) + 8
        each = (self.width - self.left - RIGHT) / max(1, len(labels))
        step = max(1, math.ceil(widest / each))
        return join(
            text(left + width / 2, self.floor + 15, label, "middle")
            for n, (label, (left, width)) in enumerate(zip(labels, slots, strict=True))
            if n % step == 0
        )

    def draw_name(self, name: str) -> SafeString:
        return text((self.left + self.width - RIGHT) / 2, HEIGHT - 6, name, "middle")


class HorizontalAxes:
    """The axes of horizontal bars and dots, with labels on the left."""

    def __init__(self, width: int, scale: Scale, labels: Sequence[str]) -> None:
        self.width, self.scale, self.height = width, scale, rows_height(len(labels))
        self.left = min(max([text_width(label) for label in labels] + [0.0]) + 8, width * LABEL_SHARE)
        self.floor = self.height - BOTTOM

    def length_of(self, value: float) -> float:
        return self.scale.share(value) * (self.width - self.left - RIGHT - 8)

    def draw_grid(self) -> SafeString:
        return join(self._draw_tick(tick) for tick in self.scale.ticks)

    def _draw_tick(self, value: float) -> SafeString:
        x = self.left + self.length_of(value)
        rule = line(x, 0, x, self.floor, "grid-line" if value else "axis")
        return join([rule, text(x, self.floor + 15, format_tick(value), "middle")])

    def draw_label(self, n: int, label: str) -> SafeString:
        """n: the number of the row, from 0."""
        return text(self.left - 6, n * ROW + ROW / 2 + 4, clip_text(label, self.left - 8), "end", title=label)

    def draw_name(self, name: str) -> SafeString:
        return text((self.left + self.width - RIGHT) / 2, self.height - 6, name, "middle")


def rows_height(count: int) -> int:
    """The height of a plot with horizontal bars."""
    return round(ROW * max(1, count) + BOTTOM + 4)


def format_tick(value: float) -> str:
    """The number at a tick: 0.5, 20, 20k."""
    return f"{value / 1000:g}k" if value >= 10_000 else f"{value:g}"
