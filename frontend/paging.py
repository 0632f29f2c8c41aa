"""Pages of a long list by key, not by offset: the hundredth page costs what the first does."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class KeysetPage(Generic[Row]):
    """Newest first. before: the key under which the next page begins, "" on the last one."""

    rows: list[Row]
    before: str
    is_first: bool


def keyset_page(queryset: QuerySet[Row], before: str | None, size: int = PAGE_SIZE) -> KeysetPage[Row]:
    """Rows in falling order of an integer primary key, those under `before` when it is a number."""
    wanted = queryset.order_by("-pk")
    is_number = before is not None and before.isdecimal()
    rows = list((wanted.filter(pk__lt=int(before)) if before and is_number else wanted)[: size + 1])
    more = len(rows) > size
    return KeysetPage(rows=rows[:size], before=str(rows[size - 1].pk) if more else "", is_first=not is_number)
