"""JSON Lines: one object a line, each checked for what the database cannot hold."""

import itertools
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from dialogues.parsing.json_mistakes import explain_json_error
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
        lines = _filled_lines(stream, limits)
        ahead = list(itertools.islice(lines, 2))
        if problem := _detect_other_json(ahead):
            yield problem
            return
        for line in itertools.chain(ahead, lines):
            yield line if isinstance(line, RowError) else _dialogue(convert, line, limits)

    return read


def _filled_lines(stream: BinaryIO, limits: Limits) -> Iterator[Line | RowError]:
    return (line for line in read_lines(stream, limits) if isinstance(line, RowError) or line.text.strip())


def _dialogue(convert: Convert, line: Line, limits: Limits) -> ParsedDialogue | RowError:
    try:
        return convert(check_object(decode_json(line, limits), "row"), line.number, limits)
    except BadRow as problem:
        return problem.at(line.number)


def decode_json(line: Line, limits: Limits) -> Any:
    """The value of a line. Raises BadRow for what is not JSON or cannot be stored."""
    value = _decode(line, limits)
    if ESCAPED_UNSTORABLE.search(line.text):
        check_depth(value, limits.metadata_depth)
        check_storable(value, "")
    return value


def _decode(line: Line, limits: Limits) -> Any:
    try:
        return json.loads(line.text, parse_constant=finite_number, parse_float=finite_number)
    except json.JSONDecodeError as error:
        raise explain_json_error(error, error.pos + 1, is_end_of_file=line.is_last) from None
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


def _detect_other_json(ahead: list[Line | RowError]) -> RowError | None:
    """Report a JSON array or a pretty-printed object once, at its first line, instead of refusing every line."""
    if not ahead or not isinstance(first := ahead[0], Line):
        return None
    text = first.text.strip()
    if text[0] not in "[{":
        return None
    try:
        code = _code_of_other_value(json.loads(text))
    except (ValueError, RecursionError) as error:
        code = "json_array" if text[0] == "[" else "json_spread" if _goes_on(error, ahead[1:]) else ""
    return RowError(first.number, code, fatal=True) if code else None


def _goes_on(error: Exception, following: list[Line | RowError]) -> bool:
    """Whether an object goes on below its first line: it breaks off between two values, and no row follows."""
    breaks_off = isinstance(error, json.JSONDecodeError) and error.pos == len(error.doc)
    return breaks_off and any(isinstance(line, Line) and not line.text.startswith("{") for line in following)


def _code_of_other_value(value: Any) -> str:
    if value == []:
        return "empty_list"
    return "json_array" if isinstance(value, list) and isinstance(value[0], dict) else ""
