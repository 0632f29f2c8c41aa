"""Formats `sft` and `preference` of a study: replies that people rated well, or better than those of another system."""

from collections.abc import Iterator, Sequence
from typing import Any

from preference.data.formats.replies import Candidate
from preference.data.formats.sft import message, row
from preference.data.selectors.random_replies import normalize_spaces
from preference.data.selectors.study import (
    SYSTEM,
    RatedReply,
    StudyAssignment,
    StudySelection,
    context_key,
    is_well_rated,
)

LOWER_RATED = "lower-rated"


def sft_rows(selection: StudySelection, page: Sequence[StudyAssignment]) -> Iterator[dict[str, Any]]:
    """One row per reply of a well-rated conversation."""
    for reply in selection.replies(page):
        if is_well_rated(reply.score, selection.filters):
            about = {**_identity(reply), "model_version": reply.system_name}
            yield {**row(reply.context, reply.said), **about}


def preference_rows(selection: StudySelection, page: Sequence[StudyAssignment]) -> Iterator[dict[str, Any]]:
    """One row per pair of replies of two systems to the same context.

    chosen: of a well-rated conversation; rejected: of one with a lower score.
    """
    for reply in selection.replies(page):
        if is_well_rated(reply.score, selection.filters):
            yield from (_pair(reply, other) for other in _rejected(selection, reply))


def _rejected(selection: StudySelection, reply: RatedReply) -> Iterator[RatedReply]:
    """Different replies of other systems, each text once."""
    known = {normalize_spaces(reply.said.text)}
    for other in selection.shared_replies.get(context_key(reply.context), []):
        text = normalize_spaces(other.said.text)
        if other.system != reply.system and other.score < reply.score and text not in known:
            known.add(text)
            yield other


def _pair(chosen: RatedReply, rejected: RatedReply) -> dict[str, Any]:
    return {
        "prompt": [message(utterance, SYSTEM) for utterance in chosen.context],
        "chosen": [message(chosen.said, SYSTEM)],
        "rejected": [message(rejected.said, SYSTEM)],
        "rejected_origin": LOWER_RATED,
        **_identity(chosen),
        "model_version": rejected.system_name,
        **Candidate(rejected.said.text, rejected.system_name, LOWER_RATED).provenance("rejected"),
    }


def _identity(reply: RatedReply) -> dict[str, Any]:
    """Which reply it is, as in the files of other projects."""
    return {"dialogue_id": reply.dialogue_id, "turn": len(reply.context), "language": reply.language}
