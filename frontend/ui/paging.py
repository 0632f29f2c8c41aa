"""Pages of a long list by key, not by offset: the hundredth page costs what the first does."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)
PAGE_SIZE = 50
MOST_DIGITS = 18  # what a bigint surely holds


def parse_number(text: str | None) -> int | None:
    """The number that an address or a form gives in plain digits; None for anything else, endless digits too."""
    if not text or len(text) > MOST_DIGITS or not (text.isascii() and text.isdecimal()):
        return None
    return int(text)


@dataclass(frozen=True, slots=True)
class KeysetPage(Generic[Row]):
    """Newest first. before: the key under which the next page begins, "" on the last one."""

    rows: list[Row]
    before: str
    is_first: bool


def keyset_page(queryset: QuerySet[Row], before: str | None, size: int = PAGE_SIZE) -> KeysetPage[Row]:
    """Rows in falling order of an integer primary key, those under `before` when it is a number."""
    wanted = queryset.order_by("-pk")
    key = parse_number(before)
    rows = list((wanted if key is None else wanted.filter(pk__lt=key))[: size + 1])
    more = len(rows) > size
    return KeysetPage(rows=rows[:size], before=str(rows[size - 1].pk) if more else "", is_first=key is None)
