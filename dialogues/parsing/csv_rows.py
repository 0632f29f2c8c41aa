"""Rows of CSV or TSV with quoted line breaks, in limited memory: a broken quote does not swallow the file."""

import csv
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

from dialogues.parsing.lines import Line, read_lines
from dialogues.parsing.parsed_dialogue import Limits
from dialogues.parsing.row_errors import RowError

Row = tuple[int, list[str]]


class CsvRows:
    """Iterates over (number of the first line, fields) of each row, or the error of a line; skips blank lines.

    delimiters: the fields are separated by the one that the first line has most of.
    """

    def __init__(self, stream: BinaryIO, delimiters: str, limits: Limits) -> None:
        # The csv module has one field limit for the whole process, so `limits` is applied here instead.
        csv.field_size_limit(max(csv.field_size_limit(), limits.line_bytes))
        self._lines = read_lines(stream, limits)
        self._pushed_back: deque[Line | RowError] = deque()
        self._delimiters, self._delimiter = delimiters, ""
        self._limit = limits.line_bytes

    def __iter__(self) -> Iterator[Row | RowError]:
        while (line := self._next()) is not None:
            if isinstance(line, RowError):
                yield line
                continue
            self._delimiter = self._delimiter or max(self._delimiters, key=line.text.count)
            if '"' in line.text:
                yield self._quoted_row(line)
            elif line.text.strip():
                yield line.number, line.text.split(self._delimiter)

    def _next(self) -> Line | RowError | None:
        return self._pushed_back.popleft() if self._pushed_back else next(self._lines, None)

    def _quoted_row(self, first: Line) -> Row | RowError:
        """A row with quotes. If they are broken, only its first line is refused; the others are read again."""
        read_ahead: list[Line | RowError] = []
        try:
            reader = csv.reader(self._feed(first, read_ahead), delimiter=self._delimiter, strict=True)
            return first.number, next(reader)
        except csv.Error as error:
            self._pushed_back.extendleft(reversed(read_ahead))
            return RowError(first.number, "bad_csv", {"detail": str(error)})

    def _feed(self, first: Line, read_ahead: list[Line | RowError]) -> Iterator[str]:
        yield first.text + "\n"
        size = len(first.text)
        while size <= self._limit and (line := self._next()) is not None:
            read_ahead.append(line)
            if isinstance(line, RowError):
                return
            size += len(line.text)
            yield line.text + "\n"
