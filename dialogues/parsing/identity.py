"""A name for every dialogue, so that importing a row twice stores it once."""

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from dialogues.parsing.records import ParsedDialogue, ParsedUtterance, RowError
from dialogues.parsing.seen_ids import SeenIds


def identified(results: Iterator[ParsedDialogue | RowError]) -> Iterator[ParsedDialogue | RowError]:
    """The same results, every dialogue with an external id that no other of the file has.

    A dialogue without an id is named by its content: a file that was extended and is imported again then adds only what
    is new, wherever it stands in the file. Equal dialogues of one file are told apart by their number, since a corpus
    may well hold the same short exchange twice. An id that the file gives twice is refused: which one is meant?
    """
    seen = SeenIds()
    repeats: dict[str, int] = {}
    for result in results:
        if isinstance(result, RowError):
            yield result
        elif result.external_id is None:
            name = content_id(result)
            if not seen.add(name):
                repeats[name] = repeats.get(name, 1) + 1
                name = f"{name}#{repeats[name]}"
            yield replace(result, external_id=name)
        elif seen.add(result.external_id):
            yield result
        else:
            yield RowError(result.line, "id_twice", {"id": result.external_id})


def content_id(dialogue: ParsedDialogue) -> str:
    """`sha256:` and 32 hexadecimal digits of everything that would be stored. Changing this orphans earlier imports."""
    turns = [_content(utterance) for utterance in dialogue.utterances]
    content = [turns, dialogue.language, dialogue.domain, dialogue.metadata]
    return f"sha256:{sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]}"


def _content(utterance: ParsedUtterance) -> list[object]:
    return [
        utterance.speaker,
        utterance.text,
        utterance.time,
        utterance.metadata,
        utterance.candidates,
        utterance.action,
        utterance.source,
        utterance.edit_distance,
        utterance.model_version,
    ]
