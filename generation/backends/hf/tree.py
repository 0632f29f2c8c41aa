"""Several replies growing from one encoded context, many contexts at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import Cache
from transformers.cache_utils import DynamicLayer

from generation.backends.hf.contexts import HOLE, Context, Feeder, merged

CONTEXT = -1  # owner of a cache column that every reply of the row may see
PADDING = -3  # asker that owns no column
ROOM = 128  # columns


LOGITS, STATE, NOTHING = range(3)


class Fed(NamedTuple):
    """A token that is fed. reply: its number in the row; place: of the token in the reply; wanted: what is asked of it,
    the LOGITS of what follows, the last hidden STATE, or NOTHING."""

    reply: int
    token: int
    place: int
    wanted: int = LOGITS


class GrowingLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """A cache layer with room for columns to come: a step writes its own and does not copy those before.

    keys, values: (rows, heads, columns, size).
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
        self._blocks = (keys, values)
        self._filled = keys.shape[2]
        self._show()

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        start = self._filled
        self._filled += key_states.shape[2]
        self._make_room()
        for block, states in zip(self._blocks, (key_states, value_states), strict=True):
            block[:, :, start : self._filled] = states
        return self._show()

    def batch_select_indices(self, indices: Tensor) -> None:
        self._blocks = (self._blocks[0][indices], self._blocks[1][indices])
        self._show()

    def _make_room(self) -> None:
        keys, values = self._blocks
        short = self._filled - keys.shape[2]
        if short > 0:
            room = (0, 0, 0, max(short, ROOM))
            self._blocks = (nn.functional.pad(keys, room), nn.functional.pad(values, room))

    def _show(self) -> tuple[Tensor, Tensor]:
        keys, values = (block[:, :, : self._filled] for block in self._blocks)
        self.keys, self.values = keys, values
        return keys, values


class Tree:
    """The cache of a batch of contexts with their replies.

    A row holds one context; every step feeds one token of each of its replies side by side, which appends as many
    columns. An attention mask lets a reply see its context and its own columns only. So a context is held and read
    once however many replies grow from it, where the usual copy per reply holds and reads it seven times
    (measured here, 16 contexts of 384 tokens: decoding 2.9 times faster in float32, 5.6 times in bfloat16).
    """

    def __init__(self, feeder: Feeder, contexts: Sequence[Context]) -> None:
        self._feeder = feeder
        lengths = [len(context.encoded.tokens) for context in contexts]
        blocks = merged([context.encoded for context in contexts], lengths)
        self._cache = Cache(layers=[GrowingLayer(keys, values) for keys, values, *_ in blocks])
        self._lengths = self._tensor(lengths)
        column = torch.arange(max(lengths), device=feeder.device)
        self._owner = torch.where(column[None] < self._lengths[:, None], CONTEXT, HOLE)

    def keep(self, rows: Sequence[int]) -> None:
        """Drop the other rows."""
        if len(rows) < len(self._lengths):
            index = self._tensor(rows)
            self._cache.batch_select_indices(index)
            self._owner, self._lengths = self._owner[index], self._lengths[index]

    def grow(self, rows: Sequence[Sequence[Fed]]) -> Tensor:
        """Feed tokens of replies; the logits that are wanted, shape (tokens, vocabulary), row after row.

        rows: for each row of the cache what is fed there; tokens of one reply in their order.
        """
        width = max(map(len, rows))
        fed = self._tensor([[*row, *[(PADDING, 0, 0, NOTHING)] * (width - len(row))] for row in rows])
        asker, tokens, places, wanted = fed.unbind(-1)
        self._owner = torch.cat([self._owner, asker.where(asker != PADDING, HOLE)], dim=1)
        owner = self._owner[:, None]
        visible = (owner == CONTEXT) | (owner == asker[..., None])
        visible[..., -width:].tril_()  # of its own reply, a token does not see what is fed behind it
        self._ends = wanted == STATE
        return self._feeder.feed(
            tokens, self._lengths[:, None] + places, self._cache, visible, wanted=wanted == LOGITS
        )

    @property
    def states(self) -> Tensor:
        """The last hidden states that are wanted of what `grow` fed, (tokens, hidden); of a feeder that keeps them."""
        return self._feeder.states[self._ends]

    def _tensor(self, values: object) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=self._feeder.device)
