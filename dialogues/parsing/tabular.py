"""`csv`, `tsv`: columns dialogue_id, speaker, text[, time] in any order; the rows of a dialogue below each other."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from dialogues.parsing import checks
from dialogues.parsing.csv_rows import Row, Rows
from dialogues.parsing.records import (
    EXTERNAL_ID_CHARS,
    SPEAKER_CHARS,
    TIME_CHARS,
    BadRow,
    Limits,
    ParsedDialogue,
    ParsedUtterance,
    Reader,
    RowError,
)
from dialogues.parsing.seen_ids import SeenIds

REQUIRED = ("dialogue_id", "speaker", "text")
KNOWN = frozenset({*REQUIRED, "time"})
COLUMN_CHARS = 80
# A file that is not sorted by dialogue would be refused row by row; after so many it is refused as a whole.
MOST_REPEATED_IDS = 1000

Result = ParsedDialogue | RowError


@dataclass(slots=True)
class _Open:
    """The dialogue being read; `refused` once one of its rows was, so that nothing is stored by halves."""

    name: str
    line: int
    utterances: list[ParsedUtterance] = field(default_factory=list)
    refused: bool = False


class _Table:
    """Gathers rows into dialogues; every method yields what is settled by then."""

    def __init__(self, columns: list[str], limits: Limits) -> None:
        self.columns = columns
        self.limits = limits
        self.open: _Open | None = None
        self.seen = SeenIds()
        self.repeated = 0
        self.unreadable: int | None = None  # a line, not yet known to which dialogue it belongs

    def row(self, row: Row) -> Iterator[Result]:
        line, fields = row
        try:
            name = self._name(fields)
        except BadRow as problem:
            yield from self.unreadable_line(problem.at(line))
            return
        if self.open is None or self.open.name != name:
            yield from self.close()
            yield from self._begin(name, line)
        self.unreadable = None
        if self.open and not self.open.refused:
            yield from self._add(self.open, line, fields)

    def unreadable_line(self, problem: RowError) -> Iterator[Result]:
        """It may be the last line of the open dialogue or the first of the next: both are refused."""
        yield problem
        self.unreadable = problem.line
        if self.open and not self.open.refused:
            yield self._refused_with_neighbour(self.open)

    def close(self) -> Iterator[Result]:
        if self.open and not self.open.refused:
            yield ParsedDialogue(self.open.line, self.open.name, tuple(self.open.utterances))
        self.open = None

    def _begin(self, name: str, line: int) -> Iterator[Result]:
        self.open = _Open(name, line)
        if not self.seen.add(name):
            self.open.refused = True
            self.repeated += 1
            fatal = self.repeated > MOST_REPEATED_IDS
            yield RowError(line, "id_again", {"id": name}, fatal=fatal, external_id=name)
        elif self.unreadable:
            yield self._refused_with_neighbour(self.open)

    def _refused_with_neighbour(self, dialogue: _Open) -> RowError:
        dialogue.refused = True
        dialogue.utterances.clear()
        return RowError(dialogue.line, "neighbour_unreadable", {"id": dialogue.name, "bad": self.unreadable})

    def _name(self, fields: list[str]) -> str:
        """The row's dialogue; with columns missing or too many only a first column can be trusted to be it."""
        place = self.columns.index("dialogue_id")
        if len(fields) != len(self.columns) and place:
            raise BadRow("wrong_columns", found=len(fields), wanted=len(self.columns))
        return checks.short_text(fields[place], "dialogue_id", EXTERNAL_ID_CHARS)

    def _add(self, dialogue: _Open, line: int, fields: list[str]) -> Iterator[RowError]:
        try:
            if len(dialogue.utterances) == self.limits.utterances:
                raise BadRow("too_many", path="dialogue", limit=self.limits.utterances)
            dialogue.utterances.append(self._utterance(fields))
        except BadRow as problem:
            dialogue.refused = True
            dialogue.utterances.clear()
            yield problem.at(line)

    def _utterance(self, fields: list[str]) -> ParsedUtterance:
        if len(fields) != len(self.columns):
            raise BadRow("wrong_columns", found=len(fields), wanted=len(self.columns))
        row = dict(zip(self.columns, fields, strict=True))
        return ParsedUtterance(
            speaker=checks.short_text(row["speaker"], "speaker", SPEAKER_CHARS),
            text=checks.text(row["text"], "text", self.limits),
            time=checks.optional_short_text(row, "time", "time", TIME_CHARS),
            metadata={
                column: checks.text(value, column, self.limits)
                for column, value in row.items()
                if column not in KNOWN and value.strip()
            },
        )


def reader(delimiter: str) -> Reader:
    """A reader of rows separated by `delimiter`, quoted as Excel and RFC 4180 do."""

    def read(stream: BinaryIO, limits: Limits) -> Iterator[Result]:
        rows = iter(Rows(stream, delimiter, limits))
        header = next(rows, (1, []))
        if isinstance(header, RowError):
            yield RowError(header.line, header.code, header.params, fatal=True)
            return
        try:
            table = _Table(_columns(header[1]), limits)
        except BadRow as problem:
            yield RowError(header[0], problem.code, problem.params, fatal=True)
            return
        for row in rows:
            for result in table.unreadable_line(row) if isinstance(row, RowError) else table.row(row):
                yield result
                if isinstance(result, RowError) and result.fatal:
                    return
        yield from table.close()

    return read


def _columns(fields: list[str]) -> list[str]:
    """Names of the columns in small letters; an unnamed one, such as pandas' index, is called by its place."""
    columns = [
        checks.short_text(field.lower(), "header", COLUMN_CHARS) if field.strip() else f"column_{place}"
        for place, field in enumerate(fields, start=1)
    ]
    if missing := [name for name in REQUIRED if name not in columns]:
        found = checks.shown(", ".join(columns)) or "-"
        raise BadRow("no_header", missing=", ".join(missing), found=found)
    for column in columns:
        if columns.count(column) > 1:
            raise BadRow("double_column", column=column)
    return columns


read_csv = reader(",")
read_tsv = reader("\t")
