"""Format `diamante`: rows of the published data set, with the provenance of each utterance.

Metadata of an import goes back to where it was in the file, so that importing and exporting preserves a file.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialogues.models import Dialogue, Utterance
from preference.data.formats.replies import SAMPLED, DrawContext
from preference.data.formats.topics import stored_topic
from preference.data.selectors.selection import Selection

VERSION = "4"


def rows(selection: Selection, page: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
    utterances = selection.utterances(page)
    for dialogue in page:
        if dialogue.pk in utterances:
            yield row(dialogue, utterances[dialogue.pk])


def rows_of(row: Mapping[str, Any], draw_context: DrawContext) -> Iterator[dict[str, Any]]:
    """The row itself: a snapshot holds rows of this format."""
    yield dict(row)


def row(dialogue: Dialogue, utterances: Sequence[Utterance]) -> dict[str, Any]:
    """One dialogue; keys without a value are left out."""
    fields = {
        "id": dialogue.external_id,
        "dialogue_id": dialogue.external_id,
        "split": dialogue.split,
        "review": dialogue.review_state,
        "language": dialogue.language,
        "domain": dialogue.domain,
        **stored_topic(dialogue),
    }
    present = {key: value for key, value in fields.items() if value}
    return {**dialogue.metadata, **present, "conversation": [turn(utterance) for utterance in utterances]}


def turn(utterance: Utterance) -> dict[str, Any]:
    """One utterance with the candidates shown for it, in displayed order."""
    candidate_set = utterance.candidate_set
    row: dict[str, Any] = {
        **utterance.metadata,
        "utterance": utterance.text,
        "response_candidates": [candidate["text"] for candidate in candidate_set.candidates]
        if candidate_set
        else [],
        "speaker": utterance.speaker,
    }
    if utterance.time:
        row["time"] = utterance.time
    if utterance.action:
        row |= {
            "action": utterance.action,
            "source": utterance.source,
            "edit_distance": utterance.edit_distance,
        }
    if utterance.action_derived:
        row["action_derived"] = True
    if candidate_set and (version := candidate_set.version_of(utterance.source)):
        row["model_version"] = version
    if candidate_set and any(candidate.get("model_version") for candidate in candidate_set.candidates):
        row["candidate_versions"] = [
            candidate_set.version_of(index) for index in range(len(candidate_set.candidates))
        ]
    if candidate_set and any(candidate.get("seed") is not None for candidate in candidate_set.candidates):
        row["candidate_sampling"] = [
            {key: candidate.get(key) for key in SAMPLED} for candidate in candidate_set.candidates
        ]
    return row
