"""Three ways to lay quadruples out in rows. All of them have the same loss and gradient.

`naive`: three rows, each with the context. `packed`: one row [context | human | model | random]. `trees`: what people
said in a dialogue is the trunk, and every annotated turn hangs its other two replies on it; all is encoded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from preference.training.joint.data import TrainingDialogue
from preference.training.joint.encoding import Encoder, Tokens
from preference.training.joint.layouts.rows import ROOT, Row
from preference.training.joint.sampling import Quadruple

HUMAN, MODEL, RANDOM = range(3)
RANKED = ((HUMAN, MODEL), (HUMAN, RANDOM), (MODEL, RANDOM))


@dataclass(frozen=True, slots=True)
class Numbered:
    """A quadruple and its place in the optimiser step; its replies are named (number, HUMAN) and so on."""

    number: int
    quadruple: Quadruple


@dataclass(slots=True)
class Unit:
    """Rows that belong into one micro-batch, and the quadruples in them."""

    rows: list[Row] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    @property
    def longest(self) -> int:
        return max(row.tokens for row in self.rows)

    @property
    def pairs(self) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        for number in self.numbers:
            for better, worse in RANKED:
                yield (number, better), (number, worse)


def _encoded(
    dialogue: TrainingDialogue, quadruple: Quadruple, encoder: Encoder
) -> tuple[Tokens, list[Tokens]]:
    turn = dialogue.turns[quadruple.turn]
    context = encoder.context(dialogue.utterances[: turn.position])
    return context, [encoder.reply(text) for text in (turn.human, quadruple.model, quadruple.random)]


def naive(dialogue: TrainingDialogue, wanted: Numbered, encoder: Encoder) -> Unit:
    context, replies = _encoded(dialogue, wanted.quadruple, encoder)
    unit = Unit(numbers=[wanted.number])
    for which, reply in enumerate(replies):
        row = Row()
        row.add(reply, row.add(context), reply=(wanted.number, which), learned=which == HUMAN)
        unit.rows.append(row)
    return unit


def packed(dialogue: TrainingDialogue, wanted: Numbered, encoder: Encoder) -> Unit:
    context, replies = _encoded(dialogue, wanted.quadruple, encoder)
    row = Row()
    shared = row.add(context)
    for which, reply in enumerate(replies):
        row.add(reply, shared, reply=(wanted.number, which), learned=which == HUMAN)
    return Unit([row], [wanted.number])


def trees(
    dialogue: TrainingDialogue, wanted: Sequence[Numbered], encoder: Encoder, longest: int
) -> list[Unit]:
    """Trees of at most about `longest` tokens; turns whose context or reply would be cut are packed instead."""
    found: list[Unit] = []
    trunk: _Trunk | None = None
    for one in sorted(wanted, key=lambda one: one.quadruple.turn):
        position = dialogue.turns[one.quadruple.turn].position
        if trunk is None or trunk.reached >= position or trunk.row.tokens >= longest:
            trunk = _Trunk(dialogue, encoder)
        if trunk.whole(position):
            trunk.hang(one)
            found += [trunk.unit] if len(trunk.unit.numbers) == 1 else []
        else:
            found.append(packed(dialogue, one, encoder))
    return found


class _Trunk:
    """A tree while it grows, utterance by utterance."""

    def __init__(self, dialogue: TrainingDialogue, encoder: Encoder) -> None:
        self.dialogue, self.encoder = dialogue, encoder
        self.row = Row()
        self.unit = Unit([self.row])
        self.reached = -1  # position of the last utterance in the trunk
        self._top = ROOT  # its piece

    def whole(self, position: int) -> bool:
        """Are the context and the reply at this position within the limits?"""
        lengths = [len(self.encoder.utterance(text)) for text in self.dialogue.utterances[: position + 1]]
        context = len(self.encoder.start) + sum(lengths[:-1])
        return context <= self.encoder.context_limit and lengths[-1] <= self.encoder.reply_limit

    def hang(self, wanted: Numbered) -> None:
        quadruple = wanted.quadruple
        position = self.dialogue.turns[quadruple.turn].position
        while self.reached < position - 1:
            self._grow()
        context = self._top
        self._grow(reply=(wanted.number, HUMAN))
        for which, text in ((MODEL, quadruple.model), (RANDOM, quadruple.random)):
            self.row.add(self.encoder.reply(text), context, reply=(wanted.number, which))
        self.unit.numbers.append(wanted.number)

    def _grow(self, reply: tuple[int, int] | None = None) -> None:
        self.reached += 1
        tokens = self.encoder.utterance(self.dialogue.utterances[self.reached])
        if self._top == ROOT:
            tokens = self.encoder.start + tokens
        if tokens:
            self._top = self.row.add(tokens, self._top, reply=reply, learned=reply is not None)
