"""Rows of CSV or TSV with quoted line breaks, within bounded memory: one broken quote does not eat the file."""

import csv
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

from dialogues.parsing.lines import Line, read_lines
from dialogues.parsing.records import Limits, RowError

Row = tuple[int, list[str]]


class Rows:
    """Iterator of (line on which the row begins, its fields), or the error of a line; blank lines are left out."""

    def __init__(self, stream: BinaryIO, delimiter: str, limits: Limits) -> None:
        # The csv module has one field limit for the whole process; `limits` does its work here.
        csv.field_size_limit(max(csv.field_size_limit(), limits.line_bytes))
        self._lines = read_lines(stream, limits)
        self._again: deque[Line | RowError] = deque()
        self._delimiter = delimiter
        self._limit = limits.line_bytes

    def __iter__(self) -> Iterator[Row | RowError]:
        while (line := self._next()) is not None:
            if isinstance(line, RowError):
                yield line
            elif '"' in line.text:
                yield self._quoted(line)
            elif line.text.strip():
                yield line.number, line.text.split(self._delimiter)

    def _next(self) -> Line | RowError | None:
        return self._again.popleft() if self._again else next(self._lines, None)

    def _quoted(self, first: Line) -> Row | RowError:
        """A row with quotes. When they are broken only its first line is given up; the rest is read again."""
        used: list[Line | RowError] = []
        try:
            reader = csv.reader(self._feed(first, used), delimiter=self._delimiter, strict=True)
            return first.number, next(reader)
        except csv.Error as error:
            self._again.extendleft(reversed(used))
            return RowError(first.number, "bad_csv", {"detail": str(error)})

    def _feed(self, first: Line, used: list[Line | RowError]) -> Iterator[str]:
        yield first.text + "\n"
        size = len(first.text)
        while size <= self._limit and (line := self._next()) is not None:
            used.append(line)
            if isinstance(line, RowError):
                return
            size += len(line.text)
            yield line.text + "\n"
