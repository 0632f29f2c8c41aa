"""`csv`, `tsv`: columns dialogue_id, speaker, text[, time] in any order; the rows of a dialogue are contiguous.

Where Excel separates fields by semicolons, as in much of Europe, `csv` reads those.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from dialogues.parsing.csv_rows import CsvRows, Row
from dialogues.parsing.parsed_dialogue import (
    EXTERNAL_ID_CHARS,
    SPEAKER_CHARS,
    TIME_CHARS,
    Limits,
    ParsedDialogue,
    ParsedUtterance,
    Reader,
)
from dialogues.parsing.row_errors import BadRow, RowError
from dialogues.parsing.seen_ids import SeenIds
from dialogues.parsing.value_checks import check_optional_short_text, check_short_text, check_text, printable

REQUIRED = ("dialogue_id", "speaker", "text")
KNOWN = frozenset({*REQUIRED, "time"})
COLUMN_CHARS = 80
# In a file that is not sorted by dialogue every row is refused; after so many the whole file is.
MAX_REPEATED_IDS = 1000

Result = ParsedDialogue | RowError


@dataclass(slots=True)
class _OpenDialogue:
    """The dialogue being read. One refused row refuses all of it: half a dialogue is never stored."""

    name: str
    line: int
    utterances: list[ParsedUtterance] = field(default_factory=list)
    is_refused: bool = False


class _Table:
    """Groups rows into dialogues. Every method yields the dialogues and errors that are complete after it."""

    def __init__(self, columns: list[str], limits: Limits) -> None:
        self.columns = columns
        self.limits = limits
        self.open: _OpenDialogue | None = None
        self.seen = SeenIds()
        self.repeated = 0
        self.unreadable_line: int | None = None  # until the next row shows to which dialogue it may belong

    def add_row(self, row: Row) -> Iterator[Result]:
        line, fields = row
        try:
            name = self._dialogue_id(fields)
        except BadRow as problem:
            yield from self.add_unreadable(problem.at(line))
            return
        if self.open is None or self.open.name != name:
            yield from self.close()
            yield from self._begin(name, line)
        self.unreadable_line = None
        if self.open and not self.open.is_refused:
            yield from self._add(self.open, line, fields)

    def add_unreadable(self, problem: RowError) -> Iterator[Result]:
        """The line may be the last of the open dialogue or the first of the next, so both are refused."""
        yield problem
        self.unreadable_line = problem.line
        if self.open and not self.open.is_refused:
            yield self._refuse_next_to_unreadable(self.open)

    def close(self) -> Iterator[Result]:
        if self.open and not self.open.is_refused:
            yield ParsedDialogue(self.open.line, self.open.name, tuple(self.open.utterances))
        self.open = None

    def _begin(self, name: str, line: int) -> Iterator[Result]:
        self.open = _OpenDialogue(name, line)
        if not self.seen.add(name):
            self.open.is_refused = True
            self.repeated += 1
            fatal = self.repeated > MAX_REPEATED_IDS
            yield RowError(line, "id_again", {"id": name}, fatal=fatal, external_id=name)
        elif self.unreadable_line:
            yield self._refuse_next_to_unreadable(self.open)

    def _refuse_next_to_unreadable(self, dialogue: _OpenDialogue) -> RowError:
        dialogue.is_refused = True
        dialogue.utterances.clear()
        return RowError(
            dialogue.line, "neighbour_unreadable", {"id": dialogue.name, "bad": self.unreadable_line}
        )

    def _dialogue_id(self, fields: list[str]) -> str:
        """The id of the row's dialogue. With missing or extra fields only a first column can be trusted."""
        index = self.columns.index("dialogue_id")
        if len(fields) != len(self.columns) and index:
            raise BadRow("wrong_columns", found=len(fields), wanted=len(self.columns))
        return check_short_text(fields[index], "dialogue_id", EXTERNAL_ID_CHARS)

    def _add(self, dialogue: _OpenDialogue, line: int, fields: list[str]) -> Iterator[RowError]:
        try:
            if len(dialogue.utterances) == self.limits.utterances:
                raise BadRow("too_many", path="dialogue", limit=self.limits.utterances)
            dialogue.utterances.append(self._utterance(fields))
        except BadRow as problem:
            dialogue.is_refused = True
            dialogue.utterances.clear()
            yield problem.at(line)

    def _utterance(self, fields: list[str]) -> ParsedUtterance:
        if len(fields) != len(self.columns):
            raise BadRow("wrong_columns", found=len(fields), wanted=len(self.columns))
        row = dict(zip(self.columns, fields, strict=True))
        return ParsedUtterance(
            speaker=check_short_text(row["speaker"], "speaker", SPEAKER_CHARS),
            text=check_text(row["text"], "text", self.limits),
            time=check_optional_short_text(row, "time", "time", TIME_CHARS),
            metadata={
                column: check_text(value, column, self.limits)
                for column, value in row.items()
                if column not in KNOWN and value.strip()
            },
        )


def delimited_reader(delimiters: str) -> Reader:
    """A reader of fields separated by the one of `delimiters` in the header, quoted as in Excel and RFC 4180."""

    def read(stream: BinaryIO, limits: Limits) -> Iterator[Result]:
        return read_table(iter(CsvRows(stream, delimiters, limits)), limits)

    return read


def read_table(rows: Iterator[Row | RowError], limits: Limits) -> Iterator[Result]:
    """The dialogues of the rows; the first row names the columns."""
    header = next(rows, (1, []))
    if isinstance(header, RowError):
        yield RowError(header.line, header.code, header.params, fatal=True)
        return
    try:
        table = _Table(_column_names(header[1]), limits)
    except BadRow as problem:
        yield RowError(header[0], problem.code, problem.params, fatal=True)
        return
    for row in rows:
        for result in table.add_unreadable(row) if isinstance(row, RowError) else table.add_row(row):
            yield result
            if isinstance(result, RowError) and result.fatal:
                return
    yield from table.close()


def _column_names(fields: list[str]) -> list[str]:
    """The column names in lower case. An unnamed column, such as pandas' index, is named by its number."""
    columns = [
        check_short_text(field.lower(), "header", COLUMN_CHARS) if field.strip() else f"column_{number}"
        for number, field in enumerate(fields, start=1)
    ]
    if missing := [name for name in REQUIRED if name not in columns]:
        found = printable(", ".join(columns)) or "-"
        raise BadRow("no_header", missing=", ".join(missing), found=found)
    for column in columns:
        if columns.count(column) > 1:
            raise BadRow("double_column", column=column)
    return columns


read_csv = delimited_reader(",;")
read_tsv = delimited_reader("\t")
