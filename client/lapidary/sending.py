"""Dialogues of any kind as the rows of a file that the server imports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

from lapidary.errors import LapidaryError

# A row of an import format, or messages: {"role", "content"} or (speaker, text).
DialogueLike = Mapping[str, Any] | Sequence[Mapping[str, Any] | tuple[str, str]]


class NotADialogue(LapidaryError):
    """Something among the dialogues cannot be sent as one."""


def write_rows(dialogues: Iterable[DialogueLike], file: IO[bytes]) -> int:
    """Write one JSON line for each dialogue; returns their number. Raises NotADialogue with its place."""
    count = 0
    for count, dialogue in enumerate(dialogues, start=1):
        try:
            line = json.dumps(to_row(dialogue), ensure_ascii=False, allow_nan=False)
            file.write(line.encode("utf-8") + b"\n")
        except (TypeError, ValueError) as error:
            raise NotADialogue(
                f"Dialogue {count} cannot be sent: {error}.",
                'Give rows of the format, lists of {"role", "content"}, or lists of (speaker, text).',
            ) from error
    return count


def to_row(dialogue: object) -> Mapping[str, Any]:
    """A mapping is a row already; anything else is a list of messages. Raises TypeError."""
    if isinstance(dialogue, Mapping):
        return dialogue
    if isinstance(dialogue, str) or not isinstance(dialogue, Sequence):
        raise TypeError(f"{type(dialogue).__name__} is not a dialogue")
    return {"messages": [_message(each) for each in dialogue]}


def _message(message: object) -> Mapping[str, Any]:
    if isinstance(message, Mapping):
        return message
    if isinstance(message, str) or not isinstance(message, Sequence) or len(message) != 2:
        raise TypeError(f"{message!r} is not a message")
    speaker, text = message
    return {"role": speaker, "content": text}
