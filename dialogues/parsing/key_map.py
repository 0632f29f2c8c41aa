"""Where the dialogues, utterances, speakers and texts are in a JSON file of any shape: paths of keys."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from dialogues.parsing.row_errors import BadRow
from dialogues.parsing.value_checks import json_type, printable

Path = tuple[str, ...]
MAX_CHARS = 500
ANY = "*"


class BadKeyMap(ValueError):
    """A map that cannot be read. name: the assignment that is wrong."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True, slots=True)
class KeyMap:
    """Paths of keys. An empty path is the value itself; a number in a path is a place in a list.

    dialogues: from the whole file (`*`: every key); a list there holds dialogues, an object is one. utterances: from a
    dialogue. speaker and text: from an utterance; without a speaker, A and B alternate. id: of the dialogue, or of a
    message if `parent` is set. parent: of a message the id of the message that it answers; `dialogues` then leads to
    the messages, and every thread of the trees becomes a dialogue.
    """

    dialogues: Path = ()
    utterances: Path = ()
    speaker: Path = ()
    text: Path = ()
    id: Path = ()
    parent: Path = ()

    def __str__(self) -> str:
        return ",".join(f"{name}={'.'.join(path)}" for name, path in self._paths() if path) or "dialogues="

    def _paths(self) -> Iterator[tuple[str, Path]]:
        return ((name, getattr(self, name)) for name in NAMES)

    def as_texts(self) -> dict[str, str]:
        """The paths as people write them, by name."""
        return {name: ".".join(path) for name, path in self._paths()}


NAMES = tuple(field.name for field in fields(KeyMap))


def parse_key_map(text: str) -> KeyMap:
    """The map of `dialogues=data.items,utterances=messages,text=message`. Raises BadKeyMap."""
    paths: dict[str, Path] = {}
    for assignment in filter(str.strip, text[: MAX_CHARS + 1].split(",")):
        name, _equals, path = (part.strip() for part in assignment.partition("="))
        if name not in NAMES or name in paths or len(text) > MAX_CHARS:
            raise BadKeyMap(assignment.strip()[:80])
        paths[name] = tuple(key for key in path.split(".") if key)
    if paths.get("parent") and not paths.get("id"):
        raise BadKeyMap("parent")
    return KeyMap(**paths)


def find_value(value: Any, path: Path) -> Any:
    """The value at the path; None if it is missing."""
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def require_value(value: Any, path: Path, place: str, wanted: str) -> Any:
    """The value at the path. place: where `value` is, for the error. Raises BadRow with the first key that fails."""
    inner, here = value, place
    for key in path:
        if isinstance(inner, dict) and key not in inner:
            raise BadRow("no_key", key=printable(key), path=here, found=printable(", ".join(inner) or "—"))
        if not isinstance(inner, dict) and find_value(inner, (key,)) is None:
            raise BadRow("no_key_at_all", key=printable(key), path=here, found=json_type(inner))
        inner, here = find_value(inner, (key,)), f"{here}.{printable(key)}".strip(".")
    if inner is None:
        raise BadRow("wrong_type", path=here, wanted=wanted, found="null")
    return inner


def without(value: Any, path: Path) -> Any:
    """A copy of the object without the key at the path, nor an object that is empty then."""
    if not path or not isinstance(value, dict):
        return value
    inner = without(value.get(path[0]), path[1:]) if len(path) > 1 else None
    rest = {key: each for key, each in value.items() if key != path[0]}
    return rest | {path[0]: inner} if inner and inner is not value.get(path[0]) else rest
