"""Sparse attention on a CPU for rows that hold several trees.

In such a row a token sees only its own branch, about a fifth of a dense mask. The queries of a row are taken in
blocks, and each block multiplies only with the keys that any of its queries sees:

                 keys                       keys a b c d e f
             a b c d e f                    block 1 (a, b): columns a b
    queries a x                             block 2 (c, d): columns a c d
            b x x                           block 3 (e, f): columns e f
            c x . x
            d x . x x        x: seen
            e . . . . x      .: masked
            f . . . . x x

Measured on one row of 558 tokens (14 utterances, 13 of them with two more replies), one layer of 8 heads on 4,
forward and backward: 29 ms with the dense mask, 12 ms in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "sdpa_in_blocks"
BLOCK = 96  # queries; smaller blocks multiply fewer masked keys, and cost more calls
# Arguments that models pass and that change nothing once there is a mask; with any other, transformers computes.
IGNORABLE = frozenset({"sliding_window", "position_ids", "use_cache", "is_causal", "output_attentions"})


class Block(NamedTuple):
    """Queries start … stop - 1 of one row.

    columns: (C,), the keys that any of them sees. mask: (stop - start, C), additive.
    """

    row: int
    start: int
    stop: int
    columns: Tensor
    mask: Tensor


def attend_in_blocks(model: Any) -> None:
    """Let a model that runs on SDPA use blocks for masks of `additive_mask`, and plain SDPA for all others."""
    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(NAME, sdpa_in_blocks)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        model.set_attn_implementation(NAME)


def additive_mask(visible: Tensor, model: Any) -> Tensor:
    """The mask that every attention of transformers adds to its logits: 0 if visible, else the least number.

    visible: (B, L, K), True where a query (second axis) sees a key (third axis). The mask is (B, 1, L, K).

    On a CPU, for a model that attends in blocks, it carries its blocks along through the layers as an attribute. It is
    itself only a stand-in of this shape without memory: for 4,000 tokens a real one takes 64 MB. `shared_context.probe`
    finds a model that reads it in any other way.
    """
    if visible.device.type == "cpu" and model.config._attn_implementation == NAME:
        stand_in = torch.zeros((), dtype=model.dtype).expand(visible.shape)[:, None]
        stand_in.blocks = list(_blocks(visible, model.dtype))  # type: ignore[attr-defined]
        stand_in.visible = visible  # type: ignore[attr-defined]
        return stand_in
    return _dense_mask(visible, model.dtype)[:, None]


def _dense_mask(visible: Tensor, dtype: torch.dtype) -> Tensor:
    """Of the shape of `visible`."""
    hidden = torch.tensor(torch.finfo(dtype).min, dtype=dtype, device=visible.device)
    return torch.where(visible, torch.zeros_like(hidden), hidden)


def _blocks(visible: Tensor, dtype: torch.dtype) -> Iterator[Block]:
    rows, length, _ = visible.shape
    for row in range(rows):
        for start in range(0, length, BLOCK):
            stop = min(start + BLOCK, length)
            seen = visible[row, start:stop]
            columns = seen.any(0).nonzero()[:, 0]
            yield Block(row, start, stop, columns, _dense_mask(seen.index_select(1, columns), dtype))


def sdpa_in_blocks(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attention with the signature and the result of transformers' SDPA.

    query: (B, H, L, D). key, value: (B, G, L, D), where H / G query heads share one key head (grouped-query
    attention). The result is (B, L, H, D).
    """
    blocks: list[Block] | None = getattr(attention_mask, "blocks", None)
    unknown = {name for name, given in kwargs.items() if given is not None} - IGNORABLE
    if blocks is None or dropout or unknown:
        if blocks is not None:
            attention_mask = _dense_mask(attention_mask.visible, query.dtype)[:, None]  # type: ignore[union-attr]
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
    attended = [_attend_block(block, query, key, value, scaling) for block in blocks]
    return torch.cat(attended).reshape(query.shape[0], query.shape[2], query.shape[1], -1), None


def _attend_block(block: Block, query: Tensor, key: Tensor, value: Tensor, scaling: float | None) -> Tensor:
    """(Q, H, D) for the Q queries of a block.

    Query heads that share a key head are stacked along the query axis, so that keys need not be copied for each.
    """
    row, start, stop, columns, mask = block
    heads, groups, size = query.shape[1], key.shape[1], query.shape[3]
    stacked = query[row, :, start:stop].reshape(1, groups, -1, size)
    attended = scaled_dot_product_attention(
        stacked,
        key[row : row + 1].index_select(2, columns),
        value[row : row + 1].index_select(2, columns),
        attn_mask=mask.repeat(heads // groups, 1),
        scale=scaling,
    )
    return attended.reshape(heads, stop - start, -1).transpose(0, 1)
