"""Format `diqad`: a row a dialogue with its final quality label and reasons, and every judgement (DiQAD §4)."""

from collections.abc import Iterator, Sequence
from typing import Any

from dialogues.models import Dialogue
from preference.data.formats.judgements import pseudonym
from preference.data.formats.labels import FinalLabelRow, LiveSubmission, final_labels_on, live_submissions_on
from preference.data.formats.topics import stored_topic
from preference.data.selectors.selection import WITHHELD, Selection

VERSION = "1"


def rows(selection: Selection, page: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
    """A row for every dialogue whose final label is 2, 1 or 0; the label is null if there is no final one.

    Other dialogues are counted in selection.left_out, or get a row if the filters include them.
    """
    finals, answered = final_labels_on(page), live_submissions_on(page)
    spoken = selection.texts(page)
    for dialogue in page:
        utterances, final = spoken.get(dialogue.pk), finals.get(dialogue.pk)
        label = final.answers["dialogue"].get("quality") if final else None
        # Without a final label: perhaps withdrawn since the page was read.
        if utterances is None or (final is None and not selection.filters.include_unreviewed):
            continue
        if label in WITHHELD and not selection.filters.include_withheld:
            selection.left_out[str(label)] += 1
            continue
        yield {
            "id": dialogue.external_id,
            "split": dialogue.split,
            "domain": dialogue.domain,
            **stored_topic(dialogue),
            "dialogue": [{"role": one.speaker, "content": one.text} for one in utterances],
            "turns": len(utterances),
            "label": label,
            "reason": _reasons(final) if final else [],
            "origin": final.origin if final else None,
            "batch": final.batch if final else None,
            "round": final.round if final else None,
            "review": final.review if final else None,
            "judgements": [_judgement(dialogue, one) for one in answered.get(dialogue.pk, [])],
        }


def _reasons(final: FinalLabelRow) -> list[Any]:
    answers = final.answers["dialogue"]
    return list(answers.get(f"reasons_{answers.get('quality')}") or [])


def _judgement(dialogue: Dialogue, submission: LiveSubmission) -> dict[str, Any]:
    return {
        "annotator": pseudonym(dialogue.project_id, submission.annotator_id),
        **submission.answers["dialogue"],
        "note": submission.note,
        "schema_version": submission.schema_version,
    }
