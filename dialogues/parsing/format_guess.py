"""Guess the format of a file from its first bytes and its name, and preview its first dialogue."""

import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from dialogues.parsing.compressed import ZIP
from dialogues.parsing.formats import FORMATS, parse
from dialogues.parsing.json_entries import is_json_lines
from dialogues.parsing.key_map import KeyMap
from dialogues.parsing.map_guess import complete_json, guess_key_map
from dialogues.parsing.parsed_dialogue import ParsedAssignment, ParsedDialogue, ParsedRow
from dialogues.parsing.row_errors import RowError

# For each JSON Lines format the key of its utterances, and what each of those must have.
LISTS = {
    "messages": ("messages", {"role", "content"}),
    "conversations": ("sharegpt", {"from", "value"}),
    "conversation": ("diamante", {"utterance"}),
    "dialogue": ("diqad", {"role", "content"}),
}
KEY = re.compile(r'"(messages|conversations|conversation|dialogue)"\s*:\s*\[')
TURNS = re.compile(r'"turns"\s*:\s*\[[^\]]*"sender"', re.DOTALL)
QC_MODEL = re.compile(r'"qc-model"\s*:')
TABLE = re.compile(r"\bdialogue_id\b", re.IGNORECASE)
# Names of columns: a first line with two of them is not the beginning of a dialogue.
COLUMNS = frozenset(
    [
        "id",
        "dialog_id",
        "conversation_id",
        "session_id",
        "turn",
        "speaker",
        "role",
        "sender",
        "text",
        "utterance",
        "message",
    ]
)
EXTENSIONS = {"jsonl": "messages", "ndjson": "messages", "json": "messages", "csv": "csv", "tsv": "tsv"}
# So many lines without a blank one are rather many dialogues than one.
ONE_DIALOGUE_LINES = 50
PREVIEWED = 1000  # rows
REFUSED = 3  # rows, and no other in the head: the format or the map is wrong


def guess_format(name: str, head: bytes) -> str | None:
    """A key of FORMATS. head: the first bytes of the file, unpacked; a few KB are enough.

    None for an empty file, and if the only guess would make one dialogue of a long file.
    """
    if head.startswith(ZIP):
        return "xlsx"
    text = head.decode("utf-8", errors="replace").lstrip("\ufeff").lstrip(" \r\n")
    if not text.strip():
        return None
    first = text.partition("\n")[0]
    if text[0] in "{[":
        return _guess_json(first, text)
    if TABLE.search(first):
        return "tsv" if "\t" in first else "csv"
    if "__eou__" in text:
        return "eou"
    if "\t" in first:
        return "tsv" if _names_columns(first) else "tabs"
    format = EXTENSIONS.get(_extension(name), "utterances")
    return None if format == "utterances" and _is_one_dialogue(text) else format


def _names_columns(first: str) -> bool:
    return len(COLUMNS & set(first.lower().split("\t"))) >= 2


def _is_one_dialogue(text: str) -> bool:
    lines = text.splitlines()
    return len(lines) > ONE_DIALOGUE_LINES and all(line.strip() for line in lines)


def _guess_json(first: str, text: str) -> str:
    if QC_MODEL.search(text):
        return "assessment"
    if text[0] == "[" and TURNS.search(text):
        return "dialeval"
    try:
        row = json.loads(first)
    except ValueError:
        if is_json_lines(text.encode()):
            return _guess_torn(first)  # only this line is broken
        # A line that the head cuts off, or a value of several lines.
        return _guess_torn(text) if first == text and text[0] == "{" else "json"
    return (_format_of_row(row) or "json") if isinstance(row, dict) else "json"


def _guess_torn(text: str) -> str:
    found = KEY.search(text)
    if found:
        return LISTS[found[1]][0]
    return "json" if guess_key_map(text.encode()) else "messages"


def _format_of_row(row: dict[str, Any]) -> str | None:
    """The format of a line whose utterances have all that the format needs."""
    for key, (format, needed) in LISTS.items():
        items = row.get(key)
        if isinstance(items, list) and (
            not items or not isinstance(items[0], dict) or needed <= set(items[0])
        ):
            return format
    return None


def _extension(name: str) -> str:
    return name.rpartition(".")[2].lower()


@dataclass(frozen=True, slots=True)
class FilePreview:
    """The first dialogue of a file as it would be stored, and why a row would be refused, of the first PREVIEWED.

    error: of the first refused row; of a head that breaks off, only where that cannot be the reason. refuses_all:
    nothing of the file can be imported like this. languages: how many of these dialogues have which language, as the
    file writes it; "" for none.
    """

    dialogue: ParsedDialogue | None = None
    error: RowError | None = None
    refuses_all: bool = False
    languages: Mapping[str, int] = field(default_factory=dict)


def preview_dialogue(
    format: str, head: bytes, *, is_whole: bool, key_map: KeyMap | None = None
) -> FilePreview:
    """The first dialogue, read from the first bytes of a file, unpacked. is_whole: head is all of the file."""
    if not is_whole and FORMATS[format].is_binary:
        return FilePreview()
    readable = io.BytesIO(_readable(format, head, is_whole))
    parsed = parse(readable, format, None, key_map)
    rows = list(islice(parsed, PREVIEWED))
    if not is_whole and _may_go_on(format, rows):
        return FilePreview()
    found = [row for row in rows if not isinstance(row, RowError)]
    error = next((row for row in _checkable(format, rows, is_whole) if isinstance(row, RowError)), None)
    is_useless = not found and (is_whole or len(rows) >= REFUSED)
    refuses_all = error is not None and (error.fatal or is_useless)
    languages = Counter(row.language or "" for row in found if isinstance(row, ParsedDialogue))
    return FilePreview(_first_dialogue(found), error, refuses_all, languages)


def _checkable(format: str, rows: list[ParsedRow | RowError], is_whole: bool) -> list[ParsedRow | RowError]:
    """The rows that are not refused merely because the head breaks off."""
    if is_whole or FORMATS[format].extension == "jsonl":
        return rows
    is_closed = FORMATS[format].read_mapped  # a torn value was closed, so its last entry may look wrong
    is_any_read = any(not isinstance(row, RowError) for row in rows)
    return [] if is_closed and is_any_read else rows[:1]


def _may_go_on(format: str, rows: list[ParsedRow | RowError]) -> bool:
    """Whether the only row may be whole, or readable, with what follows the head."""
    if len(rows) != 1 or FORMATS[format].extension == "jsonl":
        return not rows
    if FORMATS[format].read_mapped:
        return isinstance(rows[0], RowError)
    return not (isinstance(rows[0], RowError) and rows[0].code == "no_header")


def _readable(format: str, head: bytes, is_whole: bool) -> bytes:
    """What of the head can be read: whole lines, or the JSON value with its open brackets closed."""
    if is_whole:
        return head
    lines = head[: head.rfind(b"\n") + 1]
    if not FORMATS[format].read_mapped or is_json_lines(lines):
        return lines
    return complete_json(head.decode(errors="ignore").removeprefix("\ufeff").strip()).encode()


def _first_dialogue(rows: list[ParsedRow]) -> ParsedDialogue | None:
    first = next(iter(rows), None)
    return _first_conversation(first) if isinstance(first, ParsedAssignment) else first


def _first_conversation(assignment: ParsedAssignment) -> ParsedDialogue | None:
    """The first conversation of which the file has the texts."""
    conversations = (each for each in assignment.conversations if each.utterances)
    first = next(conversations, None)
    return ParsedDialogue(assignment.line, assignment.external_id, first.utterances) if first else None
