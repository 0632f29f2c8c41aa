"""Reading a few bytes in a test."""

import io
import json
from typing import Any, cast

from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from dialogues.parsing.formats import Format, parse
from dialogues.parsing.key_map import parse_key_map
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue, ParsedRow
from dialogues.parsing.row_errors import RowError


def example_file(format: Format) -> bytes:
    """The example of a format as a file."""
    if not format.is_binary:
        return format.example.encode()
    return workbook(*(line.split("\t") for line in format.example.splitlines()))


def workbook(*rows: list[Any]) -> bytes:
    """An Excel file with these rows."""
    book, out = Workbook(), io.BytesIO()
    sheet = cast(Worksheet, book.active)
    for row in rows:
        sheet.append(row)
    book.save(out)
    return out.getvalue()


HEADER = "dialogue_id,speaker,text\n"


def read(data: str | bytes, format: str, map: str = "", **limits: int) -> list[ParsedRow | RowError]:
    raw = data.encode() if isinstance(data, str) else data
    key_map = parse_key_map(map) if map else None
    return list(parse(io.BytesIO(raw), format, Limits(**limits), key_map))


def dialogue(data: str | bytes, format: str) -> ParsedDialogue:
    (result,) = read(data, format)
    assert isinstance(result, ParsedDialogue), result
    return result


def error(data: str | bytes, format: str, **limits: int) -> RowError:
    (result,) = read(data, format, "", **limits)
    assert isinstance(result, RowError), result
    return result


def messages(*texts: Any, **keys: Any) -> str:
    return json.dumps({"messages": [{"role": "user", "content": text} for text in texts], **keys}) + "\n"


def texts(parsed: ParsedDialogue) -> list[str]:
    return [utterance.text for utterance in parsed.utterances]
