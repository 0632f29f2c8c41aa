"""Pages of a long list by key instead of offset, so that the hundredth page costs as much as the first."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)
PAGE_SIZE = 50
MAX_DIGITS = 18  # always fits into a bigint


def parse_number(text: str | None) -> int | None:
    """The number in a URL or a form; None unless it is at most MAX_DIGITS plain digits."""
    if not text or len(text) > MAX_DIGITS or not (text.isascii() and text.isdecimal()):
        return None
    return int(text)


@dataclass(frozen=True, slots=True)
class KeysetPage(Generic[Row]):
    """Newest first, or in the order of a column (is_by_age: no).

    before: the key of the last row, after which the next page begins; "" on the last page.
    """

    rows: list[Row]
    before: str
    is_first: bool
    is_by_age: bool = True


def keyset_page(queryset: QuerySet[Row], before: str | None, size: int = PAGE_SIZE) -> KeysetPage[Row]:
    """Rows in descending order of an integer primary key; if `before` is a number, only those below it."""
    queryset = queryset.order_by("-pk")
    key = parse_number(before)
    rows = list((queryset if key is None else queryset.filter(pk__lt=key))[: size + 1])
    more = len(rows) > size
    return KeysetPage(rows=rows[:size], before=str(rows[size - 1].pk) if more else "", is_first=key is None)
