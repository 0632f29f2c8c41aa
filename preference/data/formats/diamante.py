"""Format `diamante`: rows of the published data set, with the provenance of each utterance.

Metadata of an import goes back to where it was in the file, so that importing and exporting preserves a file.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialogues.models import Dialogue, Utterance
from preference.data.formats.replies import DrawContext
from preference.data.selectors.selection import Selection

VERSION = "2"


def rows(selection: Selection, page: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
    utterances = selection.utterances(page)
    for dialogue in page:
        if dialogue.pk in utterances:
            yield row(dialogue, utterances[dialogue.pk])


def rows_of(row: Mapping[str, Any], drawn: DrawContext) -> Iterator[dict[str, Any]]:
    """The row itself: a snapshot holds rows of this format."""
    yield dict(row)


def row(dialogue: Dialogue, utterances: Sequence[Utterance]) -> dict[str, Any]:
    """One dialogue; keys without a value are left out."""
    about = {
        "id": dialogue.external_id,
        "dialogue_id": dialogue.external_id,
        "split": dialogue.split,
        "review": dialogue.review_state,
        "language": dialogue.language,
        "domain": dialogue.domain,
    }
    known = {key: value for key, value in about.items() if value}
    return {**dialogue.metadata, **known, "conversation": [turn(utterance) for utterance in utterances]}


def turn(utterance: Utterance) -> dict[str, Any]:
    """One utterance with the candidates shown for it, in displayed order."""
    shown = utterance.candidate_set
    made: dict[str, Any] = {
        **utterance.metadata,
        "utterance": utterance.text,
        "response_candidates": [candidate["text"] for candidate in shown.candidates] if shown else [],
        "speaker": utterance.speaker,
    }
    if utterance.time:
        made["time"] = utterance.time
    if utterance.action:
        made |= {
            "action": utterance.action,
            "source": utterance.source,
            "edit_distance": utterance.edit_distance,
        }
    if shown and (version := shown.version_of(utterance.source)):
        made["model_version"] = version
    if shown and any(candidate.get("model_version") for candidate in shown.candidates):
        made["candidate_versions"] = [shown.version_of(place) for place in range(len(shown.candidates))]
    return made
