"""`diqad`: {"dialogue": [{"role", "content"}], "label", "reason", "turns"}, one a line (DiQAD's released form).

The utterances may also be under "messages" or "conversation". Label and reason are kept in the metadata.
"""

from typing import Any

from dialogues.parsing.json_dialogues import utterance_list_converter
from dialogues.parsing.json_lines import json_lines_reader
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue
from dialogues.parsing.row_errors import BadRow

UTTERANCE_KEYS = ("dialogue", "messages", "conversation")
CONVERTERS = {name: utterance_list_converter(name, "role", "content") for name in UTTERANCE_KEYS}


def convert(row: dict[str, Any], line: int, limits: Limits) -> ParsedDialogue:
    """The dialogue of one row. Raises BadRow."""
    name = next((name for name in UTTERANCE_KEYS if name in row), None)
    if name is None:
        raise BadRow("wrong_type", path=UTTERANCE_KEYS[0], wanted="list", found="missing")
    return CONVERTERS[name](row, line, limits)


read = json_lines_reader(convert)
