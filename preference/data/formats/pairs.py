"""Formats `preference`, `reward` and `kto` of TRL: the reply that was sent, and the replies it was preferred to.

A turn gives a pair for every candidate that was not sent unchanged and, unless switched off, one with a random reply
of another dialogue. The other columns say which reply a row is about, which model wrote the rejected one, and how it
was drawn, to filter or weight rows by; TRL's trainers ignore them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from preference.data.formats.replies import RANDOM, Candidate, DrawContext, Reply, replies_of
from preference.data.formats.sft import message

VERSION = "2"
HUMAN = "human"  # origin of the reply that was sent
Message = dict[str, str]


def preference_rows(row: Mapping[str, Any], draw_context: DrawContext) -> Iterator[dict[str, Any]]:
    """One row per pair, with an explicit prompt."""
    for reply, rejected in _pairs_of(row, draw_context):
        prompt, chosen = _prompt(reply), [_answer(reply.human)]
        for candidate in rejected:
            yield {
                "prompt": prompt,
                "chosen": chosen,
                "rejected": [_answer(candidate.text)],
                **_provenance(reply, candidate),
            }


def reward_rows(row: Mapping[str, Any], draw_context: DrawContext) -> Iterator[dict[str, Any]]:
    """One row per pair, with the prompt inside both."""
    for reply, rejected in _pairs_of(row, draw_context):
        prompt = _prompt(reply)
        chosen = [*prompt, _answer(reply.human)]
        for candidate in rejected:
            yield {
                "chosen": chosen,
                "rejected": [*prompt, _answer(candidate.text)],
                **_provenance(reply, candidate),
            }


def kto_rows(row: Mapping[str, Any], draw_context: DrawContext) -> Iterator[dict[str, Any]]:
    """One row per reply: true for the one that was sent, false for those it was preferred to."""
    for reply, rejected in _pairs_of(row, draw_context):
        prompt = _prompt(reply)
        yield {
            "prompt": prompt,
            "completion": [_answer(reply.human)],
            "label": True,
            **reply.identity(),
            "model_version": "",
            "origin": HUMAN,
        }
        for candidate in rejected:
            yield {
                "prompt": prompt,
                "completion": [_answer(candidate.text)],
                "label": False,
                **reply.identity(),
                "model_version": candidate.model_version,
                "origin": candidate.origin,
            }


def _provenance(reply: Reply, rejected: Candidate) -> dict[str, Any]:
    return {
        "rejected_origin": rejected.origin,
        **reply.identity(),
        "model_version": rejected.model_version,
        **rejected.provenance("rejected"),
    }


def _pairs_of(
    row: Mapping[str, Any], draw_context: DrawContext
) -> Iterator[tuple[Reply, Sequence[Candidate]]]:
    for reply in replies_of(row, draw_context):
        yield reply, [*reply.rejected, *_random(reply, draw_context)]


def _random(reply: Reply, draw_context: DrawContext) -> list[Candidate]:
    if not draw_context.draws.random:
        return []
    text = draw_context.random_reply(reply, not_=[candidate.text for candidate in reply.rejected])
    if text is None:
        draw_context.skip("no_other_dialogue")
        return []
    return [Candidate(text, "", RANDOM)]


def _prompt(reply: Reply) -> list[Message]:
    """The utterances of the replying speaker have the role assistant, all others user."""
    return [message(utterance, reply.said.speaker) for utterance in reply.context]


def _answer(text: str) -> Message:
    return {"role": "assistant", "content": text}
