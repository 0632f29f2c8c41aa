"""Memory stays the same however large the file, or one line of it, is."""

import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import chain

import pytest

from dialogues.parsing.formats import parse
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue
from dialogues.parsing.row_errors import RowError
from tests.dialogues.reading import HEADER, messages


class Endless(io.RawIOBase):
    """A stream of `size` bytes without a line break, then one good row; read() says what was asked at most."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.tail = io.BytesIO(b"\n" + messages("after").encode())

    def readline(self, size: int | None = -1, /) -> bytes:
        assert size is not None
        assert 0 < size <= 64 * 1024**2
        if self.left:
            part = min(size, self.left)
            self.left -= part
            return b"x" * part
        return self.tail.readline(size)

    read = readline


def test_a_line_of_two_gigabytes_is_never_held() -> None:
    tracemalloc.start()
    limits = Limits(line_bytes=64 * 1024, file_bytes=4 * 1024**3)
    problem, good = parse(Endless(2 * 1024**3), "messages", limits)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(problem, RowError)
    assert (problem.line, problem.code) == (1, "line_too_long")
    assert isinstance(good, ParsedDialogue)
    assert good.line == 2
    assert peak < 8 * 1024**2


class Repeated(io.RawIOBase):
    """A stream of lines that are generated while they are read."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self.lines = lines

    def readline(self, size: int | None = -1, /) -> bytes:
        return next(self.lines, b"")

    def read(self, size: int | None = -1, /) -> bytes:
        return next(self.lines, b"")


def helpdesk_entry(number: int) -> bytes:
    return json.dumps({"id": number, "turns": [{"sender": "customer", "utterances": ["hello"]}]}).encode()


def peak_of(count: int, format: str) -> int:
    makers: dict[str, Callable[[int], bytes]] = {
        "messages": lambda number: messages("hello", "you", id=number).encode(),
        "csv": lambda number: f"d{number},A,hello\nd{number},B,you\n".encode() if number else HEADER.encode(),
        "dialeval": lambda number: (b"," if number else b"[") + helpdesk_entry(number) + b"\n",
        "utterances": lambda number: b"hello\n" if number % 4 else b"\n",
    }
    rows = makers[format]
    lines: Iterator[bytes] = (
        line for number in range(count) for line in rows(number).splitlines(keepends=True)
    )
    if format == "dialeval":
        lines = chain(lines, [b",{}]"])
    tracemalloc.start()
    for _ in parse(Repeated(lines), format):  # type: ignore[arg-type]
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("format", ["messages", "csv", "dialeval", "utterances"])
def test_memory_does_not_depend_on_the_number_of_rows(format: str) -> None:
    peak_of(100, format)
    assert peak_of(20_000, format) < peak_of(500, format) + 1024**2
