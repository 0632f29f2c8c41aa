"""Checks of single values. Each returns the value as it will be stored, or raises BadRow naming its path in the row."""

import re
from collections.abc import Mapping
from typing import Any

from dialogues.parsing.records import EXTERNAL_ID_CHARS, BadRow, Limits

# Tab and line breaks are text. The other C0 characters and DEL show as nothing and break XML, CSV and terminals;
# PostgreSQL cannot store NUL at all. Refusing them beats dropping them: an import never changes what people wrote.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

Json = Mapping[str, Any]


def kind_of(value: Any) -> str:
    """The name of a JSON value's type, a key of problems.KINDS."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names: dict[type, str] = {str: "text", int: "number", float: "number", list: "list", dict: "object"}
    return names[type(value)]


def wrong_type(path: str, wanted: str, value: Any) -> BadRow:
    """The refusal of a value of another type."""
    return BadRow("wrong_type", path=path, wanted=wanted, found=kind_of(value))


def require(row: Json, key: str, path: str, wanted: str) -> Any:
    """row[key]; refused when absent. wanted: the kind to name then."""
    if key not in row:
        raise BadRow("wrong_type", path=path, wanted=wanted, found="missing")
    return row[key]


def shown(value: str) -> str:
    """Somebody's text inside an error: short, and without what cannot be shown or stored."""
    return UNSTORABLE.sub("�", CONTROL.sub("�", value if len(value) <= 80 else value[:80] + "…"))


def text(value: Any, path: str, limits: Limits, *, may_be_empty: bool = False) -> str:
    """An utterance, verbatim, except that line breaks become \\n: browsers send them back so, and compare as equal."""
    if not isinstance(value, str):
        raise wrong_type(path, "text", value)
    if not may_be_empty and not value.strip():
        raise BadRow("empty", path=path)
    if len(value) > limits.utterance_chars:
        raise BadRow("too_long", path=path, found=len(value), limit=limits.utterance_chars)
    _check_characters(value, path)
    return value.replace("\r\n", "\n").replace("\r", "\n") if "\r" in value else value


def short_text(value: Any, path: str, limit: int) -> str:
    """A name or label of 1 to `limit` characters, without the blanks around it."""
    if not isinstance(value, str):
        raise wrong_type(path, "text", value)
    label: str = value.strip()
    if not label:
        raise BadRow("empty", path=path)
    if len(label) > limit:
        raise BadRow("too_long", path=path, found=len(label), limit=limit)
    _check_characters(label, path)
    return label


def optional_short_text(row: Json, key: str, path: str, limit: int) -> str | None:
    """row[key] as a label; None when absent, null or empty."""
    value = row.get(key)
    return None if value is None or value == "" else short_text(value, path, limit)


def external_id(row: Json) -> str | None:
    """row["id"], whole numbers as text; None when absent."""
    value = row.get("id")
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise wrong_type("id", "id", value)
    return short_text(value, "id", EXTERNAL_ID_CHARS)


def whole_number(row: Json, key: str, path: str) -> int | None:
    """row[key] ≥ 0; None when absent or null."""
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise wrong_type(path, "integer", value)
    return value


def items(value: Any, path: str, limit: int) -> list[Any]:
    """A list of 1 to `limit` entries."""
    if not isinstance(value, list):
        raise wrong_type(path, "list", value)
    if not value:
        raise BadRow("empty", path=path)
    if len(value) > limit:
        raise BadRow("too_many", path=path, limit=limit)
    return value


def json_object(value: Any, path: str) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise wrong_type(path, "object", value)
    return value


def metadata(row: Json, known: frozenset[str], limits: Limits) -> dict[str, Any]:
    """The keys of the row that the format does not know, kept as they are."""
    extra = {key: value for key, value in row.items() if key not in known}
    if any(isinstance(value, (list, dict)) for value in extra.values()):
        check_depth(extra, limits.metadata_depth)
    return extra


def check_depth(value: Any, limit: int) -> None:
    """Refuse deep nesting. Level by level, since a recursive check would itself fail at the depth it looks for."""
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
            check_storable(inner, f"{path}.{shown(key)}" if path else shown(key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            check_storable(inner, f"{path}[{place}]")


def _check_characters(value: str, path: str) -> None:
    if found := CONTROL.search(value):
        raise _bad_character(found, path)


def _bad_character(found: re.Match[str], path: str) -> BadRow:
    code = "control_character" if found[0] < "\x80" else "half_character"
    return BadRow(code, path=path, character=f"U+{ord(found[0]):04X}", column=found.start() + 1)
