"""Format `sft`: one row per reply, conversational prompt and completion (TRL)."""

from collections.abc import Iterator, Sequence
from typing import Any

from dialogues.models import Utterance
from preference.exports.selection import Selection


def rows(selection: Selection) -> Iterator[dict[str, Any]]:
    for _dialogue, utterances in selection.with_utterances():
        for end in range(1, len(utterances)):
            yield row(utterances[:end], utterances[end])


def row(context: Sequence[Utterance], reply: Utterance) -> dict[str, Any]:
    """The replying speaker's utterances are the assistant's, everybody else's the user's."""
    return {
        "prompt": [message(utterance, reply.speaker) for utterance in context],
        "completion": [message(reply, reply.speaker)],
    }


def message(utterance: Utterance, speaker: str) -> dict[str, str]:
    return {"role": "assistant" if utterance.speaker == speaker else "user", "content": utterance.text}
