"""Format `sft`: one row per reply, conversational prompt and completion (TRL).

The other columns say which reply of which dialogue a row is, and which model wrote the candidate that was selected or
revised ("" for a reply that a person wrote); SFTTrainer ignores them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialogues.models import Dialogue
from preference.data.formats.replies import DrawContext, utterances_in
from preference.data.selectors.random_replies import SYSTEM
from preference.data.selectors.selection import Selection, UtteranceText

VERSION = "3"
# Names of the model's side in imported conversations. If there is one, only its replies are used for training;
# authored dialogues have none, and the replies of both speakers are used.
MODELS = frozenset({"assistant", "gpt", "chatgpt", "bing", "bot", "model"})


def rows(selection: Selection, page: Sequence[Dialogue]) -> Iterator[dict[str, Any]]:
    utterances = selection.texts_with_versions(page)
    for dialogue in page:
        for made in rows_of(utterances.get(dialogue.pk, [])):
            yield {**made, "dialogue_id": dialogue.external_id, "language": dialogue.language}


def rows_of_row(row: Mapping[str, Any], draw_context: DrawContext) -> Iterator[dict[str, Any]]:
    """From a row of the format `diamante`."""
    for made in rows_of(utterances_in(row)):
        yield {**made, "dialogue_id": row["dialogue_id"], "language": row.get("language") or ""}


def rows_of(utterances: Sequence[UtteranceText]) -> Iterator[dict[str, Any]]:
    """One row for every reply of a dialogue; the opening is not a reply."""
    models = {utterance.speaker for utterance in utterances if utterance.speaker.lower() in MODELS}
    for end, reply in enumerate(utterances):
        if end and reply.speaker.lower() != SYSTEM and (not models or reply.speaker in models):
            yield {**row(utterances[:end], reply), "turn": end, "model_version": reply.model_version}


def row(context: Sequence[UtteranceText], reply: UtteranceText) -> dict[str, Any]:
    """The utterances of the replying speaker have the role assistant, all others user."""
    return {
        "prompt": [message(utterance, reply.speaker) for utterance in context],
        "completion": [message(reply, reply.speaker)],
    }


def message(utterance: UtteranceText, speaker: str) -> dict[str, str]:
    if utterance.speaker.lower() == SYSTEM:
        return {"role": SYSTEM, "content": utterance.text}
    return {"role": "assistant" if utterance.speaker == speaker else "user", "content": utterance.text}
