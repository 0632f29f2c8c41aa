"""Format `diamante` (formats.md): the shape of the published data set, with how each utterance came about."""

from collections.abc import Iterator
from typing import Any

from dialogues.models import Dialogue, Utterance
from preference.exports.selection import Selection


def rows(selection: Selection) -> Iterator[dict[str, Any]]:
    for dialogue, utterances in selection.with_utterances():
        yield row(dialogue, utterances)


def row(dialogue: Dialogue, utterances: list[Utterance]) -> dict[str, Any]:
    made = {
        "id": dialogue.external_id or f"{dialogue.project_id}-{dialogue.pk}",
        "split": dialogue.split,
        "review": dialogue.review_state,
        "language": dialogue.language,
        "domain": dialogue.domain,
        "conversation": [turn(utterance) for utterance in utterances],
    }
    return {key: value for key, value in made.items() if value != ""}


def turn(utterance: Utterance) -> dict[str, Any]:
    shown = utterance.candidate_set
    made: dict[str, Any] = {
        "utterance": utterance.text,
        "response_candidates": [candidate["text"] for candidate in shown.candidates] if shown else [],
        "speaker": utterance.speaker,
    }
    if utterance.action:
        made |= {"action": utterance.action, "source": utterance.source, "edit_distance": utterance.edit_distance}
    if shown and shown.model_version:
        made["model_version"] = shown.model_version
    return made
