"""Dialogues of a JSON file of any shape, one at a time: at a path of keys in one value, or a value a line."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from dialogues.parsing.json_array import JsonWindow
from dialogues.parsing.json_lines import decode_json
from dialogues.parsing.key_map import ANY, Path
from dialogues.parsing.lines import BOM, Rewound, read_lines
from dialogues.parsing.parsed_dialogue import Limits
from dialogues.parsing.row_errors import BadRow, RowError

SKIPPED_DEPTH = 8  # deeper values are decoded to be skipped, so they must fit into `line_bytes`


@dataclass(frozen=True, slots=True)
class Entry:
    """A dialogue or message as it stands in the file. key: its name, if it is a value of an object."""

    line: int
    value: Any
    key: str | None = None


def read_entries(stream: BinaryIO, path: Path, limits: Limits) -> Iterator[Entry | RowError]:
    """The entries of the list at the path, or the object there; of every line if each is a JSON value."""
    head = _read_two_lines(stream, limits)
    rewound = cast(BinaryIO, Rewound(head, stream))
    if not path and is_json_lines(head):
        return _read_lines(rewound, limits)
    return _read_window(JsonWindow(rewound, limits), path)


def _read_two_lines(stream: BinaryIO, limits: Limits) -> bytes:
    """The first two lines that are not blank; fewer if they are very long."""
    head, count = b"", 0
    while count < 2 and len(head) <= limits.line_bytes and (line := stream.readline(limits.line_bytes + 1)):
        head += line
        count += bool(line.strip())
    return head


def is_json_lines(head: bytes) -> bool:
    """Whether every line is a value: the first is an object or a list of texts, or a broken object before another."""
    first, _break, rest = head.removeprefix(BOM).lstrip().partition(b"\n")
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return first.startswith(b"{") and first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{")
    return isinstance(value, dict) or _is_dialogue(value)


def _is_dialogue(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)


def _read_lines(stream: BinaryIO, limits: Limits) -> Iterator[Entry | RowError]:
    for line in read_lines(stream, limits):
        if isinstance(line, RowError):
            yield line
        elif line.text.strip():
            try:
                yield Entry(line.number, decode_json(line, limits))
            except BadRow as problem:
                yield problem.at(line.number)


def _read_window(window: JsonWindow, path: Path) -> Iterator[Entry | RowError]:
    try:
        found = False
        for entry in _walk(window, path, None):
            found = True
            yield entry
        if path and not found:
            raise BadRow("no_entries", path=".".join(path))
    except BadRow as problem:
        yield RowError(window.line, problem.code, problem.params, fatal=True)


def _walk(window: JsonWindow, path: Path, key: str | None) -> Iterator[Entry]:
    """The dialogues of the value that begins here. Uses it up."""
    opening = window.next_character()
    if path and opening in ("{", "["):
        for name in _open(window, opening):
            if path[0] in (name, ANY):
                yield from _walk(window, path[1:], name if path[0] == ANY and opening == "{" else key)
            else:
                _skip(window, 0)
    elif not path and opening == "[":
        yield from _walk_list(window, key)
    else:
        line, value = window.next_value()
        if not path:
            yield Entry(line, value, key)


def _walk_list(window: JsonWindow, key: str | None) -> Iterator[Entry]:
    """The entries of a list; the list itself if it begins with a text."""
    if window.begins_with_text():
        line, value = window.next_value()
        yield Entry(line, value, key)
        return
    for _place in _open(window, "["):
        line, value = window.next_value()
        yield Entry(line, value)


def _open(window: JsonWindow, opening: str) -> Iterator[str]:
    """The keys of the object or the places of the list that opens here; the caller uses up every value."""
    window.skip(opening)
    window.is_first_entry = True
    for place in itertools.count():
        if not window.has_next("}" if opening == "{" else "]"):
            break
        yield _next_key(window) if opening == "{" else str(place)
        window.is_first_entry = False
    window.is_first_entry = False


def _next_key(window: JsonWindow) -> str:
    if window.next_character() != '"':
        raise window.mistake_here("Expecting property name enclosed in double quotes")
    _line, key = window.next_value()
    if not window.skip(":"):
        raise window.mistake_here("Expecting ':' delimiter")
    return cast(str, key)


def _skip(window: JsonWindow, depth: int) -> None:
    opening = window.next_character()
    if opening not in ("{", "[") or depth == SKIPPED_DEPTH:
        window.next_value()
        return
    for _name in _open(window, opening):
        _skip(window, depth + 1)
