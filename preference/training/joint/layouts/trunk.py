"""The trunk of a tree: the utterances of a dialogue, one after the other, on which the replies of its turns hang.

What a trunk has encoded is compared with every context that is to stand on it, token by token. Nothing is assumed about
how dialogues are rendered: a context that was cut, or that a chat template renders differently than before, does not
continue the trunk, and begins another one.
"""

from __future__ import annotations

from collections.abc import Hashable

from preference.training.common.shared_context.rows import ROOT, Row, Tokens
from preference.training.joint.encoding import Encoder


class Trunk:
    """A row that grows along a dialogue."""

    def __init__(self, encoder: Encoder) -> None:
        self.row = Row()
        self._encoder = encoder
        self._tokens: Tokens = ()  # from the root to the last human reply
        self._top = ROOT  # the piece of that reply

    def leads_to(self, context: Tokens) -> bool:
        """Whether the context begins with everything on the trunk."""
        return context[: len(self._tokens)] == self._tokens

    def grow(self, context: Tokens, reply: str, name: Hashable) -> int:
        """Append what the context has beyond the trunk, and the human reply, which is learned and named.

        context: one that the trunk leads to. reply: one that is not cut. Returns the piece that the other replies of
        this turn hang on.
        """
        if added := context[len(self._tokens) :]:
            self._top = self.row.add(added, self._top)
        shared = self._top
        self._top = self._encoder.add_reply(self.row, reply, shared, name=name, learned=True)
        self._tokens = context + self._encoder.reply(reply)
        return shared

    def add_leaf(self, text: str, context: int, name: Hashable, *, learned: bool = False) -> None:
        """Hang another reply on the piece `context`."""
        self._encoder.add_reply(self.row, text, context, name=name, learned=learned)
