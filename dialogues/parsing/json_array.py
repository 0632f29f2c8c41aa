"""One JSON array of objects, read entry by entry: memory stays within one entry however large the file is."""

import codecs
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from dialogues.parsing.checks import check_depth, check_storable, json_object
from dialogues.parsing.jsonl import SUSPICIOUS, Convert, finite
from dialogues.parsing.lines import foreign
from dialogues.parsing.records import BadRow, Limits, ParsedDialogue, Reader, RowError

CHUNK = 256 * 1024
SIGN = re.compile(r"[^ \t\r\n]")
DECODER = json.JSONDecoder(parse_constant=finite, parse_float=finite)


def array_reader(convert: Convert) -> Reader:
    """A reader of a JSON array that makes a dialogue of every entry with convert(entry, line, limits).

    line: on which the entry begins. What is no JSON ends the file: where the next entry begins cannot be told.
    """

    def read(stream: BinaryIO, limits: Limits) -> Iterator[ParsedDialogue | RowError]:
        text = _Text(stream, limits)
        try:
            text.begin()
            for place in itertools.count():
                if not text.more():
                    return
                line, entry = text.entry()
                yield _dialogue(convert, entry, place, line, limits)
        except BadRow as problem:
            yield RowError(text.line, problem.code, problem.params, fatal=True)

    return read


def _dialogue(
    convert: Convert, entry: Any, place: int, line: int, limits: Limits
) -> ParsedDialogue | RowError:
    """Names the entry too, since a whole array may stand on one line."""
    try:
        return convert(json_object(entry, ""), line, limits)
    except BadRow as problem:
        if "path" in problem.params:
            problem.params["path"] = f"[{place}].{problem.params['path']}".rstrip(".")
        return problem.at(line)


class _Text:
    """The file as text of which the part before `at` is read; `line` is the line of the character there.

    The read part is dropped when more comes, not entry by entry: that copied what follows each time.
    """

    def __init__(self, stream: BinaryIO, limits: Limits) -> None:
        self.stream, self.limits = stream, limits
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.rest, self.at, self.line, self.size = "", 0, 1, 0
        self.is_first = self.is_start = True

    def begin(self) -> None:
        """Go past the bracket. Raises BadRow where the file holds no array."""
        if self._peek() != "[":
            raise BadRow("not_array")
        self._go(self.at + 1)

    def more(self) -> bool:
        """Whether an entry follows; goes past the comma before it."""
        sign = self._peek()
        if sign == "]":
            self._go(self.at + 1)
            if self._peek():
                raise BadRow("after_array")
            return False
        if not self.is_first:
            if sign != ",":
                raise BadRow("not_json", detail="a comma or ] is missing", column=1)
            self._go(self.at + 1)
            self._peek()
        self.is_first = False
        return True

    def entry(self) -> tuple[int, Any]:
        """The next entry and its line."""
        while True:
            try:
                value, end = DECODER.raw_decode(self.rest, self.at)
                break
            except json.JSONDecodeError as error:
                column = error.pos - max(self.rest.rfind("\n", self.at, error.pos), self.at - 1)
                # Perhaps it only goes on further down in the file.
                if not self._read():
                    raise BadRow("not_json", detail=error.msg, column=column) from None
            except RecursionError:
                raise BadRow("too_deep", limit=self.limits.metadata_depth) from None
            except ValueError:  # Python refuses whole numbers of more than 4,300 digits
                raise BadRow("number_too_long") from None
        if SUSPICIOUS.search(self.rest, self.at, end):
            check_depth(value, self.limits.metadata_depth)
            check_storable(value, "")
        line = self.line
        self._go(end)
        return line, value

    def _peek(self) -> str:
        """The next character that is no blank, which is then the first; "" at the end."""
        while True:
            if sign := SIGN.search(self.rest, self.at):
                self._go(sign.start())
                return sign[0]
            self._go(len(self.rest))
            if not self._read():
                return ""

    def _go(self, to: int) -> None:
        self.line += self.rest.count("\n", self.at, to)
        self.at = to

    def _read(self) -> bool:
        self.rest, self.at = self.rest[self.at :], 0
        if len(self.rest) > self.limits.line_bytes:
            raise BadRow("entry_too_long", limit=self.limits.line_bytes)
        raw = self.stream.read(CHUNK)
        self.size += len(raw)
        if self.size > self.limits.file_bytes:
            raise BadRow("file_too_large", limit=self.limits.file_bytes)
        if self.is_start:
            self.is_start = False
            if problem := foreign(raw):
                raise BadRow(problem.code, **problem.params)
            raw = raw.removeprefix(codecs.BOM_UTF8)
        try:
            self.rest += self.decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            byte = f"{error.object[error.start]:02X}"
            raise BadRow("not_utf8", column=error.start + 1, byte=byte) from None
        return bool(raw)
