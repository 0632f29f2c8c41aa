"""A chart: a question with its numbers as a table and, if a picture says more, a plot."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Chart:
    """name: in URLs. note: what the numbers rest on, with n. head, rows: the table. svg: empty without a plot."""

    name: str
    title: str
    note: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    svg: str = ""
    legend: Sequence[str] = ()


def interval_head() -> list[str]:
    return [_("95 % from"), _("95 % to")]


def to_percent(share: float | None) -> float | None:
    """A share from 0 to 1 in percent, with one decimal."""
    return None if share is None else round(share * 100, 1)


def round_value(value: float | None, digits: int, factor: float = 1) -> float | None:
    return None if value is None else round(value * factor, digits)
