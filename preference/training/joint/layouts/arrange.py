"""Three ways to arrange quadruples in rows. All have the same loss and the same gradient.

c: context, h: human, m: model and r: random reply. Scores are read at the end of h, m and r; h is also learned.

naive: three rows, each with its own copy of the context.

    [ c . . . . . | h . ]
    [ c . . . . . | m . ]          3 (|c| + |reply|) tokens per turn
    [ c . . . . . | r . ]

packed: one row per quadruple; the three replies attend to the context and not to each other.

    [ c . . . . . | h . | m . | r . ]          |c| + 3 |reply| tokens per turn

trees: one row per dialogue. The utterances that people chose are the trunk u0 … uT, and u_t is both the human reply of
turn t and context of the later turns. Every annotated turn hangs its other two replies on the trunk before it:

    u0 ── u1 ── u2 ── u3          |u| + 2 |reply| tokens per turn, whatever the length of the context
     ├ m1  ├ m2  ├ m3
     └ r1  └ r2  └ r3

A dialogue of T turns costs naive training O(T²) tokens, because the context grows with every turn, and a tree O(T).

Why the gradients are equal: every token attends to exactly the tokens that it would attend to in its own plain row, at
the same positions, so hidden states, logits and scores are the same numbers. The gradient of a sum over replies then
flows back once through a shared token instead of once through each of its copies.

Why the terminators of the trunk double as score tokens: <eou> of u_t both ends the human reply of turn t, where it is
scored, and separates u_t from u_{t+1} in every later context. One encoded token serves both, which is why contexts are
rendered exactly as replies are (see `encoding`); a separate score token would have to hang off the trunk at every turn.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from preference.training.common.dialogues import TrainingDialogue
from preference.training.common.shared_context.filling import RowGroup
from preference.training.common.shared_context.rows import Row, Tokens
from preference.training.joint.encoding import Encoder
from preference.training.joint.layouts.trunk import Trunk
from preference.training.joint.loss import HUMAN, MODEL, RANDOM, RANKED_PAIRS
from preference.training.joint.quadruples import Quadruple

ReplyName = tuple[int, int]  # number of the quadruple in its step; HUMAN, MODEL or RANDOM


@dataclass(frozen=True, slots=True)
class NumberedQuadruple:
    """number: place in the optimiser step, by which its replies are named."""

    number: int
    quadruple: Quadruple


def ranked_replies(group: RowGroup) -> Iterator[tuple[ReplyName, ReplyName]]:
    """Names of the better and the worse reply, three pairs for each of the group's quadruples."""
    for number in group.numbers:
        for better, worse in RANKED_PAIRS:
            yield (number, better), (number, worse)


def _context_and_replies(
    dialogue: TrainingDialogue, quadruple: Quadruple, encoder: Encoder
) -> tuple[Tokens, tuple[str, str, str]]:
    """The context as tokens, and the replies in the order HUMAN, MODEL, RANDOM."""
    turn = dialogue.turns[quadruple.turn]
    context = encoder.context(dialogue.utterances[: turn.position], dialogue.speakers)
    return context, (turn.human, quadruple.model, quadruple.random)


def naive(dialogue: TrainingDialogue, numbered: NumberedQuadruple, encoder: Encoder) -> RowGroup:
    """Three rows, each with the context."""
    context, replies = _context_and_replies(dialogue, numbered.quadruple, encoder)
    group = RowGroup(numbers=[numbered.number])
    for kind, reply in enumerate(replies):
        row = Row()
        encoder.add_reply(row, reply, row.add(context), name=(numbered.number, kind), learned=kind == HUMAN)
        group.rows.append(row)
    return group


def packed(dialogue: TrainingDialogue, numbered: NumberedQuadruple, encoder: Encoder) -> RowGroup:
    """One row with the context once."""
    context, replies = _context_and_replies(dialogue, numbered.quadruple, encoder)
    row = Row()
    shared = row.add(context)
    for kind, reply in enumerate(replies):
        encoder.add_reply(row, reply, shared, name=(numbered.number, kind), learned=kind == HUMAN)
    return RowGroup([row], [numbered.number])


def trees(
    dialogue: TrainingDialogue, numbered: Sequence[NumberedQuadruple], encoder: Encoder, longest: int
) -> list[RowGroup]:
    """One row per tree; a tree grows until it has `longest` tokens, then a new one starts from the opening.

    A turn whose context exceeds the encoder's limit begins a new tree, and one whose reply does is packed on its own.
    """
    by_view: dict[Hashable, list[NumberedQuadruple]] = {}
    # In the order of the dialogue: a trunk grows at its end only.
    for item in sorted(numbered, key=lambda item: item.quadruple.turn):
        view = encoder.view(dialogue.turns[item.quadruple.turn].position, dialogue.speakers)
        by_view.setdefault(view, []).append(item)
    return [
        group for items in by_view.values() for group in _trees_of_view(dialogue, items, encoder, longest)
    ]


def _trees_of_view(
    dialogue: TrainingDialogue, numbered: Sequence[NumberedQuadruple], encoder: Encoder, longest: int
) -> Iterator[RowGroup]:
    """numbered: in the order of the dialogue."""
    trunk, group = Trunk(encoder), RowGroup()
    for item in numbered:
        context, replies = _context_and_replies(dialogue, item.quadruple, encoder)
        if encoder.cuts(replies[HUMAN]):
            yield packed(dialogue, item, encoder)
            continue
        if not group.numbers or not trunk.leads_to(context) or trunk.row.tokens >= longest:
            if group.numbers:
                yield group
            trunk = Trunk(encoder)
            group = RowGroup([trunk.row])
        _add_quadruple(trunk, context, replies, item.number)
        group.numbers.append(item.number)
    if group.numbers:
        yield group


def _add_quadruple(trunk: Trunk, context: Tokens, replies: Sequence[str], number: int) -> None:
    """Extend the trunk up to the human reply and hang the other two replies beside it."""
    shared = trunk.grow(context, replies[HUMAN], (number, HUMAN))
    for kind in (MODEL, RANDOM):
        trunk.add_leaf(replies[kind], shared, (number, kind))
