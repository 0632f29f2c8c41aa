"""An id for every dialogue, so that importing a row twice stores it once."""

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from dialogues.parsing.parsed_dialogue import ParsedDialogue, ParsedRow, ParsedUtterance
from dialogues.parsing.row_errors import RowError
from dialogues.parsing.seen_ids import SeenIds


def with_unique_ids(results: Iterator[ParsedRow | RowError]) -> Iterator[ParsedRow | RowError]:
    """The same results, with an external id for every dialogue that is unique in the file.

    A dialogue without an id gets one from its content: when an extended file is imported again, only the new dialogues
    are added, wherever they are in the file. Equal dialogues are numbered, because a corpus may contain the same short
    exchange twice. A row with an id that an earlier row has is refused.
    """
    seen = SeenIds()
    repeats: dict[str, int] = {}
    for result in results:
        if isinstance(result, RowError):
            yield result
        elif isinstance(result, ParsedDialogue) and result.external_id is None:
            name = content_id(result)
            if not seen.add(name):
                repeats[name] = repeats.get(name, 1) + 1
                name = f"{name}#{repeats[name]}"
            yield replace(result, external_id=name)
        elif seen.add(str(result.external_id)):
            yield result
        else:
            yield RowError(result.line, "id_twice", {"id": result.external_id})


def is_content_id(external_id: str) -> bool:
    """Whether the id was made from the content, because the file had none."""
    return external_id.startswith("sha256:")


def content_id(dialogue: ParsedDialogue) -> str:
    """`sha256:` and 32 hexadecimal digits of everything that would be stored. Changing this orphans earlier imports."""
    utterances = [_content(utterance) for utterance in dialogue.utterances]
    content = [utterances, dialogue.language, dialogue.domain, dialogue.metadata]
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
