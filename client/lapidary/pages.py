"""Iterators over lists of the server, page by page."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qs, urlsplit

from lapidary.errors import Unavailable
from lapidary.transport import Params, Transport

Item = TypeVar("Item")
PAGE = 200  # rows; the most that the server gives


class Rows(Iterator[Item], Generic[Item]):
    """Every row of a list once, loaded when it is needed.

    An error does not end it: after ConnectionLost, `next` goes on with the row that was due. `bookmark` names that
    place for another process; lists take it as `start`.
    """

    def __init__(
        self,
        transport: Transport,
        path: str,
        read: Callable[[Any], Item],
        params: Params | None = None,
        *,
        start: str = "",
    ) -> None:
        self._transport, self._path, self._read = transport, path, read
        self._params = {"page_size": PAGE, **(params or {})}
        seen, _, cursor = start.partition(":")
        self._cursor: str | None = cursor
        # The id of the last row that was given out, of the page at the cursor.
        self._last = int(seen) if seen else None
        self._page: deque[Any] = deque()
        self._next: str | None = cursor
        self._resume = ""

    def __next__(self) -> Item:
        while not self._page:
            if self._next is None and not self._await_more():
                raise StopIteration
            self._load()
        row = self._page.popleft()
        if isinstance(row.get("id"), int):
            self._last = row["id"]
        return self._read(row)

    @property
    def bookmark(self) -> str:
        """The place behind the last row, for lists whose rows have a number as `id` and come in its order."""
        return f"{'' if self._last is None else self._last}:{self._cursor or ''}"

    def _load(self) -> None:
        answer = self._transport.get(self._path, {**self._params, "cursor": self._next or None})
        # Nothing has changed until here, so that an error repeats this page.
        rows = answer["results"]
        if self._last is not None:
            rows = [row for row in rows if not isinstance(row.get("id"), int) or row["id"] > self._last]
        self._page.extend(rows)
        self._cursor = self._next
        self._next = _cursor_of(answer["next"])
        self._resume = answer.get("resume", "")

    def _await_more(self) -> bool:
        """Whether to load again after the last page."""
        return False


class FollowedRows(Rows[Item]):
    """Goes on when new rows come. idle_seconds: after so long without a row it ends; None: never."""

    def __init__(self, *args: Any, every: float, idle_seconds: float | None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._every, self._idle_seconds = every, idle_seconds
        self._quiet_since = time.monotonic()

    def __next__(self) -> Item:
        row = super().__next__()
        self._quiet_since = time.monotonic()
        return row

    def _await_more(self) -> bool:
        quiet = time.monotonic() - self._quiet_since
        if self._idle_seconds is not None and quiet >= self._idle_seconds:
            return False
        self._transport.retries.sleep(self._every)
        self._next = self._resume
        return True

    def _load(self) -> None:
        try:
            super()._load()
        except Unavailable as problem:
            if problem.code != "not_settled":
                raise  # else: something large is being stored, and what comes next is not certain yet
            self._resume, self._next = self._next or "", None


def _cursor_of(link: str | None) -> str | None:
    """The cursor of a link to the next page. The host in it may be another one behind a proxy."""
    return parse_qs(urlsplit(link).query)["cursor"][0] if link else None
