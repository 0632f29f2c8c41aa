"""Formats `preference`, `reward` and `kto` of TRL: the reply that was sent, and the replies it was preferred to.

A turn gives a pair for every candidate that was not sent unchanged and, unless switched off, one with a random reply
of another dialogue. TRL's trainers ignore the column `rejected_origin`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from preference.data.formats.replies import RANDOM, Candidate, DrawContext, Reply, replies_of
from preference.data.formats.sft import message

VERSION = "1"
Message = dict[str, str]


def preference_rows(row: Mapping[str, Any], drawn: DrawContext) -> Iterator[dict[str, Any]]:
    """One row per pair, with an explicit prompt."""
    for reply, rejected in _pairs_of(row, drawn):
        prompt, chosen = _prompt(reply), [_answer(reply.human)]
        for one in rejected:
            yield {
                "prompt": prompt,
                "chosen": chosen,
                "rejected": [_answer(one.text)],
                "rejected_origin": one.origin,
            }


def reward_rows(row: Mapping[str, Any], drawn: DrawContext) -> Iterator[dict[str, Any]]:
    """One row per pair, with the prompt inside both."""
    for reply, rejected in _pairs_of(row, drawn):
        prompt = _prompt(reply)
        chosen = [*prompt, _answer(reply.human)]
        for one in rejected:
            yield {"chosen": chosen, "rejected": [*prompt, _answer(one.text)]}


def kto_rows(row: Mapping[str, Any], drawn: DrawContext) -> Iterator[dict[str, Any]]:
    """One row per reply: true for the one that was sent, false for those it was preferred to."""
    for reply, rejected in _pairs_of(row, drawn):
        prompt = _prompt(reply)
        yield {"prompt": prompt, "completion": [_answer(reply.human)], "label": True}
        for one in rejected:
            yield {"prompt": prompt, "completion": [_answer(one.text)], "label": False}


def _pairs_of(row: Mapping[str, Any], drawn: DrawContext) -> Iterator[tuple[Reply, Sequence[Candidate]]]:
    for reply in replies_of(row, drawn):
        yield reply, [*reply.rejected, *_random(reply, drawn)]


def _random(reply: Reply, drawn: DrawContext) -> list[Candidate]:
    if not drawn.draws.random:
        return []
    text = drawn.random_reply(reply, not_=[one.text for one in reply.rejected])
    if text is None:
        drawn.skip("no_other_dialogue")
        return []
    return [Candidate(text, "", RANDOM)]


def _prompt(reply: Reply) -> list[Message]:
    """The utterances of the replying speaker have the role assistant, all others user."""
    return [message(one, reply.said.speaker) for one in reply.context]


def _answer(text: str) -> Message:
    return {"role": "assistant", "content": text}
