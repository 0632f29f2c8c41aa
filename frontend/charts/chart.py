"""A chart: a question with its numbers as a table and, if a picture says more, a plot."""

import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from django.utils.formats import number_format
from django.utils.translation import gettext as _

Cell = str | int | float | None
LEAST_PERCENT: Final = 10.0  # that an axis of percentages reaches
TOO_FEW: Final = 5  # items that a number rests on; with fewer it says little
# "12", "0.62 (0.51 to 0.74)", "1.5e-05"
FIGURE: Final = re.compile(r"[-−<≤≥]?\s?\d[\d,.]*(e[-+]?\d+)?( ?%)?( ?\(.*\))?")


@dataclass(frozen=True, slots=True)
class Chart:
    """name: in URLs. note: what the numbers rest on, with n. head, rows: the table. svg: empty without a plot.

    links: where the first cell of each row leads on a page; empty without links. decimals: of every number on a page;
    None: as many as the numbers of the column have. faint: the rows that rest on too little. has_units_by_row: the
    numbers of a row have the same unit and so the same decimals, not those of a column.
    """

    name: str
    title: str
    note: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    svg: str = ""
    legend: Sequence[str] = ()
    links: Sequence[str] = ()
    decimals: int | None = None
    faint: Collection[int] = ()
    has_units_by_row: bool = False

    @property
    def shown_rows(self) -> list[tuple[list[Cell], str]]:
        """The rows as a page shows them, each with its link: all numbers of a column have the same decimals.

        The first cell names the row, and a number in it stays as it is.
        """
        columns = [_decimals(column) for column in itertools.zip_longest(*self.rows)]
        shown = [
            [
                _show(cell, decimals, is_name=n == 0)
                for n, (cell, decimals) in enumerate(zip(row, self._decimals_of(row, columns), strict=False))
            ]
            for row in self.rows
        ]
        return list(zip(shown, self.links or [""] * len(shown), strict=True))

    def _decimals_of(self, row: Sequence[Cell], columns: Sequence[int]) -> Sequence[int]:
        """The decimals of each cell. columns: those of each column."""
        if self.decimals is not None:
            return [self.decimals] * len(row)
        return [_decimals(row)] * len(row) if self.has_units_by_row else columns

    @property
    def text_columns(self) -> set[int]:
        """The columns that hold words, which are read from the left."""
        columns = itertools.zip_longest(*self.rows)
        return {n for n, column in enumerate(columns) if n == 0 or not all(map(_is_figure, column))}


def _is_figure(cell: Cell) -> bool:
    return not isinstance(cell, str) or not cell or FIGURE.fullmatch(cell) is not None


def _show(cell: Cell, decimals: int, *, is_name: bool) -> Cell:
    if _is_plain(cell):
        least = 10.0**-decimals
        if 0 < cell < least / 2:
            return f"< {number_format(least, decimals)}"
        return number_format(round(cell, decimals) + 0.0, decimals, force_grouping=not is_name)  # no -0.0
    return number_format(cell, force_grouping=True) if isinstance(cell, int) and not is_name else cell


def _is_plain(cell: Cell) -> TypeGuard[float]:
    return isinstance(cell, float) and "e" not in repr(cell)


def _decimals(column: Iterable[Cell]) -> int:
    return max((len(repr(cell).partition(".")[2]) for cell in column if _is_plain(cell)), default=0)


def interval_head() -> list[str]:
    return [_("95 % from"), _("95 % to")]


def to_percent(share: float | None) -> float | None:
    """A share from 0 to 1 in percent, with one decimal."""
    return None if share is None else round(share * 100, 1)


def round_value(value: float | None, digits: int, factor: float = 1) -> float | None:
    return None if value is None else round(value * factor, digits)


def is_few(n: int) -> bool:
    """Whether a number that rests on n items says little; its dot is grey."""
    return n < TOO_FEW


def rows_with_few(rows: Sequence[Sequence[Cell]], column: int) -> list[int]:
    """The rows whose n, in this column, is too small for a number to say much."""
    return [at for at, row in enumerate(rows) if is_few(int(row[column] or 0))]


def add_few(note: str, faint: Collection[int]) -> str:
    """The note, with what grey means if a row is grey."""
    if not faint:
        return note
    few = _("Grey: n is below %(n)d, so the numbers say little.") % {"n": TOO_FEW}
    return f"{note} {few}" if note.endswith((".", "。")) else f"{note} · {few}"
