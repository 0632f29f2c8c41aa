"""The trunk of a tree: the utterances of a dialogue, one after the other, on which the replies of its turns hang."""

from __future__ import annotations

from collections.abc import Hashable

from preference.training.common.dialogues import TrainingDialogue
from preference.training.common.shared_context.rows import ROOT, Row, Tokens
from preference.training.joint.encoding import Encoder


class Trunk:
    """A row that grows along a dialogue. reached: position of the last utterance in it, -1 if there is none."""

    def __init__(self, dialogue: TrainingDialogue, encoder: Encoder) -> None:
        self.dialogue, self.row = dialogue, Row()
        self.reached = -1
        self._encoder = encoder
        self._marks = encoder.marks(len(dialogue.utterances), dialogue.speakers)
        self._top = ROOT  # the piece of the last utterance

    def grow_to_reply(self, position: int, name: Hashable) -> int:
        """Append the utterances up to the human reply at `position`, which is learned and named.

        Returns the piece that the other replies of this turn hang on.
        """
        while self.reached < position - 1:
            self._add_context()
        return self._add_reply(name)

    def add_leaf(self, text: str, context: int, name: Hashable, *, learned: bool = False) -> None:
        """Hang another reply on the piece `context`."""
        self._encoder.add_reply(self.row, text, context, name=name, learned=learned)

    def _next_utterance(self) -> tuple[Tokens, Tokens]:
        """The next mark, after <bos> if the row is empty, and the next utterance; a blank one has no mark."""
        self.reached += 1
        tokens = self._encoder.utterance(self.dialogue.utterances[self.reached])
        start = self._encoder.start if self._top == ROOT else ()
        return (start + self._marks[self.reached] if tokens else start), tokens

    def _add_context(self) -> None:
        mark, tokens = self._next_utterance()
        if mark or tokens:
            self._top = self.row.add(mark + tokens, self._top)

    def _add_reply(self, name: Hashable) -> int:
        mark, tokens = self._next_utterance()
        context = self.row.add(mark, self._top) if mark else self._top
        self._top = self.row.add(tokens, context, name=name, learned=True)
        return context


def fits(dialogue: TrainingDialogue, position: int, encoder: Encoder) -> bool:
    """Whether the whole context and the human reply at this position are within the encoder's limits.

    If not, the turn cannot be part of a trunk, because cutting text would change what the rest of the tree sees:
    dropping the opening for a late turn moves the positions of all its descendants.
    """
    context = encoder.context_length(dialogue.utterances[:position], dialogue.speakers)
    return context <= encoder.context_limit and not encoder.cuts(dialogue.utterances[position])
