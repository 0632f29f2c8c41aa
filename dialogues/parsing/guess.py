"""Which format a file is in, by its first bytes and its name, and how it would be read."""

import io
import json
import re
from dataclasses import dataclass
from itertools import islice

from dialogues.parsing.formats import FORMATS, parse
from dialogues.parsing.records import ParsedDialogue, RowError

KEYS = {"messages": "messages", "conversations": "sharegpt", "conversation": "diamante", "dialogue": "diqad"}
KEY = re.compile(r'"(messages|conversations|conversation|dialogue)"\s*:\s*\[')
TURNS = re.compile(r'"turns"\s*:\s*\[')
TABLE = re.compile(r"\bdialogue_id\b", re.IGNORECASE)
EXTENSIONS = {"jsonl": "messages", "ndjson": "messages", "json": "messages", "csv": "csv", "tsv": "tsv"}


def guess(name: str, head: bytes) -> str | None:
    """A key of FORMATS, or None when nothing tells. head: the first bytes of the file, a few KB are enough."""
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
class Sample:
    """The first dialogue of a file as it would be stored, or why its first row would be refused."""

    dialogue: ParsedDialogue | None = None
    error: RowError | None = None


def sample(format: str, head: bytes, *, whole: bool) -> Sample:
    """What the reader makes of the beginning. whole: head is all of the file, so that its last line is not torn."""
    kept = head if whole else head[: head.rfind(b"\n") + 1]
    results = list(islice(parse(io.BytesIO(kept), format), 2))
    if not results or (not whole and len(results) == 1 and FORMATS[format].extension != "jsonl"):
        return Sample()  # a dialogue of several lines may go on after the head
    first = results[0]
    return Sample(error=first) if isinstance(first, RowError) else Sample(dialogue=first)
