"""Step functions of a count, with a limit and an estimate marked. Both axes start at 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from plots import svg
from plots.axes import HEIGHT, RIGHT, TOP, Scale, VerticalAxes, fit_whole_scale, format_tick
from plots.svg import coordinate, dot, draw_both_widths, join, line, text, text_width

MOST_DOTS = 40  # more of them would touch each other
ROW = 16.0  # height of a row of words


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
        axes = _StepAxes(width, across, y, steps)
        return join(
            [
                axes.draw_grid(),
                axes.draw_ticks(),
                axes.draw_curve(),
                axes.draw_limit(limit),
                axes.draw_found(found) if found else svg.EMPTY,
                # Last: words cover what crosses them.
                *(axes.draw_words(mark.count, mark.name) for mark in (limit, found) if mark),
                axes.draw_name(x),
            ]
        )

    return draw_both_widths(draw, HEIGHT, description)


class _StepAxes(VerticalAxes):
    def __init__(self, width: int, across: Scale, y: str, steps: Sequence[Step]) -> None:
        super().__init__(width, Scale(100.0, 20.0), y)
        self.across, self.steps = across, steps
        rows = int((self.floor - TOP - 4) / ROW)
        self.free_rows = [TOP + 12 + ROW * row for row in range(rows)]  # baselines without words yet

    def x_of(self, count: float) -> float:
        share = min(1.0, max(0.0, self.across.share(count)))
        return self.left + share * (self.width - self.left - RIGHT - 8)

    def draw_ticks(self) -> Markup:
        return join(
            text(self.x_of(tick), self.floor + 15, format_tick(tick), "middle") for tick in self.across.ticks
        )

    def draw_curve(self) -> Markup:
        corners = [
            f"{coordinate(x)} {coordinate(y)}" for start, end, y in self._flat_pieces() for x in (start, end)
        ]
        dots = self.steps if len(self.steps) <= MOST_DOTS else []
        return join(
            [
                svg.element('<path class="curve c1" d="{}"/>', "M" + "L".join(corners)),
                *(dot(self.x_of(step.count), self.y_of(step.value), 3, 1, step.title) for step in dots),
            ]
        )

    def _flat_pieces(self) -> list[tuple[float, float, float]]:
        """Left end, right end and height of each flat piece of the curve, in user units.

        Each value holds from half a step before its count to half a step behind it.
        """
        edges = [(one.count + other.count) / 2 for one, other in pairwise(self.steps)]
        ends = zip(self.steps, [0.0, *edges], [*edges, self.across.top], strict=True)
        return [(self.x_of(start), self.x_of(end), self.y_of(step.value)) for step, start, end in ends]

    def draw_limit(self, limit: Limit) -> Markup:
        x = self.x_of(limit.count)
        return line(x, TOP, x, self.floor, "expected")

    def draw_found(self, found: Found) -> Markup:
        x, low, high = (self.x_of(count) for count in (found.count, found.low, found.high))
        band = svg.element(
            '<rect class="band c2" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
            *(coordinate(value) for value in (low, TOP, max(2.0, high - low), self.floor - TOP)),
            found.name,
        )
        return join([band, line(x, TOP, x, self.floor, "curve c2")])

    def draw_words(self, count: float, words: str) -> Markup:
        """Right of the line at `count`, or left of it if they would not fit; in the first row without the curve."""
        x = self.x_of(count)
        width = text_width(words)
        fits = x + 5 + width <= self.width
        start = x + 5 if fits else x - 5 - width
        free = [y for y in self.free_rows if not self._is_crossed(start, start + width, y)]
        y = (free or self.free_rows)[0]
        self.free_rows.remove(y)
        written = text(x + 5, y, words, "start") if fits else text(x - 5, y, words, "end")
        return svg.element('<g class="over">{}</g>', written)

    def _is_crossed(self, left: float, right: float, baseline: float) -> bool:
        """Whether the curve runs through words with this baseline, or through the space that dots beside it take."""
        heights = [y for start, end, y in self._flat_pieces() if start < right and left < end]
        # Between two flat pieces the curve runs straight up or down.
        return min(heights) - 3 < baseline + 4 and baseline - 12 < max(heights) + 3
