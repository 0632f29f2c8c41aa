"""Lists sorted by a column: `?sort=name` or `?sort=-name`, page after page by key, so that pages stay stable."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.db.models import F, Model, Q, QuerySet
from django.db.models.expressions import Combinable
from django.http import QueryDict

from frontend.ui.paging import PAGE_SIZE, KeysetPage, keyset_page, parse_number

Row = TypeVar("Row", bound=Model)
BY_KEY: Final = "pk"


@dataclass(frozen=True, slots=True)
class Column:
    """value: a field or an expression that is never null. falls_first: the first click shows the largest first."""

    value: str | Combinable
    falls_first: bool = False


@dataclass(frozen=True, slots=True)
class Sorting:
    """How a list is sorted. name: of the column."""

    columns: Mapping[str, Column]
    name: str
    is_falling: bool

    @property
    def column(self) -> Column:
        return self.columns[self.name]

    def next_for(self, name: str) -> str:
        """The value of `sort` that a click on the column's head asks for: the other direction, or its first one."""
        falls = not self.is_falling if name == self.name else self.columns[name].falls_first
        return f"-{name}" if falls else name


def chosen_sorting(query: QueryDict, columns: Mapping[str, Column], default: str) -> Sorting:
    """The sorting in an address; the default for an unknown column."""
    chosen = query.get("sort", "")
    wanted = chosen if chosen.removeprefix("-") in columns else default
    return Sorting(columns, wanted.removeprefix("-"), wanted.startswith("-"))


def sorted_page(
    rows: QuerySet[Row], sorting: Sorting, before: str | None, size: int = PAGE_SIZE
) -> KeysetPage[Row]:
    """A page of the sorted rows. before: the key of the last row of the page before; its value is looked up.

    Newest first is a page of keyset_page. If the row is no longer in the list, the list starts again.
    """
    if sorting.column.value == BY_KEY and sorting.is_falling:
        return keyset_page(rows, before, size)
    value = sorting.column.value
    ordered: QuerySet[Any] = rows.annotate(sort_value=F(value) if isinstance(value, str) else value)
    sign = "-" if sorting.is_falling else ""
    ordered = ordered.order_by(f"{sign}sort_value", f"{sign}pk")
    key = parse_number(before)
    last = ordered.filter(pk=key).values_list("sort_value", flat=True).first() if key is not None else None
    found = list((ordered if last is None else ordered.filter(_beyond(last, key, sorting)))[: size + 1])
    following = str(found[size - 1].pk) if len(found) > size else ""
    return KeysetPage(rows=found[:size], before=following, is_first=last is None, is_by_age=False)


def _beyond(last: Any, key: int | None, sorting: Sorting) -> Q:
    then = "lt" if sorting.is_falling else "gt"
    return Q(**{f"sort_value__{then}": last}) | Q(**{"sort_value": last, f"pk__{then}": key})
