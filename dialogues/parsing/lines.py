"""Lines of a byte stream, one at a time: memory stays within one line, however large the file is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from dialogues.parsing.parsed_dialogue import Limits
from dialogues.parsing.row_errors import RowError

BOM = b"\xef\xbb\xbf"
SKIP_BYTES = 1024**2


@dataclass(frozen=True, slots=True)
class Line:
    """A decoded line without its line break; number counts from 1. is_last: no line break follows."""

    number: int
    text: str
    is_last: bool = False


@dataclass(slots=True)
class Rewound:
    """A stream whose first bytes were read already."""

    head: bytes
    stream: BinaryIO

    def readline(self, size: int = -1) -> bytes:
        if not self.head:
            return self.stream.readline(size)
        end = self.head.find(b"\n") + 1 or len(self.head)
        end = end if size < 0 else min(end, size)
        line, self.head = self.head[:end], self.head[end:]
        if self.head or line.endswith(b"\n"):
            return line
        return line + self.stream.readline(size - len(line) if size >= 0 else -1)

    def read(self, size: int = -1) -> bytes:
        head, self.head = self.head, b""
        return head or self.stream.read(size)


def read_lines(stream: BinaryIO, limits: Limits) -> Iterator[Line | RowError]:
    """Every line of the stream, or why it cannot be read. Nothing follows a fatal error."""
    number = size = 0
    while raw := stream.readline(limits.line_bytes + 1):
        number += 1
        if number == 1:
            raw = raw.removeprefix(BOM)
        too_long = len(raw) > limits.line_bytes and not raw.endswith(b"\n")
        size += len(raw) + (_skip_rest(stream) if too_long else 0)
        if size > limits.file_bytes:
            yield RowError(number, "file_too_large", {"limit": limits.file_bytes}, fatal=True)
            return
        yield (
            RowError(number, "line_too_long", {"limit": limits.line_bytes})
            if too_long
            else _decoded(number, raw)
        )


def _skip_rest(stream: BinaryIO) -> int:
    skipped = 0
    while raw := stream.readline(SKIP_BYTES):
        skipped += len(raw)
        if raw.endswith(b"\n"):
            break
    return skipped


def _decoded(number: int, raw: bytes) -> Line | RowError:
    is_last = not raw.endswith(b"\n")
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        return Line(number, raw.decode(), is_last)
    except UnicodeDecodeError as error:
        if is_last and error.reason == "unexpected end of data":
            return RowError(number, "cut_off")
        byte = f"{raw[error.start]:02X}"
        return RowError(number, "not_utf8", {"column": error.start + 1, "byte": byte})
