"""JSON Lines: one object a line, each checked for what the database cannot hold."""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from dialogues.parsing.checks import check_depth, check_storable, json_object
from dialogues.parsing.lines import Line, read_lines
from dialogues.parsing.records import BadRow, Limits, ParsedDialogue, Reader, RowError

# Escapes that may stand for NUL or half a character; only rows that hold one are searched value by value.
SUSPICIOUS = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")

Convert = Callable[[dict[str, Any], int, Limits], ParsedDialogue]


def jsonl_reader(convert: Convert) -> Reader:
    """A reader of JSON Lines that makes a dialogue of every row with convert(row, line, limits)."""

    def read(stream: BinaryIO, limits: Limits) -> Iterator[ParsedDialogue | RowError]:
        first = True
        for line in read_lines(stream, limits):
            if isinstance(line, RowError):
                yield line
            elif line.text.strip():
                if first and (problem := _not_lines(line)):
                    yield problem
                    return
                yield _row(convert, line, limits)
                first = False

    return read


def _row(convert: Convert, line: Line, limits: Limits) -> ParsedDialogue | RowError:
    try:
        return convert(_object(line.text, limits), line.number, limits)
    except BadRow as problem:
        return problem.at(line.number)


def _object(text: str, limits: Limits) -> dict[str, Any]:
    value = _decode(text, limits)
    row = json_object(value, "row")
    if SUSPICIOUS.search(text):
        check_depth(row, limits.metadata_depth)
        check_storable(row, "")
    return row


def _decode(text: str, limits: Limits) -> Any:
    try:
        return json.loads(text, parse_constant=finite, parse_float=finite)
    except json.JSONDecodeError as error:
        raise BadRow("not_json", detail=error.msg, column=error.pos + 1) from None
    except RecursionError:
        raise BadRow("too_deep", limit=limits.metadata_depth) from None
    except ValueError:  # Python refuses whole numbers of more than 4,300 digits
        raise BadRow("number_too_long") from None


def finite(literal: str) -> float:
    """NaN, Infinity and 1e999 are no JSON, and no database value."""
    number = float(literal)
    if not math.isfinite(number):
        raise BadRow("not_finite", number=literal[:20])
    return number


def _not_lines(line: Line) -> RowError | None:
    """Tell a JSON array or a pretty-printed object by the first line, rather than refuse every line after it."""
    text = line.text.strip()
    if text[0] not in "[{":
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        code = "json_array" if text[0] == "[" else "json_spread" if text == "{" else ""
    else:
        code = "json_array" if isinstance(value, list) and value and isinstance(value[0], dict) else ""
    return RowError(line.number, code, fatal=True) if code else None
