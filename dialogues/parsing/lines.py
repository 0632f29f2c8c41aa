"""Lines of a byte stream, one at a time: memory stays within one line, however large the file is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from dialogues.parsing.parsed_dialogue import Limits
from dialogues.parsing.row_errors import RowError

BOM = b"\xef\xbb\xbf"
SKIP_BYTES = 1024**2
# First bytes of files that are not UTF-8 text; longer signatures first.
SIGNATURES = {
    b"\xff\xfe\x00\x00": ("wrong_encoding", "UTF-32"),
    b"\x00\x00\xfe\xff": ("wrong_encoding", "UTF-32"),
    b"\xff\xfe": ("wrong_encoding", "UTF-16"),
    b"\xfe\xff": ("wrong_encoding", "UTF-16"),
    b"PK\x03\x04": ("not_text", "ZIP / Excel"),
    b"\x1f\x8b": ("not_text", "gzip"),
    b"PAR1": ("not_text", "Parquet"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """A decoded line without its line break; number counts from 1."""

    number: int
    text: str


def read_lines(stream: BinaryIO, limits: Limits) -> Iterator[Line | RowError]:
    """Every line of the stream, or why it cannot be read. Nothing follows a fatal error."""
    number = size = 0
    while raw := stream.readline(limits.line_bytes + 1):
        number += 1
        if number == 1:
            if problem := detect_other_format(raw):
                yield problem
                return
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


def detect_other_format(raw: bytes) -> RowError | None:
    """A fatal error if these first bytes belong to another encoding or to a binary file."""
    for signature, (code, what) in SIGNATURES.items():
        if raw.startswith(signature):
            return RowError(1, code, {"what": what}, fatal=True)
    return None


def _skip_rest(stream: BinaryIO) -> int:
    skipped = 0
    while raw := stream.readline(SKIP_BYTES):
        skipped += len(raw)
        if raw.endswith(b"\n"):
            break
    return skipped


def _decoded(number: int, raw: bytes) -> Line | RowError:
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    try:
        return Line(number, raw.decode())
    except UnicodeDecodeError as error:
        byte = f"{raw[error.start]:02X}"
        return RowError(number, "not_utf8", {"column": error.start + 1, "byte": byte})
