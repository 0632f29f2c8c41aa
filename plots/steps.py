"""Step functions of a count, with a limit and an estimate marked. Both axes start at 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from plots import svg
from plots.axes import HEIGHT, RIGHT, TOP, Scale, VerticalAxes, fit_whole_scale, format_tick
from plots.svg import coordinate, dot, draw_both_widths, join, line, text, text_width

MOST_DOTS = 40  # more of them would touch each other


@dataclass(frozen=True, slots=True)
class Step:
    """The value at a count, and its tooltip."""

    count: int
    value: float
    title: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A vertical line at a count, and its name."""

    count: float
    name: str


@dataclass(frozen=True, slots=True)
class Found:
    """An estimated count with its interval, and its name."""

    count: float
    low: float
    high: float
    name: str


def draw_steps(
    steps: Sequence[Step], limit: Limit, found: Found | None, *, x: str, y: str, description: str
) -> Markup:
    """Values in percent of ascending counts. The axis holds the limit and the estimate."""
    highest = max([steps[-1].count, limit.count, *([found.high] if found else [])])
    across = fit_whole_scale(highest)

    def draw(width: int) -> Markup:
        axes = _StepAxes(width, across, y)
        return join(
            [
                axes.draw_grid(),
                axes.draw_ticks(),
                axes.draw_curve(steps),
                axes.draw_limit(limit),
                axes.draw_found(found)
                if found
                else svg.EMPTY,  # last: its words cover the lines that cross them
                axes.draw_name(x),
            ]
        )

    return draw_both_widths(draw, HEIGHT, description)


class _StepAxes(VerticalAxes):
    def __init__(self, width: int, across: Scale, y: str) -> None:
        super().__init__(width, Scale(100.0, 20.0), y)
        self.across = across

    def x_of(self, count: float) -> float:
        share = min(1.0, max(0.0, self.across.share(count)))
        return self.left + share * (self.width - self.left - RIGHT - 8)

    def draw_ticks(self) -> Markup:
        return join(
            text(self.x_of(tick), self.floor + 15, format_tick(tick), "middle") for tick in self.across.ticks
        )

    def draw_curve(self, steps: Sequence[Step]) -> Markup:
        """Each value holds from half a step before its count to half a step behind it."""
        edges = [(one.count + other.count) / 2 for one, other in pairwise(steps)]
        ends = zip(steps, [0.0, *edges], [*edges, self.across.top], strict=True)
        corners = [
            f"{coordinate(self.x_of(edge))} {coordinate(self.y_of(step.value))}"
            for step, start, end in ends
            for edge in (start, end)
        ]
        dots = steps if len(steps) <= MOST_DOTS else []
        return join(
            [
                svg.element('<path class="curve c1" d="{}"/>', "M" + "L".join(corners)),
                *(dot(self.x_of(step.count), self.y_of(step.value), 3, 1, step.title) for step in dots),
            ]
        )

    def draw_limit(self, limit: Limit) -> Markup:
        x = self.x_of(limit.count)
        return join([line(x, TOP, x, self.floor, "expected"), self._draw_words(x, TOP + 12, limit.name)])

    def draw_found(self, found: Found) -> Markup:
        x, low, high = (self.x_of(count) for count in (found.count, found.low, found.high))
        band = svg.element(
            '<rect class="band c2" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
            *(coordinate(value) for value in (low, TOP, max(2.0, high - low), self.floor - TOP)),
            found.name,
        )
        return join(
            [
                band,
                line(x, TOP, x, self.floor, "curve c2"),
                self._draw_words(x, TOP + 28, found.name),
            ]
        )

    def _draw_words(self, x: float, y: float, words: str) -> Markup:
        """Right of the line, or left of it if they would not fit."""
        fits = x + 5 + text_width(words) <= self.width
        written = text(x + 5, y, words, "start") if fits else text(x - 5, y, words, "end")
        return svg.element('<g class="over">{}</g>', written)
