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
SAMPLE = 20.0  # width of a sample of a line with its margin


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
                axes.draw_words(limit, "expected", *([found] if found else [])),
                axes.draw_words(found, "curve c2", limit) if found else svg.EMPTY,
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

    def draw_words(self, mark: Limit | Found, kind: str, *others: Limit | Found) -> Markup:
        """Beside its line, where neither the curve nor the lines of others cross the words.

        Words without such a place beside it stand behind the last line, after a sample of their own. kind: of the line.
        """
        width, lines = text_width(mark.name), [self.x_of(other.count) for other in others]
        own = self.x_of(mark.count)
        beside = [own + 5, own - 5 - width]
        behind = max([own, *lines]) + 5 + SAMPLE
        places = [
            (start, y)
            for start in (*beside, behind)
            for y in self.free_rows
            if self._is_free(start, start + width, y, lines)
        ]
        start, y = places[0] if places else (max(0.0, min(beside[0], self.width - width)), self.free_rows[0])
        self.free_rows.remove(y)
        sample = line(start - SAMPLE, y - 4, start - 5, y - 4, kind) if start == behind else svg.EMPTY
        return svg.element('<g class="over">{}{}</g>', text(start, y, mark.name, "start"), sample)

    def _is_free(self, start: float, end: float, baseline: float, lines: Sequence[float]) -> bool:
        """Whether words fit here that neither the curve nor lines cross."""
        fits = start >= self.left and end <= self.width
        return (
            fits
            and not any(start - 3 < x < end + 3 for x in lines)
            and not self._is_crossed(start, end, baseline)
        )

    def _is_crossed(self, left: float, right: float, baseline: float) -> bool:
        """Whether the curve runs through words with this baseline, or through the space that dots beside it take."""
        heights = [y for start, end, y in self._flat_pieces() if start < right and left < end]
        # Between two flat pieces the curve runs straight up or down.
        return min(heights) - 3 < baseline + 4 and baseline - 12 < max(heights) + 3
