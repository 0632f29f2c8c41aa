"""Format `dialeval`: a JSON array of helpdesk dialogues with every annotator's nuggets and quality (NTCIR DialEval)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.labelling.schema.questions import Nugget, Question, QuestionSchema, Scope
from annotation.labelling.selectors.schemas import current_schema, load_schema
from dialogues.models import Dialogue
from preference.data.formats.labels import LiveSubmission, live_submissions_on
from preference.data.selectors.selection import Selection, UtteranceText

VERSION = "1"
NOTHING = {"customer": "CNaN", "helpdesk": "HNaN"}
WRITING_NOTES = frozenset(
    {"quality_as_text"}
)  # metadata about how the file was written, not about the dialogue


def rows(selection: Selection, page: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
    """One entry a dialogue, as import_dialogues reads it."""
    current = current_schema(selection.project)
    asked = _nugget_question(load_schema(current)) if current else None
    labels = _Labels(asked.key, _names_of_no_nugget(asked)) if asked else None
    answered, spoken = live_submissions_on(page), selection.texts(page, metadata=True)
    for dialogue in page:
        utterances = spoken.get(dialogue.pk)
        if utterances is None:
            continue
        kept = {key: value for key, value in dialogue.metadata.items() if key not in WRITING_NOTES}
        yield {
            "id": dialogue.external_id,
            **kept,
            **_review_fields(answered.get(dialogue.pk, [])),
            "turns": [_turn(utterance) for utterance in utterances],
            "annotations": [
                _annotation(one, labels, utterances, as_text=bool(dialogue.metadata.get("quality_as_text")))
                for one in answered.get(dialogue.pk, [])
            ],
        }


def _review_fields(answered: Sequence[LiveSubmission]) -> dict[str, Any]:
    """The batch in which the labels were reviewed; nothing if there are no batches, as in the original files."""
    one = answered[0] if answered else None
    return (
        {}
        if one is None or one.batch is None
        else {"batch": one.batch, "round": one.round, "review": one.review}
    )


def _nugget_question(schema: QuestionSchema) -> Question | None:
    return next((one for one in schema.of_scope(Scope.UTTERANCE) if one.runs), None)


def _turn(utterance: UtteranceText) -> dict[str, Any]:
    extra = dict(utterance.metadata)
    parts = extra.pop("parts", None) or utterance.text.split("\n")
    return {"sender": utterance.speaker, "utterances": parts, **extra}


@dataclass(frozen=True, slots=True)
class _Labels:
    """key: of the question whose answers are nuggets. names: of (speaker, value) in this format, if not the value."""

    key: str
    names: Mapping[tuple[str, Any], str]


def _names_of_no_nugget(question: Question) -> dict[tuple[str, Any], str]:
    """In this format the absence of a nugget is CNaN or HNaN, whatever the schema calls it."""
    return {
        (speaker, option.value): name
        for speaker, name in NOTHING.items()
        for option in question.options_for(speaker)
        if option.nugget is Nugget.NONE
    }


def _annotation(
    answered: LiveSubmission, labels: _Labels | None, utterances: Sequence[UtteranceText], *, as_text: bool
) -> dict[str, Any]:
    answers = answered.answers
    annotation: dict[str, Any] = {}
    if labels is not None:
        answered_nuggets = [
            answers["utterances"].get(str(utterance.position), {}).get(labels.key) for utterance in utterances
        ]
        annotation["nugget"] = [
            labels.names.get((utterance.speaker, value), value)
            for value, utterance in zip(answered_nuggets, utterances, strict=True)
        ]
    quality = {key: value for key, value in answers["dialogue"].items() if isinstance(value, int)}
    return {
        **annotation,
        "quality": {key: str(value) for key, value in quality.items()} if as_text else quality,
    }
