"""Heat maps: a square of cells, darker for more."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString

from frontend.charts.svg import EMPTY, clip_text, coordinate, draw_both_widths, join, text, text_width

CELL: Final = 26.0  # height
TOP, BOTTOM, RIGHT = 20.0, 22.0, 8.0  # margins
LABEL_SHARE: Final = 0.4  # of the width, at most


@dataclass(frozen=True, slots=True)
class Cell:
    """strength: 0 to 1, how dark it is. title: its tooltip."""

    strength: float
    title: str


def draw_heat_map(
    labels: Sequence[str], cells: Sequence[Sequence[Cell | None]], *, x: str, description: str
) -> SafeString:
    """One row and one column for each label; columns have the numbers of the rows. None stays blank."""
    numbered = [f"{place} {label}" for place, label in enumerate(labels, start=1)]
    height = round(TOP + CELL * max(1, len(labels)) + BOTTOM)

    def draw(width: int) -> SafeString:
        left = min(max([text_width(label) for label in numbered] + [0.0]) + 8, width * LABEL_SHARE)
        each = (width - left - RIGHT) / max(1, len(labels))
        head = [text(left + each * (n + 0.5), 14, str(n + 1), "middle") for n in range(len(labels))]
        rows = [
            _draw_row(row, left=left, each=each, top=TOP + CELL * n, label=numbered[n])
            for n, row in enumerate(cells)
        ]
        return join([*head, *rows, text((left + width - RIGHT) / 2, height - 6, x, "middle")])

    return draw_both_widths(draw, height, description)


def _draw_row(row: Sequence[Cell | None], *, left: float, each: float, top: float, label: str) -> SafeString:
    name = text(left - 6, top + CELL / 2 + 4, clip_text(label, left - 8), "end", title=label)
    return join([name, *(_draw_cell(cell, left + each * n, top, each) for n, cell in enumerate(row))])


def _draw_cell(cell: Cell | None, x: float, y: float, width: float) -> SafeString:
    if cell is None:
        return EMPTY
    return format_html(
        '<rect class="mark c3" fill-opacity="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
        f"{0.2 + 0.8 * min(1.0, max(0.0, cell.strength)):.2f}",
        *(coordinate(value) for value in (x + 1, y + 1, width - 2, CELL - 2)),
        cell.title,
    )
