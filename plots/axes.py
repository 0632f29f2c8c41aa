"""Scales and axes of plots."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from plots.svg import LETTER, clip_labels, join, line, text, text_width

HEIGHT: Final = 240  # of plots with vertical bars or lines
TOP, BOTTOM, RIGHT = 22.0, 40.0, 8.0  # margins
ROW: Final = 26.0  # height of a horizontal bar with its margins
GAP: Final = 8.0  # between labels
SLACK: Final = 2.0  # a label may be a little wider than estimated
Label = tuple[str, tuple[float, float]]  # and the left edge and the width of its bar
LABEL_SHARE: Final = 0.36  # of the width, at most, for the labels of rows


@dataclass(frozen=True, slots=True)
class Scale:
    """From `bottom` to `top` in equal steps of a round number; both are multiples of it."""

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


def fit_whole_scale(highest: float) -> Scale:
    """As fit_scale, in steps of whole numbers: for counts."""
    scale = fit_scale(highest)
    return scale if scale.step >= 1 else Scale(max(1.0, math.ceil(highest)), 1.0)


def fit_values(values: Sequence[float]) -> Scale:
    """The scale for bars of these heights: in whole steps if all are whole numbers."""
    highest = max([*values, 0.0])
    are_counts = all(float(value).is_integer() for value in values)
    return fit_whole_scale(highest) if are_counts else fit_scale(highest)


def fit_signed_scale(lowest: float, highest: float) -> Scale:
    """A scale that holds both values and 0."""
    lowest, highest = min(lowest, 0.0), max(highest, 0.0)
    if lowest == 0:
        return fit_scale(highest)
    step = fit_scale(max(highest, -lowest)).step
    return Scale(max(step, math.ceil(highest / step - 1e-9) * step), step).down_to(lowest)


def fit_scale_around(values: Sequence[float], most_steps: int = 5) -> Scale:
    """A scale around the values, which need not hold 0: about `most_steps` steps. From 0 to 1 without values."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = fit_scale(high - low, most_steps).step
    return Scale(math.ceil(high / step - 1e-9) * step, step, math.floor(low / step + 1e-9) * step)


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

    def slots_by_logarithm(self, values: Sequence[float]) -> list[tuple[float, float]]:
        """As `slots`, where the logarithms of the values are, which are positive and ascend; all of one width."""
        first, last = math.log(values[0]), math.log(values[-1])
        width = min(44.0, (self.width - self.left - RIGHT) / 4)
        room = self.width - self.left - RIGHT - width
        shares = [(math.log(value) - first) / (last - first) if last > first else 0.5 for value in values]
        return [(self.left + share * room, width) for share in shares]

    def draw_grid(self) -> Markup:
        ticks = [self._draw_tick(tick) for tick in self.scale.ticks]
        return join([*ticks, text(0, 11, self.y, "start")])

    def _draw_tick(self, value: float) -> Markup:
        y = self.y_of(value)
        rule = line(self.left, y, self.width - RIGHT, y, "grid-line" if value else "axis")
        return join([rule, text(self.left - 6, y + 4, format_tick(value), "end")])

    def draw_level(self, value: float, name: str) -> Markup:
        """A horizontal line at an expected value."""
        y = self.y_of(value)
        rule = line(self.left, y, self.width - RIGHT, y, "expected")
        return join([rule, text(self.width - RIGHT, TOP - 11, name, "end")])

    def draw_labels(self, labels: Sequence[str], slots: Sequence[tuple[float, float]]) -> Markup:
        """Labels below the bars. Skips as many as needed so that they do not touch, but not the last."""
        places = list(zip(labels, slots, strict=True))
        for step in range(1, len(places) + 1):
            if self._are_apart(drawn := self._every(places, step)):
                return self._draw_labels(drawn)
        return self._draw_labels(places[-1:])

    def draw_uneven_labels(self, labels: Sequence[str], slots: Sequence[tuple[float, float]]) -> Markup:
        """Labels below points at different distances. Skips each that would touch the one before."""
        drawn: list[Label] = []
        for place in zip(labels, slots, strict=True):
            if self._are_apart([*drawn[-1:], place]):
                drawn.append(place)
        return self._draw_labels(drawn)

    def _draw_labels(self, labels: Sequence[Label]) -> Markup:
        return join(text(self._middle_of(place), self.floor + 15, place[0], "middle") for place in labels)

    def _every(self, places: Sequence[Label], step: int) -> list[Label]:
        """Every so many of the labels, and the last, if need be instead of the one before it."""
        drawn = list(places[::step])
        if (len(places) - 1) % step == 0:
            return drawn
        kept = drawn if self._are_apart([drawn[-1], places[-1]]) else drawn[:-1]
        return [*kept, places[-1]]

    def _are_apart(self, labels: Sequence[Label]) -> bool:
        return all(
            self._middle_of(other) - self._middle_of(one)
            >= (text_width(one[0]) + text_width(other[0])) / 2 + GAP
            for one, other in pairwise(labels)
        )

    def _middle_of(self, place: Label) -> float:
        """Below the middle of the bar, as far as the label stays inside the plot."""
        label, (left, width) = place
        return min(left + width / 2, self.width - text_width(label) / 2 - SLACK)

    def draw_name(self, name: str) -> Markup:
        return text((self.left + self.width - RIGHT) / 2, HEIGHT - 6, name, "middle")


class HorizontalAxes:
    """The axes of horizontal bars and dots, with labels on the left."""

    def __init__(self, width: int, scale: Scale, labels: Sequence[str]) -> None:
        self.width, self.scale, self.height = width, scale, rows_height(len(labels))
        self.left = min(max([text_width(label) for label in labels] + [0.0]) + 8, width * LABEL_SHARE)
        self.labels, self.clipped = labels, clip_labels(labels, self.left - 8)
        self.floor = self.height - BOTTOM

    def length_of(self, value: float) -> float:
        return self.scale.share(value) * (self.width - self.left - RIGHT - 8)

    def draw_grid(self) -> Markup:
        """A line at every tick, with its number where it does not touch another; 0 always has one."""
        ticks = self.scale.ticks
        each = self.length_of(ticks[0] + self.scale.step) - self.length_of(ticks[0])
        widest = max(text_width(format_tick(tick)) for tick in ticks)
        stride = math.ceil((widest + GAP) / each)
        return join(
            self._draw_tick(tick, is_named=round(tick / self.scale.step) % stride == 0) for tick in ticks
        )

    def _draw_tick(self, value: float, *, is_named: bool) -> Markup:
        x = self.left + self.length_of(value)
        rule = line(x, 0, x, self.floor, "grid-line" if value else "axis")
        return join([rule, text(x, self.floor + 15, format_tick(value), "middle")]) if is_named else rule

    def draw_label(self, n: int) -> Markup:
        """n: the number of the row, from 0."""
        return text(self.left - 6, n * ROW + ROW / 2 + 4, self.clipped[n], "end", title=self.labels[n])

    def draw_name(self, name: str) -> Markup:
        return text((self.left + self.width - RIGHT) / 2, self.height - 6, name, "middle")


def rows_height(count: int) -> int:
    """The height of a plot with horizontal bars."""
    return round(ROW * max(1, count) + BOTTOM + 4)


def format_tick(value: float) -> str:
    """The number at a tick: 0.5, 2,000, 20k."""
    return f"{value / 1000:g}k" if value >= 10_000 else f"{value:,g}"
