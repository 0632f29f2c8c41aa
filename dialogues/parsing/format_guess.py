"""Guess the format of a file from its first bytes and its name, and preview its first dialogue."""

import io
import json
import re
from dataclasses import dataclass
from itertools import islice

from dialogues.parsing.formats import FORMATS, parse
from dialogues.parsing.parsed_dialogue import ParsedAssignment, ParsedDialogue
from dialogues.parsing.row_errors import RowError

KEYS = {"messages": "messages", "conversations": "sharegpt", "conversation": "diamante", "dialogue": "diqad"}
KEY = re.compile(r'"(messages|conversations|conversation|dialogue)"\s*:\s*\[')
TURNS = re.compile(r'"turns"\s*:\s*\[')
QC_MODEL = re.compile(r'"qc-model"\s*:')
TABLE = re.compile(r"\bdialogue_id\b", re.IGNORECASE)
EXTENSIONS = {"jsonl": "messages", "ndjson": "messages", "json": "messages", "csv": "csv", "tsv": "tsv"}


def guess_format(name: str, head: bytes) -> str | None:
    """A key of FORMATS, or None for an empty file. head: its first bytes; a few KB are enough."""
    text = head.decode("utf-8", errors="replace").lstrip("\ufeff").lstrip()
    if not text:
        return None
    first = text.partition("\n")[0]
    if text[0] in "{[":
        return _guess_json(first, text)
    if TABLE.search(first):
        return "tsv" if "\t" in first else "csv"
    if "__eou__" in text:
        return "eou"
    return EXTENSIONS.get(_extension(name), "utterances")


def _guess_json(first: str, text: str) -> str:
    if QC_MODEL.search(text):
        return "assessment"
    if text[0] == "[" and TURNS.search(text):
        return "dialeval"
    try:
        row = json.loads(first)
    except ValueError:
        row = None
    if isinstance(row, dict):
        for key, format in KEYS.items():
            if isinstance(row.get(key), list):
                return format
    found = KEY.search(text)
    return KEYS[found[1]] if found else "messages"


def _extension(name: str) -> str:
    return name.rpartition(".")[2].lower()


@dataclass(frozen=True, slots=True)
class FilePreview:
    """The first dialogue of a file as it would be stored, or why its first row would be refused."""

    dialogue: ParsedDialogue | None = None
    error: RowError | None = None


def preview_dialogue(format: str, head: bytes, *, is_whole: bool) -> FilePreview:
    """The first dialogue, read from the first bytes of a file. is_whole: head is all of the file."""
    complete_lines = head if is_whole else head[: head.rfind(b"\n") + 1]
    results = list(islice(parse(io.BytesIO(complete_lines), format), 2))
    if not results or (not is_whole and len(results) == 1 and FORMATS[format].extension != "jsonl"):
        return FilePreview()  # a dialogue of several lines may continue after the head
    first = results[0]
    if isinstance(first, RowError):
        return FilePreview(error=first)
    return FilePreview(dialogue=first if isinstance(first, ParsedDialogue) else _first_conversation(first))


def _first_conversation(assignment: ParsedAssignment) -> ParsedDialogue | None:
    """The first conversation of which the file has the texts."""
    conversations = (each for each in assignment.conversations if each.utterances)
    first = next(conversations, None)
    return ParsedDialogue(assignment.line, assignment.external_id, first.utterances) if first else None
