"""Which layout a model and its data can have: the fastest with the same gradient."""

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
from preference.training.joint.layouts.rows import Row, collate
from preference.training.joint.layouts.steps import Layout

AUTO = "auto"


def choose_layout(
    model: JointModel,
    dialogues: Sequence[TrainingDialogue],
    encoder: Encoder,
    *,
    wanted: str = AUTO,
    token_budget: int | None = None,
) -> Layout:
    """`wanted` or, for "auto", trees; naive, with a note, where the model would compute something else."""
    name = "trees" if wanted == AUTO else wanted
    notes = []
    if name != "naive":
        reason = why_not_shared(model, encoder.context_limit + encoder.reply_limit)
        if reason:
            said = _(
                "Every reply is encoded with its own copy of the context, which is several times slower: "
                "the model cannot share contexts, because %(reason)s."
            )
            notes.append(said % {"reason": reason})
            name = "naive"
    if name == "trees" and (cut := _cut_turns(dialogues, encoder)):
        said = ngettext(
            "One turn has a context of more than %(context)s tokens or a reply of more than %(reply)s; "
            "it is encoded apart from the rest of its dialogue.",
            "%(count)s turns have a context of more than %(context)s tokens or a reply of more than %(reply)s; "
            "they are encoded apart from the rest of their dialogue.",
            cut,
        )
        notes.append(said % {"count": cut, "context": encoder.context_limit, "reply": encoder.reply_limit})
    return Layout(name, dialogues, encoder, token_budget=token_budget, notes=notes)


def _cut_turns(dialogues: Sequence[TrainingDialogue], encoder: Encoder) -> int:
    """How many turns do not fit into a tree."""
    count = 0
    for dialogue in dialogues:
        length, lengths = len(encoder.start), []
        for text in dialogue.utterances:
            size = len(encoder.utterance(text))
            lengths.append(length > encoder.context_limit or size > encoder.reply_limit)
            length += size
        count += sum(lengths[turn.position] for turn in dialogue.turns)
    return count


def why_not_shared(model: JointModel, longest: int) -> str:
    """Why replies cannot share an encoded context in this model; "" where they can.

    First by the kind of its layers, then by trying: positions or masks that a model makes for itself (ALiBi, for
    example) show as other losses. longest: tokens of a context and a reply.
    """
    config = model.config
    if config.is_encoder_decoder:
        return _("it has an encoder")
    try:
        return _unfit_layers(config, longest) or (
            "" if _same(model) else _("it gives other probabilities that way")
        )
    except Exception as error:  # a model of any shape may fail in any way here
        return _("trying it failed (%(error)s)") % {"error": f"{type(error).__name__}: {error}"}


def _unfit_layers(config: Any, longest: int) -> str:
    for layer in DynamicCache(config=config).layers:
        if isinstance(layer, DynamicSlidingWindowLayer) and layer.sliding_window < longest:
            return _(
                "its attention sees %(seen)s tokens only, and a context with a reply has %(longest)s"
            ) % {"seen": layer.sliding_window, "longest": longest}
        if type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer):
            said = _("it has layers that are no attention over all tokens (%(kind)s)")
            return said % {"kind": type(layer).__name__}
    return ""


@torch.no_grad()
def _same(model: JointModel) -> bool:
    """Do a tree, and another beside it and padding behind, have the losses and scores of plain rows?"""
    size = model.backbone.get_input_embeddings().weight.shape[0]
    tokens = [7 * i % size for i in range(1, 40)]
    opening, answer, last = tokens[:6], tokens[6:11], tokens[11:16]
    leaves = tokens[16:20], tokens[20:27]
    forest = [_tree(opening, answer, last, leaves), _tree(answer, opening, last, leaves[:1])]
    joined = Row()
    for row in forest:
        joined.join(row)
    plain = [chain for row in (*forest, forest[1]) for chain in _chains(row)]
    one, other = _outcome(model, [joined, forest[1]]), _outcome(model, plain)
    # Half precision rounds by a per cent or two; a wrong mask or position is off by the spread of the values.
    tolerance = 1e-3 if model.backbone.dtype == torch.float32 else 0.2
    return all(
        bool((mine - theirs).abs().max() <= tolerance * theirs.std())
        for mine, theirs in zip(one, other, strict=True)
    )


def _tree(
    opening: Sequence[int], answer: Sequence[int], last: Sequence[int], leaves: Sequence[Sequence[int]]
) -> Row:
    """Every piece but the root is a learned and scored reply."""
    row = Row()
    root = row.add(opening)
    context = row.add(answer, root, reply=0, learned=True)
    row.add(leaves[0], root, reply=1, learned=True)
    for number, leaf in enumerate([last, *leaves[1:]], 2):
        row.add(leaf, context, reply=number, learned=True)
    return row


def _chains(tree: Row) -> list[Row]:
    """Each reply of a tree, in its order, as a row of plain text."""
    found = []
    for piece in tree.pieces[1:]:
        above = [piece]
        while above[-1].parent >= 0:
            above.append(tree.pieces[above[-1].parent])
        row, parent = Row(), -1
        for part in reversed(above[1:]):
            parent = row.add(part.tokens, parent)
        row.add(piece.tokens, parent, reply=piece.reply, learned=True)
        found.append(row)
    return found


def _outcome(model: JointModel, rows: Sequence[Row]) -> tuple[Tensor, Tensor]:
    """Loss of every token and score of every reply, in the order of the rows."""
    one = torch.tensor(1)
    inputs = collate(rows, 0).tensors | {"tokens_in_step": one, "pairs_in_step": one}
    output = model(**{name: tensor.to(model.device) for name, tensor in inputs.items()})
    return output.token_nll, output.scores
