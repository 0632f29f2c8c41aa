"""Plots as SVG, drawn in the page's own colours (the classes are in css/lapidary.css, section 7).

A plot is drawn twice, for a wide and for a narrow place, and CSS shows one of them: text keeps its size on a telephone.
Every mark says its numbers in a <title>. docs/decisions/0008-plots.md says why no library draws them.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

WIDTHS: Final = {"wide": 640, "narrow": 320}  # in units of the drawing, of which a letter has about 7
HEIGHT: Final = 240
LETTER: Final = 7.0
CAPITAL: Final = 9.0
CHINESE: Final = 12.0
TOP, BOTTOM, RIGHT = 22.0, 40.0, 8.0
ROW: Final = 26.0  # of a horizontal bar, with the room around it
MOST_ROWS: Final = 25
EMPTY: Final = mark_safe("")


@dataclass(frozen=True, slots=True)
class Mark:
    """One bar: its value, what it says when pointed at, and the 95 % interval of the value, if there is one."""

    value: float
    title: str
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """From `bottom`, at most 0, to `top` in equal steps of a round number."""

    top: float
    step: float
    bottom: float = 0.0

    @property
    def ticks(self) -> list[float]:
        first, last = round(self.bottom / self.step), round(self.top / self.step)
        return [round(self.step * n, 9) for n in range(first, last + 1)]

    def share(self, value: float) -> float:
        """Where it lies between bottom (0) and top (1)."""
        return (value - self.bottom) / (self.top - self.bottom)

    def down_to(self, lowest: float) -> "Scale":
        return Scale(self.top, self.step, min(0.0, math.floor(lowest / self.step + 1e-9) * self.step))


def scale(highest: float, most: int = 5) -> Scale:
    """The least scale of at most `most` steps of 1, 2 or 5 times a power of ten that holds `highest`."""
    if highest <= 0:
        return Scale(1.0, 1.0)
    rough = highest / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    return Scale(step * math.ceil(highest / step - 1e-9), step)


def columns(
    labels: Sequence[str],
    marks: Sequence[Mark],
    *,
    x: str,
    y: str,
    description: str,
    expected: tuple[float, str] | None = None,
) -> SafeString:
    """Upright bars. x, y: names of the axes with their units. expected: a value drawn as a line, and its name."""
    highest = max([mark.interval[1] if mark.interval else mark.value for mark in marks] + [0.0])
    up = scale(max(highest, expected[0] if expected else 0.0))

    def draw(width: int) -> SafeString:
        frame = _Frame(width, up, y)
        places = frame.places(len(marks))
        bars = _join(_column(frame, place, mark) for place, mark in zip(places, marks, strict=True))
        line = frame.level(*expected) if expected else EMPTY
        return _join([frame.grid(), bars, line, frame.names(labels, places), frame.below(x)])

    return _both(draw, HEIGHT, description)


def lines(
    labels: Sequence[str], series: Sequence[Sequence[Mark | None]], *, x: str, y: str, description: str
) -> SafeString:
    """A line for each series, with its intervals as a band; None where a series has no value: the line breaks there."""
    up = _scale_of([mark for one in series for mark in one if mark])

    def draw(width: int) -> SafeString:
        frame = _Frame(width, up, y)
        places = frame.places(len(labels))
        middles = [left + thick / 2 for left, thick in places]
        curves = [_curve(frame, middles, one, number) for number, one in enumerate(series, start=1)]
        return _join([frame.grid(), *curves, frame.names(labels, places), frame.below(x)])

    return _both(draw, HEIGHT, description)


def rows(labels: Sequence[str], series: Sequence[Sequence[Mark]], *, x: str, description: str) -> SafeString:
    """Lying bars, those of all series below each other for every label; for names, of which MOST_ROWS are drawn."""
    shown = list(labels)[:MOST_ROWS]
    highest = max([mark.value for one in series for mark in one[:MOST_ROWS]] + [0.0])
    return _lying(shown, series, scale(highest), x, description, stacked=False)


def stacked_rows(
    labels: Sequence[str], series: Sequence[Sequence[Mark]], *, x: str, description: str
) -> SafeString:
    """Lying bars of parts of a whole: shares between 0 and 1."""
    return _lying(list(labels)[:MOST_ROWS], series, Scale(100.0, 25.0), x, description, stacked=True)


def estimates(labels: Sequence[str], *series: Sequence[Mark | None], x: str, description: str) -> SafeString:
    """A dot of each series with its interval for every label, also below 0; None where there is no value."""
    shown = list(labels)[:MOST_ROWS]
    drawn = list(zip(*(one[:MOST_ROWS] for one in series), strict=True))
    along = _scale_of([mark for marks in drawn for mark in marks if mark])
    height = round(ROW * max(1, len(shown)) + BOTTOM + 4)

    def draw(width: int) -> SafeString:
        frame = _LyingFrame(width, height, along, shown)
        dots = [
            frame.dots(n, label, marks) for n, (label, marks) in enumerate(zip(shown, drawn, strict=True))
        ]
        return _join([frame.grid(), *dots, frame.below(x)])

    return _both(draw, height, description)


def _scale_of(marks: Sequence[Mark]) -> Scale:
    lows = [mark.interval[0] if mark.interval else mark.value for mark in marks]
    highs = [mark.interval[1] if mark.interval else mark.value for mark in marks]
    highest, lowest = max([*highs, 0.0]), min([*lows, 0.0])
    step = scale(max(highest, -lowest)).step
    top = scale(highest).top if lowest == 0 else max(step, math.ceil(highest / step - 1e-9) * step)
    return (Scale(top, step) if lowest else scale(highest)).down_to(lowest)


def _lying(
    labels: Sequence[str],
    series: Sequence[Sequence[Mark]],
    along: Scale,
    x: str,
    description: str,
    *,
    stacked: bool,
) -> SafeString:
    height = round(ROW * max(1, len(labels)) + BOTTOM + 4)

    def draw(width: int) -> SafeString:
        frame = _LyingFrame(width, height, along, labels)
        bars = [
            frame.row(n, label, [one[n] for one in series], stacked=stacked) for n, label in enumerate(labels)
        ]
        return _join([frame.grid(), *bars, frame.below(x)])

    return _both(draw, height, description)


class _Frame:
    """The axes of upright bars."""

    def __init__(self, width: int, up: Scale, y: str) -> None:
        self.width, self.up, self.y = width, up, y
        self.left = 12 + LETTER * max(len(_number(tick)) for tick in up.ticks)
        self.floor = HEIGHT - BOTTOM

    def height_of(self, value: float) -> float:
        return self.up.share(value) * (self.floor - TOP)

    def places(self, count: int) -> list[tuple[float, float]]:
        """Left edge and width of every bar."""
        each = (self.width - self.left - RIGHT) / max(1, count)
        thick = min(each * 0.8, 44.0)
        return [(self.left + each * n + (each - thick) / 2, thick) for n in range(count)]

    def grid(self) -> SafeString:
        lines = [self._tick(tick) for tick in self.up.ticks]
        return _join([*lines, _text(0, 11, self.y, "start")])

    def _tick(self, value: float) -> SafeString:
        at = self.floor - self.height_of(value)
        line = _line(self.left, at, self.width - RIGHT, at, "grid-line" if value else "axis")
        return _join([line, _text(self.left - 6, at + 4, _number(value), "end")])

    def level(self, value: float, name: str) -> SafeString:
        at = self.floor - self.height_of(value)
        line = _line(self.left, at, self.width - RIGHT, at, "expected")
        return _join([line, _text(self.width - RIGHT, TOP - 11, name, "end")])

    def names(self, labels: Sequence[str], places: Sequence[tuple[float, float]]) -> SafeString:
        """Below the bars, every so many where they would touch."""
        widest = max([_width(label) for label in labels] + [1.0]) + 8
        each = (self.width - self.left - RIGHT) / max(1, len(labels))
        step = max(1, math.ceil(widest / each))
        return _join(
            _text(left + thick / 2, self.floor + 15, label, "middle")
            for n, (label, (left, thick)) in enumerate(zip(labels, places, strict=True))
            if n % step == 0
        )

    def below(self, name: str) -> SafeString:
        return _text((self.left + self.width - RIGHT) / 2, HEIGHT - 6, name, "middle")


class _LyingFrame:
    """The axes of lying bars, names at the left."""

    def __init__(self, width: int, height: int, along: Scale, labels: Sequence[str]) -> None:
        self.width, self.height, self.along = width, height, along
        self.left = min(max([_width(label) for label in labels] + [0.0]) + 8, width * 0.36)
        self.floor = height - BOTTOM

    def length_of(self, value: float) -> float:
        return self.along.share(value) * (self.width - self.left - RIGHT - 8)

    def grid(self) -> SafeString:
        return _join(self._tick(tick) for tick in self.along.ticks)

    def _tick(self, value: float) -> SafeString:
        at = self.left + self.length_of(value)
        line = _line(at, 0, at, self.floor, "grid-line" if value else "axis")
        return _join([line, _text(at, self.floor + 15, _number(value), "middle")])

    def row(self, n: int, label: str, marks: Sequence[Mark], *, stacked: bool) -> SafeString:
        top, thick = n * ROW + 4, ROW - 8
        name = _text(self.left - 6, top + thick / 2 + 4, _clipped(label, self.left - 8), "end", title=label)
        return _join([name, self._stack(top, thick, marks) if stacked else self._group(top, thick, marks)])

    def dots(self, n: int, label: str, marks: Sequence[Mark | None]) -> SafeString:
        """Below each other, within the height of a bar."""
        middle = n * ROW + ROW / 2
        name = _text(self.left - 6, middle + 4, _clipped(label, self.left - 8), "end", title=label)
        each = (ROW - 8) / len(marks)
        places = [middle + each * (number - (len(marks) - 1) / 2) for number in range(len(marks))]
        drawn = enumerate(zip(places, marks, strict=True), start=1)
        return _join([name, *(self._dot(at, number, mark) for number, (at, mark) in drawn if mark)])

    def _dot(self, at: float, number: int, mark: Mark) -> SafeString:
        place = self.left + self.length_of(mark.value)
        dot = format_html(
            '<circle class="mark c{}" cx="{}" cy="{}" r="4"><title>{}</title></circle>',
            number, _short(place), _short(at), mark.title,
        )  # fmt: skip
        if mark.interval is None:
            return dot
        low, high = (self.left + self.length_of(value) for value in mark.interval)
        ends = [_line(end, at - 4, end, at + 4, "interval") for end in (low, high)]
        return _join([_line(low, at, high, at, "interval"), *ends, dot])

    def _stack(self, top: float, thick: float, marks: Sequence[Mark]) -> SafeString:
        parts, at = [], self.left
        for number, mark in enumerate(marks, start=1):
            length = self.length_of(mark.value * 100)
            parts.append(_bar(at, top, length, thick, number, mark.title))
            at += length
        return _join(parts)

    def _group(self, top: float, thick: float, marks: Sequence[Mark]) -> SafeString:
        each = thick / max(1, len(marks))
        return _join(
            _bar(self.left, top + each * n, self.length_of(mark.value), each, n + 1, mark.title)
            for n, mark in enumerate(marks)
        )

    def below(self, name: str) -> SafeString:
        return _text((self.left + self.width - RIGHT) / 2, self.height - 6, name, "middle")


def _column(frame: _Frame, place: tuple[float, float], mark: Mark) -> SafeString:
    left, thick = place
    tall = frame.height_of(mark.value)
    bar = _bar(left, frame.floor - tall, thick, tall, 1, mark.title)
    if mark.interval is None:
        return bar
    low, high = (frame.floor - frame.height_of(value) for value in mark.interval)
    middle = left + thick / 2
    ends = [_line(middle - 4, at, middle + 4, at, "interval") for at in (low, high)]
    return _join([bar, _line(middle, low, middle, high, "interval"), *ends])


def _curve(frame: _Frame, middles: Sequence[float], marks: Sequence[Mark | None], number: int) -> SafeString:
    return _join(_stretch(frame, stretch, number) for stretch in _stretches(middles, marks))


def _stretches(middles: Sequence[float], marks: Sequence[Mark | None]) -> Iterable[list[tuple[float, Mark]]]:
    """What lies between two gaps."""
    pairs = zip(middles, marks, strict=True)
    for is_gap, group in groupby(pairs, key=lambda pair: pair[1] is None):
        if not is_gap:
            yield [(at, mark) for at, mark in group if mark]


def _stretch(frame: _Frame, points: Sequence[tuple[float, Mark]], number: int) -> SafeString:
    """Each point twice: a dot that says its numbers, and a corner of the line."""
    band = [(at, mark.interval) for at, mark in points if mark.interval]
    around = [(at, high) for at, (_low, high) in band] + [(at, low) for at, (low, _high) in reversed(band)]
    line = _path([(at, mark.value) for at, mark in points], frame)
    dots = _join(
        format_html(
            '<circle class="mark c{}" cx="{}" cy="{}" r="3"><title>{}</title></circle>',
            number, _short(at), _short(frame.floor - frame.height_of(mark.value)), mark.title,
        )
        for at, mark in points
    )  # fmt: skip
    shade = EMPTY
    if around:
        shade = format_html('<path class="band c{}" d="{}Z"/>', number, _path(around, frame))
    return _join([shade, format_html('<path class="curve c{}" d="{}"/>', number, line), dots])


def _path(points: Sequence[tuple[float, float]], frame: _Frame) -> str:
    corners = (f"{_short(at)} {_short(frame.floor - frame.height_of(value))}" for at, value in points)
    return "M" + "L".join(corners) if points else ""


# ---- SVG -------------------------------------------------------------------------------------------------------------


def _both(draw: Callable[[int], SafeString], height: int, description: str) -> SafeString:
    return _join(
        format_html(
            '<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>',
            name,
            width,
            height,
            description,
            draw(width),
        )
        for name, width in WIDTHS.items()
    )


def _join(parts: Iterable[SafeString]) -> SafeString:
    return format_html_join("", "{}", ((part,) for part in parts))


def _bar(left: float, top: float, width: float, height: float, series: int, title: str) -> SafeString:
    return format_html(
        '<rect class="mark c{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
        series,
        *(_short(value) for value in (left, top, width, height)),
        title,
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> SafeString:
    ends = (_short(value) for value in (x1, y1, x2, y2))
    return format_html('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>', kind, *ends)


def _text(x: float, y: float, words: str, anchor: str, title: str = "") -> SafeString:
    told = format_html("<title>{}</title>", title) if title and title != words else EMPTY
    return format_html(
        '<text x="{}" y="{}" text-anchor="{}">{}{}</text>', _short(x), _short(y), anchor, told, words
    )


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _number(value: float) -> str:
    """A tick's number: 0.5, 20, 20k."""
    return f"{value / 1000:g}k" if value >= 10_000 else f"{value:g}"


def _width(words: str) -> float:
    return sum(
        CHINESE if one >= "\u2e80" else CAPITAL if one.isupper() or one in "@%<>mw" else LETTER
        for one in words
    )


def _clipped(words: str, room: float) -> str:
    while words and _width(words) > room:
        words = words.rstrip("…")[:-1].rstrip() + "…"
        if words == "…":
            break
    return words
