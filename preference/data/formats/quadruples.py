"""Format `quadruples`: context, human reply, model reply, random reply (Diamante, section 3), one row per turn.

The model reply is drawn from the candidates least similar to the human one, the random reply from another dialogue
of the same split; both are drawn again for every epoch.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from preference.data.formats.replies import Candidate, DrawContext, Reply, replies_of
from preference.training.common.dialogues import Turn
from preference.training.joint.quadruples import least_similar

VERSION = "2"
SIMILAR = 5


def rows_of(row: Mapping[str, Any], draw_context: DrawContext) -> Iterator[dict[str, Any]]:
    for reply in replies_of(row, draw_context):
        model = _model_reply(reply, draw_context)
        random_reply = draw_context.random_reply(reply, not_=[model.text])
        if random_reply is None:
            draw_context.skip("no_other_dialogue")
            continue
        yield {
            "context": [one.text for one in reply.context],
            "human": reply.human,
            "model": model.text,
            "random": random_reply,
            "model_version": model.model_version,
            "action": reply.action,
            **reply.identity(),
            **model.provenance("model"),
        }


def _model_reply(reply: Reply, draw_context: DrawContext) -> Candidate:
    by_text = {one.text: one for one in reply.rejected}
    turn = Turn(reply.position, reply.human, tuple(by_text), reply.action, reply.model_version)
    among = sorted(least_similar(turn, SIMILAR))
    return by_text[draw_context.draws.generator(reply.dialogue_id, reply.position).choice(among)]
