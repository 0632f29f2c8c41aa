"""Message trees: messages that name the message they answer. Every thread, from a root to a leaf, is a dialogue."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dialogues.parsing.json_entries import Entry
from dialogues.parsing.key_map import KeyMap, find_value, require_value
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue, ParsedUtterance
from dialogues.parsing.row_errors import BadRow, RowError
from dialogues.parsing.value_checks import check_external_id, check_id

ParseUtterance = Callable[[Any, int, str, KeyMap, Limits], ParsedUtterance]


@dataclass(slots=True)
class _Message:
    """A message of a tree. parent: id of the message that it answers; None for a root."""

    id: str
    parent: str | None
    line: int
    value: Any
    replies: list["_Message"] = field(default_factory=list)


def read_threads(
    entries: Iterable[Entry | RowError], key_map: KeyMap, limits: Limits, parse: ParseUtterance
) -> Iterator[ParsedDialogue | RowError]:
    """Every thread of the trees; its id is that of its last message. All messages are held in memory."""
    messages: dict[str, _Message] = {}
    for entry in entries:
        try:
            if isinstance(entry, RowError):
                raise BadRow(entry.code, **entry.params)
            _add(messages, _message(entry, key_map, parse, limits), limits)
        except BadRow as problem:
            fatal = problem.code == "too_many_messages" or (isinstance(entry, RowError) and entry.fatal)
            yield RowError(entry.line, problem.code, problem.params, fatal=fatal)
            if fatal:
                return
    roots = []
    for message in messages.values():
        if message.parent is None:
            roots.append(message)
        elif parent := messages.get(message.parent):
            parent.replies.append(message)
        else:
            yield RowError(message.line, "parent_missing", {"id": message.parent})
    yield from _threads(roots, key_map, limits, parse)
    yield from _circles(messages)


def _message(entry: Entry, key_map: KeyMap, parse: ParseUtterance, limits: Limits) -> _Message:
    id = check_id(require_value(entry.value, key_map.id, "", "id"))
    parent = check_external_id({"id": find_value(entry.value, key_map.parent)})
    parse(entry.value, 0, "", key_map, limits)  # a message that is refused here takes its replies with it
    return _Message(id, parent, entry.line, entry.value)


def _add(messages: dict[str, _Message], message: _Message, limits: Limits) -> None:
    if len(messages) == limits.tree_messages:
        raise BadRow("too_many_messages", limit=limits.tree_messages)
    if message.id in messages:
        raise BadRow("id_twice", id=message.id)
    messages[message.id] = message


def _threads(
    roots: list[_Message], key_map: KeyMap, limits: Limits, parse: ParseUtterance
) -> Iterator[ParsedDialogue | RowError]:
    """Depth first, without recursion: a thread may be longer than Python's stack."""
    for root in roots:
        thread: list[_Message] = []
        waiting = [(0, root)]
        while waiting:
            depth, message = waiting.pop()
            del thread[depth:]
            thread.append(message)
            if len(thread) > limits.utterances:
                yield RowError(message.line, "too_many", {"path": message.id, "limit": limits.utterances})
            elif message.replies:
                waiting += [(depth + 1, reply) for reply in reversed(message.replies)]
            else:
                utterances = (
                    parse(each.value, position, "", key_map, limits) for position, each in enumerate(thread)
                )
                yield ParsedDialogue(root.line, message.id, tuple(utterances), tree=root.id)


def _circles(messages: dict[str, _Message]) -> Iterator[RowError]:
    """An error for every message that answers, in the end, itself."""
    settled: set[str] = set()
    for message in messages.values():
        path: list[_Message] = []
        current: _Message | None = message
        on_path: set[str] = set()
        while current and current.id not in settled and current.id not in on_path:
            path.append(current)
            on_path.add(current.id)
            current = messages.get(current.parent) if current.parent is not None else None
        if current and current.id in on_path:
            yield RowError(current.line, "parent_circle", {"id": current.id})
        settled |= on_path
