"""Finding out whether a model can share what several texts begin with.

That needs three things of a model: attention that reaches the whole context (no sliding window, no recurrent state that
a sibling would change), positions that it takes from `position_ids` (not from the place in the row), and a mask that it
takes from `attention_mask`. No configuration says all of this reliably, so the kinds of layers are checked first, and
then the model is tried on a few short rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from preference.training.common.messages import gettext as _
from preference.training.common.shared_context.forward import (
    hidden_and_logits,
    logits_are_linear_in_hidden,
    model_inputs,
)
from preference.training.common.shared_context.rows import Row, collate
from preference.training.common.shared_context.stem import Stem
from preference.training.common.shared_context.trees import branches, tree


def why_not_shared(backbone: Any, longest: int) -> str:
    """Why texts cannot share an encoded beginning in this model, as part of a sentence; "" if they can.

    First the kinds of its layers are checked, then a small forest is run: positions or masks that a model makes for
    itself (ALiBi, for example) show as different logits. longest: tokens of a whole text.
    """
    if backbone.config.is_encoder_decoder:
        return _("it has an encoder")
    try:
        return unfit_layer(backbone.config, longest) or (
            "" if _forest_equals_plain_rows(backbone) else _("it gives different probabilities that way")
        )
    except Exception as error:  # a model of any kind may fail in any way here
        return _("trying it failed (%(error)s)") % {"error": f"{type(error).__name__}: {error}"}


def unfit_layer(config: Any, longest: int) -> str:
    """A layer that does not attend to the whole text: a sliding window, a state space …; "" without one."""
    for layer in DynamicCache(config=config).layers:
        if isinstance(layer, DynamicSlidingWindowLayer) and layer.sliding_window < longest:
            return _(
                "its attention sees %(seen)s tokens only, and a context with a reply has %(longest)s"
            ) % {"seen": layer.sliding_window, "longest": longest}
        if type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer):
            template = _("it has layers that do not attend to all tokens (%(kind)s)")
            return template % {"kind": type(layer).__name__}
    return ""


@torch.inference_mode()
def can_stand_on_stem(backbone: Any) -> bool:
    """Whether trees on a stem, whose keys and values are in a cache, give the logits of the same trees without one.

    The model must be able to share. One tree leaves the stem at its end, one in its middle.
    """
    vocabulary = backbone.get_input_embeddings().weight.shape[0]
    tokens = tuple(7 * i % vocabulary for i in range(1, 30))
    texts = [tokens[:14], tokens[:10] + tokens[20:25], tokens[:4] + tokens[15:18]]
    is_linear = logits_are_linear_in_hidden(backbone)
    stem = Stem([tokens[:10]])
    try:
        stem.encode(backbone)
        rows = [tree(branches(texts, stem), stem), tree(branches(texts[:2], stem), stem)]
        on_stem = _logits(backbone, rows, is_linear, past_key_values=stem.cache(len(rows)), use_cache=True)
    except Exception:  # a model of any kind may fail in any way here
        return False
    plain = [tree(branches(texts)), tree(branches(texts[:2]))]
    names = [collate(chosen, 0).names for chosen in (rows, plain)]
    order = [names[1].index(name) for name in names[0][:3]]
    order += [3 + names[1][3:].index(name) for name in names[0][3:]]
    return are_close(on_stem, _logits(backbone, plain, is_linear)[order], backbone.dtype)


def are_close(mine: Tensor, theirs: Tensor, dtype: torch.dtype) -> bool:
    """Whether two results of a model with weights of `dtype` differ by rounding only.

    Half precision rounds by one or two per cent; a wrong mask or position is off by the spread of the values.
    """
    tolerance = 1e-3 if dtype == torch.float32 else 0.2
    return bool((mine - theirs).abs().max() <= tolerance * theirs.std())


@torch.no_grad()
def _forest_equals_plain_rows(backbone: Any) -> bool:
    """Whether a row of two trees, and a shorter row with padding, give the logits of plain rows.

    Two trees in one row test the mask between trees and positions that start again at 0; the second row tests padding.
    Tokens are arbitrary but different, so that a wrong position or mask changes the probabilities.
    """
    vocabulary = backbone.get_input_embeddings().weight.shape[0]
    tokens = [7 * i % vocabulary for i in range(1, 40)]
    opening, answer, last = tokens[:6], tokens[6:11], tokens[11:16]
    leaves = tokens[16:20], tokens[20:27]
    trees = [_probe_tree(opening, answer, last, leaves), _probe_tree(answer, opening, last, leaves[:1])]
    forest = Row()
    for row in trees:
        forest.join(row)
    plain = [chain for row in (*trees, trees[1]) for chain in _plain_rows(row)]
    is_linear = logits_are_linear_in_hidden(backbone)
    shared, separate = _logits(backbone, [forest, trees[1]], is_linear), _logits(backbone, plain, is_linear)
    return are_close(shared, separate, backbone.dtype)


def _probe_tree(
    opening: Sequence[int], answer: Sequence[int], last: Sequence[int], leaves: Sequence[Sequence[int]]
) -> Row:
    """opening ─ answer ─ last, with leaves[0] beside answer and the other leaves beside last.

    Every piece but the opening is learned and named.
    """
    row = Row()
    root = row.add(opening)
    context = row.add(answer, root, name=0, learned=True)
    row.add(leaves[0], root, name=1, learned=True)
    for number, leaf in enumerate([last, *leaves[1:]], 2):
        row.add(leaf, context, name=number, learned=True)
    return row


def _plain_rows(tree: Row) -> list[Row]:
    """Each named piece of a tree, in its order, as a row of plain text: the path from the root down to it."""
    rows = []
    for piece in tree.pieces[1:]:
        path = [piece]
        while path[-1].parent >= 0:
            path.append(tree.pieces[path[-1].parent])
        row, parent = Row(), -1
        for ancestor in reversed(path[1:]):
            parent = row.add(ancestor.tokens, parent)
        row.add(piece.tokens, parent, name=piece.name, learned=True)
        rows.append(row)
    return rows


def _logits(backbone: Any, rows: Sequence[Row], is_linear: bool, **cache: Any) -> Tensor:
    """Logits (N + K, vocabulary) where a token is predicted, and at the end of every named piece."""
    collated = collate(rows, 0)
    tensors = {name: tensor.to(backbone.device) for name, tensor in collated.inputs.items()}
    inputs = model_inputs(
        backbone, tensors["input_ids"], tensors.get("position_ids"), tensors.get("attention")
    )
    at = torch.cat([collated.predict_at, collated.ends]).to(backbone.device)
    arguments = inputs | (cache or {"use_cache": False})
    return hidden_and_logits(backbone, at, logits_are_linear=is_linear, **arguments)[1].float()
