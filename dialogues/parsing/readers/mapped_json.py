"""`json`: JSON of any shape; a map of keys says where the dialogues, utterances, speakers and texts are."""

from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from dialogues.parsing.json_array import JsonWindow
from dialogues.parsing.json_dialogues import ROW_KEYS, build_dialogue
from dialogues.parsing.json_entries import Entry, read_entries
from dialogues.parsing.json_mistakes import check_not_empty
from dialogues.parsing.key_map import KeyMap, Path, find_value, require_value, without
from dialogues.parsing.lines import Rewound
from dialogues.parsing.map_guess import guess_key_map
from dialogues.parsing.message_tree import read_threads
from dialogues.parsing.parsed_dialogue import (
    SPEAKER_CHARS,
    TIME_CHARS,
    Limits,
    ParsedDialogue,
    ParsedUtterance,
)
from dialogues.parsing.readers.eou import SPEAKERS
from dialogues.parsing.row_errors import BadRow, RowError
from dialogues.parsing.value_checks import (
    check_list,
    check_optional_short_text,
    check_short_text,
    check_text,
    collect_metadata,
    printable,
)

HEAD_BYTES = 64 * 1024


def read(stream: BinaryIO, limits: Limits) -> Iterator[ParsedDialogue | RowError]:
    """The dialogues, with the map that the beginning of the file suggests."""
    head = b""
    while len(head) < HEAD_BYTES and (chunk := stream.read(HEAD_BYTES - len(head))):
        head += chunk
    key_map = guess_key_map(head)
    rewound = cast(BinaryIO, Rewound(head, stream))
    if key_map is None:
        yield _why_no_map(rewound, limits)
        return
    yield from read_mapped(rewound, limits, key_map)


def _why_no_map(stream: BinaryIO, limits: Limits) -> RowError:
    """Why the beginning of the file suggests no map: a mistake in its first value, no entries, or unknown keys."""
    window = JsonWindow(stream, limits)
    try:
        _line, value = window.next_value()
        check_not_empty(value)
    except BadRow as problem:
        return RowError(window.line, problem.code, problem.params, fatal=True)
    return RowError(1, "no_key_map", fatal=True)


def read_mapped(stream: BinaryIO, limits: Limits, key_map: KeyMap) -> Iterator[ParsedDialogue | RowError]:
    """The dialogues that the map leads to, in order; with `parent`, every thread of the message trees."""
    entries = read_entries(stream, key_map.dialogues, limits)
    if key_map.parent:
        yield from read_threads(entries, key_map, limits, parse_utterance)
        return
    for entry in entries:
        yield entry if isinstance(entry, RowError) else _dialogue(entry, key_map, limits)


def _dialogue(entry: Entry, key_map: KeyMap, limits: Limits) -> ParsedDialogue | RowError:
    try:
        path = _shown(key_map.utterances) or "dialogue"
        items = require_value(entry.value, key_map.utterances, "", "list")
        utterances = tuple(
            parse_utterance(item, position, f"{path}[{position}]", key_map, limits)
            for position, item in enumerate(check_list(items, path, limits.utterances))
        )
        return build_dialogue(_row(entry, key_map), entry.line, utterances, ROW_KEYS, limits)
    except BadRow as problem:
        return problem.at(entry.line)


def _row(entry: Entry, key_map: KeyMap) -> dict[str, Any]:
    """What a dialogue has beside its utterances, with its id under `id`."""
    if not isinstance(entry.value, dict):
        return {"id": entry.key}
    row: dict[str, Any] = without(entry.value, key_map.utterances)
    if key_map.id:
        row = without(row, key_map.id) | {"id": find_value(entry.value, key_map.id)}
    return {"id": entry.key} | row


def parse_utterance(item: Any, position: int, path: str, key_map: KeyMap, limits: Limits) -> ParsedUtterance:
    """The utterance at this position of its dialogue. Raises BadRow."""
    text_path = f"{path}.{_shown(key_map.text)}".strip(".")
    text = check_text(require_value(item, key_map.text, path, "text"), text_path, limits)
    if not isinstance(item, dict):
        return ParsedUtterance(_speaker(item, position, path, key_map), text)
    rest = without(without(item, key_map.text), key_map.speaker)
    time = rest.get("time")
    known = frozenset({"time"}) if isinstance(time, str) else frozenset[str]()
    return ParsedUtterance(
        speaker=_speaker(item, position, path, key_map),
        text=text,
        time=check_optional_short_text(rest, "time", f"{path}.time".strip("."), TIME_CHARS)
        if known
        else None,
        metadata=collect_metadata(rest, known, limits),
    )


def _speaker(item: Any, position: int, path: str, key_map: KeyMap) -> str:
    if not key_map.speaker:
        return SPEAKERS[position % 2]
    speaker = require_value(item, key_map.speaker, path, "text")
    path = f"{path}.{_shown(key_map.speaker)}".strip(".")
    if isinstance(speaker, int) and not isinstance(speaker, bool):
        speaker = str(speaker)
    return check_short_text(speaker, path, SPEAKER_CHARS)


def _shown(path: Path) -> str:
    return printable(".".join(path))
