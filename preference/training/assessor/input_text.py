"""A dialogue as the text that every model reads (DiQAD, section 5.1).

    question: How do I open the file? response: With the menu. question: Which one?

Every utterance is marked with the side of its speaker. The text of a dialogue that is too long loses its beginning:
how a conversation ends says most about its quality.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from preference.training.assessor.data import Turn, Turns

INPUT_FORMAT = (
    "question: … response: …"  # stored with a model, so that a later format is not mistaken for this one
)
QUESTION, RESPONSE = "question", "response"
QUESTIONERS = frozenset({"question", "questioner", "user", "human", "customer", "participant", "seeker"})
RESPONDENTS = frozenset(
    {"response", "respondent", "responder", "answer", "assistant", "bot", "gpt", "model", "helpdesk", "agent"}
)


def input_text(turns: Turns) -> str:
    """The text of one dialogue."""
    return " ".join(f"{side}: {turn.content}" for side, turn in zip(sides(turns), turns, strict=True))


def sides(turns: Turns) -> list[str]:
    """question or response, for each utterance.

    Known names of roles decide. If the roles are names of people, whoever speaks first asks, and all others respond.
    """
    roles = [turn.role.lower() for turn in turns]
    if all(role in QUESTIONERS | RESPONDENTS for role in roles):
        return [QUESTION if role in QUESTIONERS else RESPONSE for role in roles]
    return [QUESTION if role == roles[0] else RESPONSE for role in roles]


def dialogue_of_reply(history: Sequence[str], response: str, speakers: Sequence[str] = ()) -> list[Turn]:
    """A reply with its history as a dialogue.

    speakers: one for each text; without them the reply is a response, and the utterances before it alternate.
    """
    texts = [*history, response]
    last = len(texts) - 1
    roles = speakers or [RESPONSE if (last - place) % 2 == 0 else QUESTION for place in range(len(texts))]
    return [Turn(role, text) for role, text in zip(roles, texts, strict=True) if text]


def encode(tokenizer: Any, dialogues: Sequence[Turns], max_length: int) -> list[list[int]]:
    """Token ids of each dialogue, at most max_length of them with the tokenizer's special tokens ([CLS], [SEP], …).

    The tokenizer cuts the text before it adds special tokens, so that these survive. tokenizer: of transformers; its
    truncation_side is set to the left here.
    """
    tokenizer.truncation_side = "left"
    texts = [input_text(turns) for turns in dialogues]
    if not texts:
        return []
    rows: list[list[int]] = tokenizer(
        texts, truncation=True, max_length=max_length, return_attention_mask=False, verbose=False
    )["input_ids"]
    # A tokenizer without special tokens makes no tokens of a text of unknown characters; a model needs at least one.
    return [row or [tokenizer.pad_token_id] for row in rows]
