"""Checks of single values. Each returns the value as it will be stored, or raises BadRow with its path in the row."""

import re
from collections.abc import Mapping
from typing import Any

from dialogues.parsing.parsed_dialogue import EXTERNAL_ID_CHARS, Limits
from dialogues.parsing.row_errors import BadRow

# Tab and line breaks are text. The other C0 characters and DEL are invisible and break XML, CSV and terminals;
# PostgreSQL cannot store NUL at all. They are refused, not dropped: an import never changes what people wrote.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

Json = Mapping[str, Any]


def json_type(value: Any) -> str:
    """The type of a JSON value, a key of row_errors.TYPE_NAMES."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names: dict[type, str] = {str: "text", int: "number", float: "number", list: "list", dict: "object"}
    return names[type(value)]


def wrong_type(path: str, wanted: str, value: Any) -> BadRow:
    """The error of a value that has another type than `wanted`."""
    return BadRow("wrong_type", path=path, wanted=wanted, found=json_type(value))


def require_key(row: Json, key: str, path: str, wanted: str) -> Any:
    """row[key]. wanted: the type that the error names if the key is missing."""
    if key not in row:
        raise BadRow("wrong_type", path=path, wanted=wanted, found="missing")
    return row[key]


def printable(value: str) -> str:
    """A part of the file inside an error: short, and without characters that cannot be shown or stored."""
    return UNSTORABLE.sub("�", CONTROL.sub("�", value if len(value) <= 80 else value[:80] + "…"))


def check_text(value: Any, path: str, limits: Limits, *, may_be_empty: bool = False) -> str:
    """An utterance, verbatim except that every line break becomes \\n, as browsers send it back."""
    if not isinstance(value, str):
        raise wrong_type(path, "text", value)
    if not may_be_empty and not value.strip():
        raise BadRow("empty", path=path)
    if len(value) > limits.utterance_chars:
        raise BadRow("too_long", path=path, found=len(value), limit=limits.utterance_chars)
    _check_characters(value, path)
    return value.replace("\r\n", "\n").replace("\r", "\n") if "\r" in value else value


def check_short_text(value: Any, path: str, limit: int) -> str:
    """A name or label of 1 to `limit` characters, stripped."""
    if not isinstance(value, str):
        raise wrong_type(path, "text", value)
    label: str = value.strip()
    if not label:
        raise BadRow("empty", path=path)
    if len(label) > limit:
        raise BadRow("too_long", path=path, found=len(label), limit=limit)
    _check_characters(label, path)
    return label


def check_optional_short_text(row: Json, key: str, path: str, limit: int) -> str | None:
    """row[key] as a label; None if missing, null or empty."""
    value = row.get(key)
    return None if value is None or value == "" else check_short_text(value, path, limit)


def check_external_id(row: Json) -> str | None:
    """row["id"], a whole number as text; None if missing or null."""
    value = row.get("id")
    return None if value is None else check_id(value)


def check_id(value: Any) -> str:
    """An id, a whole number as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise wrong_type("id", "id", value)
    return check_short_text(value, "id", EXTERNAL_ID_CHARS)


def check_whole_number(row: Json, key: str, path: str) -> int | None:
    """row[key] as a number ≥ 0; None if missing or null."""
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise wrong_type(path, "integer", value)
    return value


def check_list(value: Any, path: str, limit: int) -> list[Any]:
    """A list of 1 to `limit` entries."""
    if not isinstance(value, list):
        raise wrong_type(path, "list", value)
    if not value:
        raise BadRow("empty", path=path)
    if len(value) > limit:
        raise BadRow("too_many", path=path, limit=limit)
    return value


def check_object(value: Any, path: str) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise wrong_type(path, "object", value)
    return value


def collect_metadata(row: Json, known: frozenset[str], limits: Limits) -> dict[str, Any]:
    """The keys that the format does not know, unchanged."""
    extra = {key: value for key, value in row.items() if key not in known}
    if any(isinstance(value, (list, dict)) for value in extra.values()):
        check_depth(extra, limits.metadata_depth)
    return extra


def check_depth(value: Any, limit: int) -> None:
    """Refuse deep nesting. Goes level by level: a recursive check would fail at the depth it looks for."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > limit:
            raise BadRow("too_deep", limit=limit)
        inner = (list(entry.values()) if isinstance(entry, dict) else entry for entry in level)
        level = [entry for entries in inner for entry in entries if isinstance(entry, (dict, list))]


def check_storable(value: Any, path: str) -> None:
    """Refuse NUL and half surrogate pairs anywhere in a JSON value, keys included: PostgreSQL stores neither."""
    if isinstance(value, str):
        if found := UNSTORABLE.search(value):
            raise _bad_character(found, path)
    elif isinstance(value, dict):
        for key, inner in value.items():
            check_storable(key, path or "key")
            check_storable(inner, f"{path}.{printable(key)}" if path else printable(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            check_storable(inner, f"{path}[{index}]")


def _check_characters(value: str, path: str) -> None:
    if found := CONTROL.search(value):
        raise _bad_character(found, path)


def _bad_character(found: re.Match[str], path: str) -> BadRow:
    code = "control_character" if found[0] < "\x80" else "half_character"
    return BadRow(code, path=path, character=f"U+{ord(found[0]):04X}", column=found.start() + 1)
