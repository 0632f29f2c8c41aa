"""A chart: a question with its numbers as a table and, if a picture says more, a plot."""

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from django.utils.formats import number_format
from django.utils.translation import gettext as _

Cell = str | int | float | None
TOO_FEW: Final = 5  # items that a number rests on; with fewer it says little


@dataclass(frozen=True, slots=True)
class Chart:
    """name: in URLs. note: what the numbers rest on, with n. head, rows: the table. svg: empty without a plot.

    links: where the first cell of each row leads on a page; empty without links. decimals: of every number on a page;
    None: as many as the numbers of the column have. faint: the rows that rest on too little.
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

    @property
    def shown_rows(self) -> list[tuple[list[Cell], str]]:
        """The rows as a page shows them, each with its link: all numbers of a column have the same decimals.

        The first cell names the row, and a number in it stays as it is.
        """
        columns = itertools.zip_longest(*self.rows)
        decimals = [_decimals(column) if self.decimals is None else self.decimals for column in columns]
        shown = [
            [_show(cell, decimals[n], is_name=n == 0) for n, cell in enumerate(row)] for row in self.rows
        ]
        return list(zip(shown, self.links or [""] * len(shown), strict=True))


def _show(cell: Cell, decimals: int, *, is_name: bool) -> Cell:
    if _is_plain(cell):
        return number_format(cell, decimals, force_grouping=not is_name)
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


def rows_with_few(rows: Sequence[Sequence[Cell]], column: int) -> list[int]:
    """The rows whose n, in this column, is too small for a number to say much."""
    return [at for at, row in enumerate(rows) if int(row[column] or 0) < TOO_FEW]


def add_few(note: str, faint: Collection[int]) -> str:
    """The note, with what grey means if a row is grey."""
    if not faint:
        return note
    few = _("Grey: n is below %(n)d, so the numbers say little.") % {"n": TOO_FEW}
    return f"{note} {few}" if note.endswith((".", "。")) else f"{note} · {few}"
