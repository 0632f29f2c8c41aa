"""`diqad`: {"dialogue": [{"role", "content"}], "label", "reason", "turns"}, one a line (DiQAD's released form).

The dialogue may also stand under "messages" or "conversation". Label and reason travel in the metadata.
"""

from typing import Any

from dialogues.parsing import messages
from dialogues.parsing.jsonl import jsonl_reader
from dialogues.parsing.records import BadRow, Limits, ParsedDialogue

NAMES = ("dialogue", "messages", "conversation")
CONVERTERS = {name: messages.converter(name, "role", "content") for name in NAMES}


def convert(row: dict[str, Any], line: int, limits: Limits) -> ParsedDialogue:
    """The dialogue of one row; raises BadRow."""
    name = next((name for name in NAMES if name in row), None)
    if name is None:
        raise BadRow("wrong_type", path=NAMES[0], wanted="list", found="missing")
    return CONVERTERS[name](row, line, limits)


read = jsonl_reader(convert)
