"""Reading a few bytes in a test."""

import io
import json
from typing import Any

from dialogues.parsing.formats import parse
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue, ParsedRow
from dialogues.parsing.row_errors import RowError

HEADER = "dialogue_id,speaker,text\n"


def read(data: str | bytes, format: str, **limits: int) -> list[ParsedRow | RowError]:
    raw = data.encode() if isinstance(data, str) else data
    return list(parse(io.BytesIO(raw), format, Limits(**limits)))


def dialogue(data: str | bytes, format: str) -> ParsedDialogue:
    (result,) = read(data, format)
    assert isinstance(result, ParsedDialogue), result
    return result


def error(data: str | bytes, format: str, **limits: int) -> RowError:
    (result,) = read(data, format, **limits)
    assert isinstance(result, RowError), result
    return result


def messages(*texts: Any, **keys: Any) -> str:
    return json.dumps({"messages": [{"role": "user", "content": text} for text in texts], **keys}) + "\n"


def texts(parsed: ParsedDialogue) -> list[str]:
    return [utterance.text for utterance in parsed.utterances]
