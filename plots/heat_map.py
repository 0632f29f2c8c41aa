"""Heat maps: a square of cells, darker for more."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from plots.svg import (
    EMPTY,
    clip_labels,
    clip_text,
    coordinate,
    draw_both_widths,
    element,
    join,
    text,
    text_width,
)

CELL: Final = 26.0  # height
TOP, BOTTOM, RIGHT = 20.0, 22.0, 8.0  # margins
LABEL_SHARE: Final = 0.4  # of the width, at most


@dataclass(frozen=True, slots=True)
class Cell:
    """strength: 0 to 1, how dark it is. title: its tooltip. words: written in it; a cell with words stays lighter."""

    strength: float
    title: str
    words: str = ""

    @property
    def opacity(self) -> float:
        lightest, darkest = (0.04, 0.32) if self.words else (0.2, 1.0)  # words need a contrast of 4.5
        return lightest + (darkest - lightest) * min(1.0, max(0.0, self.strength))


def draw_heat_map(
    labels: Sequence[str], cells: Sequence[Sequence[Cell | None]], *, x: str, description: str
) -> Markup:
    """One row and one column for each label; columns have the numbers of the rows. None stays blank."""
    numbered = [f"{place} {label}" for place, label in enumerate(labels, start=1)]
    return _draw_square(numbered, [str(n + 1) for n in range(len(labels))], cells, x, description)


def draw_confusion(
    classes: Sequence[str], counts: Sequence[Sequence[int]], *, x: str, description: str
) -> Markup:
    """A cell for each pair of classes, darker with its share of the row. counts: by class of people and prediction."""
    cells = [
        [
            Cell(count / max(1, sum(row)), f"{name} → {predicted}: {count}", str(count))
            for predicted, count in zip(classes, row, strict=True)
        ]
        for name, row in zip(classes, counts, strict=True)
    ]
    return _draw_square(classes, classes, cells, x, description)


def _draw_square(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Cell | None]],
    x: str,
    description: str,
) -> Markup:
    height = round(TOP + CELL * max(1, len(rows)) + BOTTOM)

    def draw(width: int) -> Markup:
        left = min(max([text_width(label) for label in rows] + [0.0]) + 8, width * LABEL_SHARE)
        each = (width - left - RIGHT) / max(1, len(rows))
        head = [
            text(left + each * (n + 0.5), 14, clip_text(name, each), "middle", title=name)
            for n, name in enumerate(columns)
        ]
        names = [
            text(left - 6, TOP + CELL * (n + 0.5) + 4, clipped, "end", title=name)
            for n, (name, clipped) in enumerate(zip(rows, clip_labels(rows, left - 8), strict=True))
        ]
        body = [_draw_row(row, left=left, each=each, top=TOP + CELL * n) for n, row in enumerate(cells)]
        return join([*head, *names, *body, text((left + width - RIGHT) / 2, height - 6, x, "middle")])

    return draw_both_widths(draw, height, description)


def _draw_row(row: Sequence[Cell | None], *, left: float, each: float, top: float) -> Markup:
    return join(_draw_cell(cell, left + each * n, top, each) for n, cell in enumerate(row))


def _draw_cell(cell: Cell | None, x: float, y: float, width: float) -> Markup:
    if cell is None:
        return EMPTY
    square = element(
        '<rect class="mark c3" fill-opacity="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
        f"{cell.opacity:.2f}",
        *(coordinate(value) for value in (x + 1, y + 1, width - 2, CELL - 2)),
        cell.title,
    )
    fits = cell.words and text_width(cell.words) <= width
    return join([square, text(x + width / 2, y + CELL / 2 + 4, cell.words, "middle")]) if fits else square
