"""Decoding several replies from one encoded context, for many contexts at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import Cache
from transformers.cache_utils import DynamicLayer

from generation.backends.hf.contexts import HOLE, Context, Feeder, merge_encodings

CONTEXT = -1  # owner of a cache column that every reply of the row sees
PADDING = -3  # reader of a padding token, which owns no column
ROOM = 128  # columns by which a cache grows


LOGITS, STATE, NOTHING = range(3)


class TokenInput(NamedTuple):
    """A token to feed.

    reply: number in the row. place: of the token in the reply. wanted: the LOGITS of the next token, the last hidden
    STATE, or NOTHING.
    """

    reply: int
    token: int
    place: int
    wanted: int = LOGITS


class GrowingLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """A cache layer with spare columns: a step writes its own without copying the earlier ones.

    keys, values: (rows, heads, columns, size).
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
        self._blocks = (keys, values)
        self._filled = keys.shape[2]
        self._expose()

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        start = self._filled
        self._filled += key_states.shape[2]
        self._make_room()
        for block, states in zip(self._blocks, (key_states, value_states), strict=True):
            block[:, :, start : self._filled] = states
        return self._expose()

    def batch_select_indices(self, indices: Tensor) -> None:
        self._blocks = (self._blocks[0][indices], self._blocks[1][indices])
        self._expose()

    def _make_room(self) -> None:
        keys, values = self._blocks
        short = self._filled - keys.shape[2]
        if short > 0:
            room = (0, 0, 0, max(short, ROOM))
            self._blocks = (nn.functional.pad(keys, room), nn.functional.pad(values, room))

    def _expose(self) -> tuple[Tensor, Tensor]:
        keys, values = (block[:, :, : self._filled] for block in self._blocks)
        self.keys, self.values = keys, values
        return keys, values


class Tree:
    """The cache of a batch of contexts with their replies.

    A row holds one context; every step feeds one token of each of its replies side by side, which appends as many
    columns. An attention mask lets a reply see only its context and its own columns. A context is therefore stored and
    read once, whatever the number of replies; the usual copy per reply stores and reads it seven times. Measured on 16
    contexts of 384 tokens: decoding is 2.9 times as fast in float32, 5.6 times in bfloat16.
    """

    def __init__(self, feeder: Feeder, contexts: Sequence[Context]) -> None:
        self._feeder = feeder
        lengths = [len(context.encoded.tokens) for context in contexts]
        blocks = merge_encodings([context.encoded for context in contexts], lengths)
        self._cache = Cache(layers=[GrowingLayer(keys, values) for keys, values, *_ in blocks])
        self._lengths = self._tensor(lengths)
        column = torch.arange(max(lengths), device=feeder.device)
        self._owner = torch.where(column[None] < self._lengths[:, None], CONTEXT, HOLE)

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows only."""
        if len(rows) < len(self._lengths):
            index = self._tensor(rows)
            self._cache.batch_select_indices(index)
            self._owner, self._lengths = self._owner[index], self._lengths[index]

    def grow(self, rows: Sequence[Sequence[TokenInput]]) -> Tensor:
        """Feed tokens of replies; returns the wanted logits, (tokens, vocabulary), row after row.

        rows: the tokens for each row of the cache; those of one reply in their order.
        """
        width = max(map(len, rows))
        fed = self._tensor([[*row, *[(PADDING, 0, 0, NOTHING)] * (width - len(row))] for row in rows])
        asker, tokens, places, wanted = fed.unbind(-1)
        self._owner = torch.cat([self._owner, asker.where(asker != PADDING, HOLE)], dim=1)
        owner = self._owner[:, None]
        visible = (owner == CONTEXT) | (owner == asker[..., None])
        visible[..., -width:].tril_()  # a token does not see later tokens of its own reply
        self._ends = wanted == STATE
        return self._feeder.feed(
            tokens, self._lengths[:, None] + places, self._cache, visible, wanted=wanted == LOGITS
        )

    @property
    def states(self) -> Tensor:
        """The wanted last hidden states of the last `grow`, (tokens, hidden); only if the feeder keeps states."""
        return self._feeder.states[self._ends]

    def _tensor(self, values: object) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=self._feeder.device)
