"""JSON Lines: one object a line, each checked for what the database cannot hold."""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from dialogues.parsing.lines import Line, read_lines
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue, Reader
from dialogues.parsing.row_errors import BadRow, RowError
from dialogues.parsing.value_checks import check_depth, check_object, check_storable

# Escapes that may stand for NUL or half a surrogate pair; only rows with one are searched value by value.
ESCAPED_UNSTORABLE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")

Convert = Callable[[dict[str, Any], int, Limits], ParsedDialogue]


def json_lines_reader(convert: Convert) -> Reader:
    """A reader of JSON Lines that turns every row into a dialogue with convert(row, line, limits)."""

    def read(stream: BinaryIO, limits: Limits) -> Iterator[ParsedDialogue | RowError]:
        first = True
        for line in read_lines(stream, limits):
            if isinstance(line, RowError):
                yield line
            elif line.text.strip():
                if first and (problem := _detect_other_json(line)):
                    yield problem
                    return
                yield _dialogue(convert, line, limits)
                first = False

    return read


def _dialogue(convert: Convert, line: Line, limits: Limits) -> ParsedDialogue | RowError:
    try:
        return convert(_object(line.text, limits), line.number, limits)
    except BadRow as problem:
        return problem.at(line.number)


def _object(text: str, limits: Limits) -> dict[str, Any]:
    return check_object(decode_json(text, limits), "row")


def decode_json(text: str, limits: Limits) -> Any:
    """The value of a line. Raises BadRow for what is not JSON or cannot be stored."""
    value = _decode(text, limits)
    if ESCAPED_UNSTORABLE.search(text):
        check_depth(value, limits.metadata_depth)
        check_storable(value, "")
    return value


def _decode(text: str, limits: Limits) -> Any:
    try:
        return json.loads(text, parse_constant=finite_number, parse_float=finite_number)
    except json.JSONDecodeError as error:
        raise BadRow("not_json", detail=error.msg, column=error.pos + 1) from None
    except RecursionError:
        raise BadRow("too_deep", limit=limits.metadata_depth) from None
    except ValueError:  # Python refuses whole numbers of more than 4,300 digits
        raise BadRow("number_too_long") from None


def finite_number(literal: str) -> float:
    """The number of a JSON literal. Raises BadRow for NaN, Infinity and 1e999: neither JSON nor PostgreSQL has them."""
    number = float(literal)
    if not math.isfinite(number):
        raise BadRow("not_finite", number=literal[:20])
    return number


def _detect_other_json(first: Line) -> RowError | None:
    """Report a JSON array or a pretty-printed object once, at its first line, instead of refusing every line."""
    text = first.text.strip()
    if text[0] not in "[{":
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        code = "json_array" if text[0] == "[" else "json_spread" if text == "{" else ""
    else:
        code = "json_array" if isinstance(value, list) and value and isinstance(value[0], dict) else ""
    return RowError(first.number, code, fatal=True) if code else None
