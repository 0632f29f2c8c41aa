"""Guess where the dialogues of a JSON file are, and which paths of keys a person can choose, from its first bytes."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dialogues.parsing.json_entries import is_json_lines
from dialogues.parsing.key_map import ANY, KeyMap, Path, find_value

UTTERANCES = [
    "messages",
    "utterances",
    "turns",
    "dialogue",
    "dialog",
    "conversation",
    "conversations",
    "log",
    "content",
    "history",
    "text",
]
TEXTS = ["text", "content", "value", "utterance", "message", "sentence", "body", "transcript", "said"]
SPEAKERS = [
    "speaker",
    "role",
    "from",
    "sender",
    "author",
    "user",
    "name",
    "who",
    "agent",
    "agent_id",
    "worker",
]
SPLITS = {"train", "training", "valid", "validation", "val", "dev", "test"}
PARENTS = ["parent_id", "parent", "parent_message_id", "reply_to", "in_reply_to"]
DEPTH = 4
SAMPLED = 50


@dataclass(frozen=True, slots=True)
class KeyChoices:
    """A guessed map, and by the name of each part the paths that the sample has for it. None: no guess.

    unread: paths of further lists beside the dialogues, which the chosen or guessed map leaves out.
    """

    guess: KeyMap | None
    paths: Mapping[str, list[str]] = field(default_factory=dict)
    unread: Sequence[str] = ()


def guess_key_map(head: bytes) -> KeyMap | None:
    """The map of a file with these first bytes; None if they show no dialogue."""
    return choose_keys(head).guess


def choose_keys(head: bytes, chosen: KeyMap | None = None) -> KeyChoices:
    """The guess, and the paths to choose from if the person has chosen this map so far."""
    try:
        sample = _sample(head)
    except (ValueError, RecursionError):
        return KeyChoices(None)
    guess = _guess(sample)
    used = chosen or guess or KeyMap()
    return KeyChoices(guess, _paths(sample, used), _unread_lists(sample, used.dialogues))


def _sample(head: bytes) -> Any:
    """The value that begins the text; a list of the first ones, if every line is one. Raises ValueError."""
    text = head.decode(errors="ignore").removeprefix("\ufeff").strip()
    if "\n" in text and is_json_lines(text.encode()):
        return list(_json_lines(text))
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(complete_json(text))


def _json_lines(text: str) -> Iterator[Any]:
    """The values of the first lines, without those that are broken or cut off."""
    for line in text.split("\n")[:SAMPLED]:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


def complete_json(text: str) -> str:
    """The first value of the text; where it breaks off, closed after its last complete entry."""
    stack: list[str] = []
    closing: Sequence[str] = ()
    end, in_text, at = 0, False, 0
    while at < len(text):
        character = text[at]
        if in_text:
            at += character == "\\"
            in_text = character != '"'
        elif character == '"':
            in_text = True
        elif character in "{[":
            stack.append("}" if character == "{" else "]")
        elif character in "}]":
            if not stack or stack.pop() != character:
                break
            if not stack:
                return text[: at + 1]
            end, closing = at + 1, tuple(stack)
        elif character == "," and stack:
            end, closing = at, tuple(stack)
        at += 1
    return text[:end] + "".join(reversed(closing))


def _guess(sample: Any) -> KeyMap | None:
    if siblings := _guess_siblings(sample):
        return siblings
    for path, dialogues in _dialogue_lists(sample):
        guess = _guess_list(dialogues)
        if guess:
            return KeyMap(path, **guess)
    return None


def _guess_siblings(sample: Any) -> KeyMap | None:
    """An object with nothing but lists of dialogues of the same shape, such as the splits of a corpus."""
    if not isinstance(sample, dict):
        return None
    for path, value in _walk(sample, ()):
        if not isinstance(value, dict) or not all(isinstance(each, list) for each in value.values()):
            continue
        # The first bytes of a large file may show one split only.
        if len(value) < 2 and not SPLITS & {key.lower() for key in value}:
            continue
        lists = [each for each in value.values() if each]
        # Lists of texts or utterances are dialogues by their ids, not splits.
        guesses = [None if _are_texts(each) or _has_text(each[0]) else _guess_list(each) for each in lists]
        if guesses and guesses[0] and all(guess == guesses[0] for guess in guesses):
            return KeyMap((*path, ANY), **guesses[0])
    return None


def _guess_list(dialogues: list[Any]) -> dict[str, Path] | None:
    return _guess_tree(dialogues[:SAMPLED]) or _guess_utterances(dialogues[:SAMPLED])


def _dialogue_lists(sample: Any) -> Iterator[tuple[Path, list[Any]]]:
    """Where the dialogues may be: at the top, under a key, or under every key."""
    if isinstance(sample, dict) and all(isinstance(value, dict) for value in sample.values()):
        yield (ANY,), list(sample.values())
    yield (), sample if isinstance(sample, list) and not _are_texts(sample) else [sample]
    if not isinstance(sample, dict):
        return
    for path, value in _walk(sample, ()):
        if isinstance(value, list) and path and not _are_texts(value):
            yield path, value


def _guess_tree(messages: list[Any]) -> dict[str, Path] | None:
    """Messages with the id of the message that they answer."""
    rows = [message for message in messages if isinstance(message, dict)]
    parent = next((key for key in _by_name(rows, PARENTS) if _strings(rows, key)), "")
    if not parent:
        return None
    parents = {row.get(parent) for row in rows}
    known = {key: len(parents & set(_strings(rows, key))) for key in _keys(rows) if key != parent}
    id = max(known, key=lambda key: known[key], default="")
    item = _guess_item(rows)
    return {"id": (id,), "parent": (parent,), **item} if id and known[id] and item else None


def _guess_utterances(dialogues: list[Any]) -> dict[str, Path] | None:
    """Dialogues that hold a list of utterances, or are one."""
    lists: dict[Path, list[Any]] = {}
    for dialogue in dialogues:
        for path, value in _walk(dialogue, ()):
            if isinstance(value, list) and value:
                lists.setdefault(path, []).extend(value[:SAMPLED])
    named = sorted(lists, key=lambda path: (_rank(path[-1:], UTTERANCES), len(path)))
    for path in named:
        item = _guess_item(lists[path])
        if item is not None:
            return {"utterances": path, **item}
    return None


def _guess_item(items: list[Any]) -> dict[str, Path] | None:
    """The text and the speaker in utterances; None if they are not utterances."""
    if _are_texts(items):
        return {}
    rows = [item for item in items if isinstance(item, dict)]
    if any(_holds_utterances(row) for row in rows[:SAMPLED]):
        return None
    texts = _text_paths(rows)
    best = min(texts, key=lambda path: (_rank(path[-1:], TEXTS), -_mean_length(rows, path)), default=None)
    if best is None or len(rows) < len(items) / 2:
        return None
    speakers = [path for path in texts if path != best and _rank(path[-1:], SPEAKERS) < len(SPEAKERS)]
    everywhere = [path for path in speakers if all(isinstance(find_value(row, path), str) for row in rows)]
    speaker = min(everywhere, key=lambda path: _rank(path[-1:], SPEAKERS), default=())
    return {"speaker": speaker, "text": best}


def _holds_utterances(row: dict[str, Any]) -> bool:
    """Whether the object is a dialogue rather than an utterance, which has a text, if only as a list of parts."""
    if _has_text(row):
        return False
    lists = (value for key, value in row.items() if key.lower() in UTTERANCES and key.lower() not in TEXTS)
    return any(isinstance(value, list) and value and isinstance(value[0], dict) for value in lists)


def _has_text(row: Any) -> bool:
    return isinstance(row, dict) and any(
        isinstance(value, str) for key, value in row.items() if key.lower() in TEXTS
    )


def _paths(sample: Any, chosen: KeyMap) -> dict[str, list[str]]:
    """The paths that a person can choose from, by the name of the part."""
    dialogues = _values_at(sample, chosen.dialogues)
    items = dialogues
    if not chosen.parent:
        found = (find_value(dialogue, chosen.utterances) for dialogue in dialogues)
        items = [item for value in found if isinstance(value, list) for item in value[:SAMPLED]]
    rows = [item for item in items if isinstance(item, dict)]
    texts = _text_paths(rows)
    entries = [dialogue for dialogue in dialogues if isinstance(dialogue, dict)]
    lists = (path for entry in entries for path, value in _walk(entry, ()) if isinstance(value, list))
    return {
        "dialogues": _shown(path for path, value in _walk(sample, ()) if isinstance(value, list)),
        "utterances": _shown(lists),
        "speaker": _shown(texts),
        "text": _shown(texts),
        "id": _shown((key,) for key in _keys(entries)),
        "parent": _shown((key,) for key in _keys(entries)),
    }


def _unread_lists(sample: Any, path: Path) -> list[str]:
    """The lists of objects or lists that the path to the dialogues leads past."""
    if not path or not isinstance(sample, dict):
        return []
    beside = (
        place
        for place, value in _walk(sample, ())
        if isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value[:SAMPLED])
        if any(key not in (ANY, own) for key, own in zip(path, place, strict=False))
    )
    return _shown(beside)


def _values_at(sample: Any, path: Path) -> list[Any]:
    values = [sample]
    for key in path:
        inner = (
            list(value.values()) if key == ANY and isinstance(value, dict) else [find_value(value, (key,))]
            for value in values
        )
        values = [each for entries in inner for each in entries][:SAMPLED]
    lists = (value if isinstance(value, list) and not _are_texts(value) else [value] for value in values)
    return [entry for entries in lists for entry in entries[:SAMPLED]]


def _walk(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The value and what its objects hold, with the path to it."""
    yield path, value
    if isinstance(value, dict) and len(path) < DEPTH:
        for key, inner in list(value.items())[:SAMPLED]:
            if key and not set(key) & set(".,=*"):
                yield from _walk(inner, (*path, key))


def _text_paths(rows: list[dict[str, Any]]) -> list[Path]:
    return list(dict.fromkeys(
        path for row in rows[:SAMPLED] for path, value in _walk(row, ()) if path and isinstance(value, str)
    ))  # fmt: skip


def _keys(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def _by_name(rows: list[dict[str, Any]], names: list[str]) -> list[str]:
    return sorted((key for key in _keys(rows) if key in names), key=names.index)


def _strings(rows: list[dict[str, Any]], key: str) -> list[str]:
    return [row[key] for row in rows if isinstance(row.get(key), str)]


def _are_texts(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, str) for item in items)


def _mean_length(rows: list[dict[str, Any]], path: Path) -> float:
    return sum(len(str(find_value(row, path) or "")) for row in rows) / len(rows)


def _rank(path: Path, names: list[str]) -> int:
    return names.index(path[0].lower()) if path and path[0].lower() in names else len(names)


def _shown(paths: Iterable[Path]) -> list[str]:
    return list(dict.fromkeys(".".join(path) for path in paths if path))[:SAMPLED]
