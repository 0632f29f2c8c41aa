"""Format `diqad`: a row a dialogue with its final quality label and reasons, and every judgement (DiQAD §4)."""

from collections.abc import Iterator, Sequence
from typing import Any

from annotation.models import FinalLabel, Submission
from dialogues.models import Dialogue
from preference.exports.judgements import pseudonym
from preference.exports.labels import finals_on, submissions_on
from preference.selectors.selection import Selection

VERSION = "1"
# Private data, and dialogues that were given up: no training data (DiQAD, Table 1).
LEFT_OUT = frozenset({-1, -2, "phone"})


def rows(selection: Selection, page: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
    """A row for every dialogue whose final label is 2, 1 or 0; without a final label the label is null."""
    finals, answered = finals_on(page), submissions_on(page)
    spoken = selection.utterances(page, candidates=False)
    for dialogue in page:
        utterances, final = spoken.get(dialogue.pk), finals.get(dialogue.pk)
        label = final.answers["dialogue"].get("quality") if final else None
        if utterances is None or label in LEFT_OUT:
            continue
        yield {
            "id": dialogue.external_id,
            "split": dialogue.split,
            "dialogue": [{"role": one.speaker, "content": one.text} for one in utterances],
            "turns": len(utterances),
            "label": label,
            "reason": _reasons(final) if final else [],
            "origin": final.origin if final else None,
            "judgements": [_judgement(dialogue, one) for one in answered.get(dialogue.pk, [])],
        }


def _reasons(final: FinalLabel) -> list[Any]:
    answers = final.answers["dialogue"]
    return list(answers.get(f"reasons_{answers.get('quality')}") or [])


def _judgement(dialogue: Dialogue, one: Submission) -> dict[str, Any]:
    return {
        "annotator": pseudonym(dialogue.project_id, one.annotator_id),
        **one.answers["dialogue"],
        "note": one.note,
        "schema_version": one.schema.version,
    }
