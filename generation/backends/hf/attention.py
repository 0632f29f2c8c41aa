"""Attention of a few queries to a long cache whose heads are shared by groups of query heads.

transformers' SDPA copies keys and values once per query head before it multiplies (unless there is one query or no
mask). A tree of replies has seven queries and a mask at every step; here the queries of a group are stacked
instead, which copies nothing. Measured here, one layer of 8 heads on 4, 440 columns: 168 µs become 103 for one
request, 4.3 ms become 1.5 for sixteen.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "grouped_sdpa"
# With more queries (when a context is encoded) the product outweighs the copy.
FEW = 64
# Arguments that change nothing if a mask is given; with any other, transformers computes.
HARMLESS = frozenset({"sliding_window", "position_ids", "use_cache", "is_causal"})


def grouped_sdpa(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """query: (rows, heads, queries, size); key, value: (rows, groups, columns, size); the result as SDPA's."""
    rows, heads, queries, size = query.shape
    groups = key.shape[1]
    special = {name for name, value in kwargs.items() if value is not None} - HARMLESS
    if attention_mask is None or groups == heads or queries > FEW or special:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
    stacked = query.reshape(rows, groups, heads // groups * queries, size)
    mask = attention_mask.expand(rows, 1, queries, -1).repeat(1, 1, heads // groups, 1)
    attended = torch.nn.functional.scaled_dot_product_attention(
        stacked, key, value, attn_mask=mask, scale=scaling
    )
    return attended.reshape(rows, heads, queries, -1).transpose(1, 2).contiguous(), None


def group_queries(model: Any) -> bool:
    """Make a model use grouped_sdpa; False if it does not run on SDPA. Check the model's output before use."""
    if model.config._attn_implementation != "sdpa":
        return False
    AttentionInterface.register(NAME, grouped_sdpa)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    return True
