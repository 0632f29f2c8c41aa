"""Format `dialeval`: a JSON array of helpdesk dialogues with every annotator's nuggets and quality (NTCIR DialEval)."""

from collections.abc import Iterator, Sequence
from typing import Any

from annotation.models import Submission
from annotation.schemas import Nugget, Question, Schema, Scope
from annotation.selectors.schemas import current_schema, schema_of
from dialogues.models import Dialogue, Utterance
from preference.exports.labels import submissions_on
from preference.selectors.selection import Selection

VERSION = "1"
NOTHING = {"customer": "CNaN", "helpdesk": "HNaN"}
OURS = frozenset({"quality_as_text"})  # metadata that only say how the file was written


def rows(selection: Selection, page: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
    """One entry a dialogue, as import_dialogues reads it."""
    current = current_schema(selection.project)
    asked = _nugget_question(schema_of(current)) if current else None
    answered, spoken = submissions_on(page), selection.utterances(page, candidates=False, whole=True)
    for dialogue in page:
        utterances = spoken.get(dialogue.pk)
        if utterances is None:
            continue
        kept = {key: value for key, value in dialogue.metadata.items() if key not in OURS}
        yield {
            "id": dialogue.external_id,
            **kept,
            "turns": [_turn(utterance) for utterance in utterances],
            "annotations": [
                _annotation(one, asked, utterances, as_text=bool(dialogue.metadata.get("quality_as_text")))
                for one in answered.get(dialogue.pk, [])
            ],
        }


def _nugget_question(schema: Schema) -> Question | None:
    return next((one for one in schema.of_scope(Scope.UTTERANCE) if one.runs), None)


def _turn(utterance: Utterance) -> dict[str, Any]:
    extra = dict(utterance.metadata)
    parts = extra.pop("parts", None) or utterance.text.split("\n")
    return {"sender": utterance.speaker, "utterances": parts, **extra}


def _annotation(
    submission: Submission, asked: Question | None, utterances: Sequence[Utterance], *, as_text: bool
) -> dict[str, Any]:
    answers = submission.answers
    made: dict[str, Any] = {}
    if asked is not None:
        given = [answers["utterances"].get(str(one.position), {}).get(asked.key) for one in utterances]
        made["nugget"] = [
            _label(asked, value, one.speaker) for value, one in zip(given, utterances, strict=True)
        ]
    quality = {key: value for key, value in answers["dialogue"].items() if isinstance(value, int)}
    return {**made, "quality": {key: str(value) for key, value in quality.items()} if as_text else quality}


def _label(question: Question, value: Any, speaker: str) -> Any:
    """What is no nugget is CNaN or HNaN in this format, however the schema calls it."""
    option = next((one for one in question.options_for(speaker) if one.value == value), None)
    if option is not None and option.nugget is Nugget.NONE:
        return NOTHING.get(speaker, value)
    return value
