"""A JSON array of objects, read entry by entry: memory stays within one entry, however large the file is.

The decoder is the standard library's; this module only moves a window over the file. The package ijson (3.6, yajl2_c)
cannot replace it. It reports no positions, so a bad entry would have no line. It turns half of a surrogate pair into
"?" without an error. Its `items` keeps a path for each level, so 100,000 nested brackets take gigabytes. And it takes
4 to 10 times the CPU time: 3 to 6 s for each of the two passes over 50,000 dialogues, instead of 0.6 s.
"""

import codecs
import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeVar

from dialogues.parsing.json_lines import ESCAPED_UNSTORABLE, Convert, finite_number
from dialogues.parsing.json_mistakes import ends_too_early, explain_json_error
from dialogues.parsing.lines import BOM
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue, Reader
from dialogues.parsing.row_errors import BadRow, RowError
from dialogues.parsing.value_checks import check_depth, check_object, check_storable

CHUNK = 256 * 1024  # bytes
Row = TypeVar("Row")
NOT_BLANK = re.compile(r"[^ \t\r\n]")
LIST_START = re.compile(r"\[[ \t\r\n]*([^ \t\r\n])")
DECODER = json.JSONDecoder(parse_constant=finite_number, parse_float=finite_number)


def json_array_reader(convert: Convert) -> Reader:
    """A reader of a JSON array that turns every entry into a dialogue with convert(entry, line, limits).

    line: where the entry begins. Invalid JSON ends the file, because the start of the next entry is unknown.
    """

    def read(stream: BinaryIO, limits: Limits) -> Iterator[ParsedDialogue | RowError]:
        window = JsonWindow(stream, limits)
        try:
            window.open_array()
            for index in itertools.count():
                if not window.has_next():
                    window.check_end()
                    return
                line, entry = window.next_value()
                yield convert_entry(convert, entry, f"[{index}]", line, limits)
        except BadRow as problem:
            yield RowError(window.line, problem.code, problem.params, fatal=True)

    return read


def convert_entry(
    convert: Callable[[dict[str, Any], int, Limits], Row], entry: Any, place: str, line: int, limits: Limits
) -> Row | RowError:
    """The row of an entry. The path of an error begins with its place, because the whole array may be on one line."""
    try:
        return convert(check_object(entry, ""), line, limits)
    except BadRow as problem:
        if "path" in problem.params:
            problem.params["path"] = f"{place}.{problem.params['path']}".rstrip(".")
        return problem.at(line)


class JsonWindow:
    """The decoded text of a part of the file. Everything before `at` is used up; `line` is the line of `at`.

    Used text is dropped when more is read. Dropping it after every entry would copy the rest each time.
    """

    def __init__(self, stream: BinaryIO, limits: Limits) -> None:
        self.stream, self.limits = stream, limits
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.text, self.at, self.line, self.bytes_read = "", 0, 1, 0
        self.characters_before = 0  # of the current line, dropped from the text
        self.is_first_entry = self.is_first_chunk = True

    def open_array(self) -> None:
        """Move past the opening bracket. Raises BadRow if the array does not begin here."""
        if not self.skip("["):
            raise BadRow("not_array")
        self.is_first_entry = True

    def skip(self, character: str) -> bool:
        """Move past the next character that is not blank if it is this one. Returns whether it is."""
        if self.next_character() != character:
            return False
        self._advance(self.at + 1)
        return True

    def begins_with_text(self) -> bool:
        """Whether the value that begins here is a list whose first entry is a text."""
        while True:
            if found := LIST_START.match(self.text, self.at):
                return found[1] == '"'
            if not self._extend():
                return False

    def check_end(self) -> None:
        """Raises BadRow unless the file ends here."""
        if self.next_character():
            raise BadRow("after_array")

    def has_next(self, closing: str = "]") -> bool:
        """Whether another entry follows; moves past the comma before it or the closing bracket. Raises BadRow."""
        character = self.next_character()
        if character == closing:
            self._advance(self.at + 1)
            return False
        if not self.is_first_entry:
            if character != ",":
                raise self.mistake_here("Expecting ',' delimiter")
            self._advance(self.at + 1)
            self.next_character()
        self.is_first_entry = False
        return True

    def next_value(self) -> tuple[int, Any]:
        """The line on which the next value begins, and the value. Raises BadRow."""
        self.next_character()
        value, end = self._decode()
        if ESCAPED_UNSTORABLE.search(self.text, self.at, end):
            check_depth(value, self.limits.metadata_depth)
            check_storable(value, "")
        line = self.line
        self._advance(end)
        return line, value

    def _decode(self) -> tuple[Any, int]:
        while True:
            try:
                return DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if not ends_too_early(error) or not self._extend():
                    raise self._mistake(error) from None
            except RecursionError:
                raise BadRow("too_deep", limit=self.limits.metadata_depth) from None
            except ValueError:  # Python refuses whole numbers of more than 4,300 digits
                raise BadRow("number_too_long") from None

    def mistake_here(self, problem: str) -> BadRow:
        """The error of the next character. problem: what Python's decoder would say."""
        self.next_character()
        return self._mistake(json.JSONDecodeError(problem, self.text, self.at))

    def _mistake(self, error: json.JSONDecodeError) -> BadRow:
        """The cause of the error; moves to its line."""
        line_start = self.text.rfind("\n", 0, error.pos) + 1
        column = error.pos - line_start + 1 + (0 if line_start else self.characters_before)
        mistake = explain_json_error(error, column, is_end_of_file=True)
        self._advance(len(self.text.rstrip()) if mistake.code == "cut_off" else error.pos)
        return mistake

    def next_character(self) -> str:
        """Move to the next character that is not blank and return it; "" at the end of the file."""
        while True:
            if found := NOT_BLANK.search(self.text, self.at):
                self._advance(found.start())
                return found[0]
            self._advance(len(self.text))
            if not self._extend():
                return ""

    def _advance(self, to: int) -> None:
        self.line += self.text.count("\n", self.at, to)
        self.at = to

    def _extend(self) -> bool:
        """Read another chunk; False at the end of the file. Raises BadRow."""
        self._drop_used_text()
        if len(self.text) > self.limits.line_bytes:
            raise BadRow("entry_too_long", limit=self.limits.line_bytes)
        raw = self.stream.read(CHUNK)
        self.bytes_read += len(raw)
        if self.bytes_read > self.limits.file_bytes:
            raise BadRow("file_too_large", limit=self.limits.file_bytes)
        if self.is_first_chunk:
            self.is_first_chunk = False
            raw = raw.removeprefix(BOM)
        try:
            self.text += self.decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                self._advance(len(self.text))
                raise BadRow("cut_off") from None
            byte = f"{error.object[error.start]:02X}"
            raise BadRow("not_utf8", column=error.start + 1, byte=byte) from None
        return bool(raw)

    def _drop_used_text(self) -> None:
        line_start = self.text.rfind("\n", 0, self.at) + 1
        self.characters_before = self.at - line_start + (0 if line_start else self.characters_before)
        self.text, self.at = self.text[self.at :], 0
