"""Beginnings that all texts of a run share, encoded once: their keys and values stay in a cache.

A tree saves what the texts of one row have in common. A stem saves what rows have in common: the instruction, or an
example that everything is compared with. It is a row itself, of one piece a token, so that a text may leave it after
any token.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from preference.training.common.shared_context.forward import model_inputs
from preference.training.common.shared_context.rows import ROOT, Row, Tokens, collate


class Stem:
    """row: S tokens, each a piece. It has to be encoded before rows that stand on it are run."""

    def __init__(self, beginnings: Iterable[Tokens]) -> None:
        self.row = Row()
        self._next: dict[tuple[int, int], int] = {}  # piece and the token after it → the piece of that token
        self._keys_and_values: list[tuple[Tensor, Tensor]] = []
        for text in beginnings:
            self._add(text)

    def _add(self, text: Tokens) -> None:
        piece = ROOT
        for token in text:
            if (piece, token) not in self._next:
                self._next[piece, token] = self.row.add((token,), piece)
            piece = self._next[piece, token]

    def leave(self, text: Tokens) -> tuple[int, int]:
        """The last piece that the text shares, ROOT if it shares none, and the number of tokens up to there.

        At least one token of the text is left, because its end has to be read in the row.
        """
        piece = ROOT
        for depth, token in enumerate(text[:-1]):
            if (piece, token) not in self._next:
                return piece, depth
            piece = self._next[piece, token]
        return piece, len(text) - 1

    @torch.inference_mode()
    def encode(self, backbone: Any) -> None:
        """Compute the keys and values of every layer, (1, heads, S, size) each."""
        inputs = collate([self.row], 0).inputs
        tensors = {name: tensor.to(backbone.device) for name, tensor in inputs.items()}
        arguments = model_inputs(
            backbone, tensors["input_ids"], tensors.get("position_ids"), tensors.get("attention")
        )
        cache = DynamicCache()
        backbone.base_model(**arguments, past_key_values=cache, use_cache=True)
        layers: list[Any] = cache.layers
        self._keys_and_values = [(layer.keys, layer.values) for layer in layers]

    def cache(self, rows: int) -> DynamicCache:
        """A new cache for a batch of so many rows that stand on the stem; a forward pass appends to it."""
        cache = DynamicCache()
        for number, (keys, values) in enumerate(self._keys_and_values):
            # Expanded, not copied: the forward pass copies it once, behind which it puts its own.
            cache.update(keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1), number)
        return cache
