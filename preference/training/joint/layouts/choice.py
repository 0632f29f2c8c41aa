"""Choosing the fastest layout that gives a model the same gradient.

Sharing an encoded context needs three things of a model: attention that reaches the whole context (no sliding window,
no recurrent state that a sibling reply would change), positions that it takes from `position_ids` (not from the place
in the row), and a mask that it takes from `attention_mask`. No configuration says all of this reliably, so the kinds of
layers are checked first, and then the model is tried on a few short rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext
from preference.training.joint.data import TrainingDialogue
from preference.training.joint.encoding import Encoder
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.micro_batches import Layout
from preference.training.joint.layouts.rows import Row, collate

AUTO = "auto"


def choose_layout(
    model: JointModel,
    dialogues: Sequence[TrainingDialogue],
    encoder: Encoder,
    *,
    name: str = AUTO,
    token_budget: int | None = None,
) -> Layout:
    """The layout `name`, or trees for "auto"; naive, with a note, if the model cannot share an encoded context.

    token_budget: tokens of a micro-batch, see Layout.
    """
    name = "trees" if name == AUTO else name
    notes = []
    if name != "naive":
        reason = why_not_shared(model, encoder.context_limit + encoder.reply_limit)
        if reason:
            template = _(
                "Every reply is encoded with its own copy of the context, which is several times slower: "
                "the model cannot share contexts, because %(reason)s."
            )
            notes.append(template % {"reason": reason})
            name = "naive"
    if name == "trees" and (cut := _count_cut_turns(dialogues, encoder)):
        template = ngettext(
            "One turn has a context of more than %(context)s tokens or a reply of more than %(reply)s; "
            "it is encoded apart from the rest of its dialogue.",
            "%(count)s turns have a context of more than %(context)s tokens or a reply of more than %(reply)s; "
            "they are encoded apart from the rest of their dialogue.",
            cut,
        )
        notes.append(
            template % {"count": cut, "context": encoder.context_limit, "reply": encoder.reply_limit}
        )
    return Layout(name, dialogues, encoder, token_budget=token_budget, notes=notes)


def _count_cut_turns(dialogues: Sequence[TrainingDialogue], encoder: Encoder) -> int:
    """How many turns do not fit into a tree, because their context or reply would be cut.

    The lengths are running sums over a dialogue, so that counting is linear in its text.
    """
    count = 0
    for dialogue in dialogues:
        length, is_cut = len(encoder.start), []
        for text in dialogue.utterances:
            size = len(encoder.utterance(text))
            is_cut.append(length > encoder.context_limit or size > encoder.reply_limit)
            length += size
        count += sum(is_cut[turn.position] for turn in dialogue.turns)
    return count


def why_not_shared(model: JointModel, longest: int) -> str:
    """Why replies cannot share an encoded context in this model, as part of a sentence; "" if they can.

    First the kinds of its layers are checked, then a small forest is run: positions or masks that a model makes for
    itself (ALiBi, for example) show as different losses. longest: tokens of a context and a reply.
    """
    config = model.config
    if config.is_encoder_decoder:
        return _("it has an encoder")
    try:
        return _unfit_layer(config, longest) or (
            "" if _forest_equals_plain_rows(model) else _("it gives other probabilities that way")
        )
    except Exception as error:  # a model of any kind may fail in any way here
        return _("trying it failed (%(error)s)") % {"error": f"{type(error).__name__}: {error}"}


def _unfit_layer(config: Any, longest: int) -> str:
    """A layer that does not attend to the whole context: a sliding window, a state space …; "" if there is none."""
    for layer in DynamicCache(config=config).layers:
        if isinstance(layer, DynamicSlidingWindowLayer) and layer.sliding_window < longest:
            return _(
                "its attention sees %(seen)s tokens only, and a context with a reply has %(longest)s"
            ) % {"seen": layer.sliding_window, "longest": longest}
        if type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer):
            template = _("it has layers that do not attend to all tokens (%(kind)s)")
            return template % {"kind": type(layer).__name__}
    return ""


@torch.no_grad()
def _forest_equals_plain_rows(model: JointModel) -> bool:
    """Whether a row of two trees, and a shorter row with padding, give the losses and scores of plain rows.

    Two trees in one row test the mask between trees and positions that start again at 0; the second row tests padding.
    Tokens are arbitrary but different, so that a wrong position or mask changes the probabilities.
    """
    vocabulary = model.backbone.get_input_embeddings().weight.shape[0]
    tokens = [7 * i % vocabulary for i in range(1, 40)]
    opening, answer, last = tokens[:6], tokens[6:11], tokens[11:16]
    leaves = tokens[16:20], tokens[20:27]
    trees = [_probe_tree(opening, answer, last, leaves), _probe_tree(answer, opening, last, leaves[:1])]
    forest = Row()
    for tree in trees:
        forest.join(tree)
    plain = [chain for tree in (*trees, trees[1]) for chain in _plain_rows(tree)]
    shared, separate = _losses_and_scores(model, [forest, trees[1]]), _losses_and_scores(model, plain)
    # Half precision rounds by one or two per cent; a wrong mask or position is off by the spread of the values.
    tolerance = 1e-3 if model.backbone.dtype == torch.float32 else 0.2
    return all(
        bool((mine - theirs).abs().max() <= tolerance * theirs.std())
        for mine, theirs in zip(shared, separate, strict=True)
    )


def _probe_tree(
    opening: Sequence[int], answer: Sequence[int], last: Sequence[int], leaves: Sequence[Sequence[int]]
) -> Row:
    """opening ─ answer ─ last, with leaves[0] beside answer and the other leaves beside last.

    Every piece but the opening is a learned and scored reply.
    """
    row = Row()
    root = row.add(opening)
    context = row.add(answer, root, reply=0, learned=True)
    row.add(leaves[0], root, reply=1, learned=True)
    for number, leaf in enumerate([last, *leaves[1:]], 2):
        row.add(leaf, context, reply=number, learned=True)
    return row


def _plain_rows(tree: Row) -> list[Row]:
    """Each reply of a tree, in its order, as a row of plain text: the path from the root down to it."""
    rows = []
    for piece in tree.pieces[1:]:
        path = [piece]
        while path[-1].parent >= 0:
            path.append(tree.pieces[path[-1].parent])
        row, parent = Row(), -1
        for ancestor in reversed(path[1:]):
            parent = row.add(ancestor.tokens, parent)
        row.add(piece.tokens, parent, reply=piece.reply, learned=True)
        rows.append(row)
    return rows


def _losses_and_scores(model: JointModel, rows: Sequence[Row]) -> tuple[Tensor, Tensor]:
    """Loss of every target (N,) and score of every reply (K,), in the order of the rows."""
    total = torch.tensor(1)
    inputs = collate(rows, 0).tensors | {"tokens_in_step": total, "pairs_in_step": total}
    output = model(**{name: tensor.to(model.device) for name, tensor in inputs.items()})
    return output.token_nll, output.scores
