"""What a person did wrong where Python's decoder stopped in a text that is not JSON."""

import json
import re
from typing import Any

from dialogues.parsing.row_errors import BadRow
from dialogues.parsing.value_checks import printable

# Where the decoder stops in an escape: at its backslash, or at the u of a Unicode one.
ESCAPE = re.compile(r"\\?(u[0-9a-zA-Z]{0,4}|.)", re.DOTALL)
CUT_OFF_ESCAPE = re.compile(r"\\?(u[0-9a-fA-F]{0,3})?")
NEAR = 30  # characters of the file that a message quotes
LAST_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"\Z', re.DOTALL)
SWALLOWED = re.compile(r"[,:{\[]\s*\Z")  # what a text ends with that the next quotation mark closed too late
AFTER_TEXT = ' \t\r\n,:}]"'
TOKEN = re.compile(r'"[^"]{0,30}"?|[^\s,:{}\[\]"]{1,30}|.')
WORD = re.compile(r"[^\s,:{}\[\]\"]+")


def explain_json_error(error: json.JSONDecodeError, column: int, *, is_end_of_file: bool) -> BadRow:
    """The cause of the error. column: its place in the line. is_end_of_file: nothing follows its text in the file."""
    code, near = _find_mistake(error)
    if code == "cut_off":
        return BadRow("cut_off" if is_end_of_file else "line_cut_off")
    if code:
        return BadRow(code, near=near, column=column)
    return BadRow("not_json", detail=error.msg, column=column)


def ends_too_early(error: json.JSONDecodeError) -> bool:
    """Whether the text may be JSON once more of it is read: the decoder stopped at the end of it."""
    return "Unterminated string" in error.msg or error.pos >= len(error.doc) - len("-Infinity")


def _find_mistake(error: json.JSONDecodeError) -> tuple[str, str]:
    """A code of ROW_ERRORS and the part of the text to quote; no code if the mistake is not clear."""
    before, after = error.doc[: error.pos].rstrip(), error.doc[error.pos :]
    problem = error.msg
    if problem.startswith("Unterminated string"):
        return _open_text(after)
    if not after.strip():
        return "cut_off", ""
    if problem.startswith("Invalid control character"):
        is_line_end = after[0] in "\r\n"
        opened = before.rstrip(AFTER_TEXT).rpartition('"')[2]
        return ("json_quote", _tail(opened)) if is_line_end else ("json_control", "")
    if problem.startswith("Invalid \\"):
        return ("cut_off", "") if CUT_OFF_ESCAPE.fullmatch(after) else ("json_backslash", _escape(after))
    if problem == "Extra data":
        return ("json_comma_after", "") if after.strip() == "," else ("json_extra", _head(after))
    if problem in ("Expecting ',' delimiter", "Expecting ':' delimiter"):
        return _missing_separator(before, after, problem[11])
    if problem.startswith("Illegal trailing comma") or (after[0] in "}]" and before.endswith(",")):
        return "json_comma_extra", _tail(before)
    if before and (word := WORD.match(after)) and "Expecting" in problem:
        is_value = before.endswith(":") and word[0][0].isalpha()
        return ("json_word" if is_value else "json_unquoted"), _head(word[0])
    return "", ""


def _open_text(text: str) -> tuple[str, str]:
    """A text without its closing quotation mark: forgotten if brackets end the record, cut off otherwise."""
    inner = text.strip()[1:]
    return ("json_quote", _tail(inner.rstrip(AFTER_TEXT))) if inner.endswith(("}", "]")) else ("cut_off", "")


def _missing_separator(before: str, after: str, separator: str) -> tuple[str, str]:
    """Between two values: a quotation mark that closes a text too late or too early, a bracket, or the separator."""
    text = LAST_TEXT.search(before[-2000:])
    if text and after[0] not in '{["}]':
        inner = text[1]
        if SWALLOWED.search(inner):
            return "json_quote", _tail(inner.rstrip(AFTER_TEXT + "{["))
        return "json_quote_inside", _tail(inner)
    if after[0] in "}]" and separator == ",":
        return "json_bracket", after[0]
    return ("json_comma" if separator == "," else "json_colon"), _first_token(after)


def _tail(text: str) -> str:
    return printable(text[-NEAR:].strip())


def _first_token(text: str) -> str:
    token = TOKEN.match(text)
    return printable(token[0].strip('"') if token else "")


def _escape(text: str) -> str:
    escape = ESCAPE.match(text)
    return printable("\\" + escape[1] if escape else "")


def _head(text: str) -> str:
    return printable(text[:NEAR].strip())


def check_not_empty(value: Any) -> None:
    """Raises BadRow if the value of a whole file is a list without entries, or holds nothing but such lists."""
    lists = list(value.values()) if isinstance(value, dict) else [value]
    if all(each == [] for each in lists):
        raise BadRow("empty_list")
