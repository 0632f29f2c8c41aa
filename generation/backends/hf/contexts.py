"""Encoding contexts once, and keeping the encoding of a conversation for its next turn."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, DynamicCache

HOLE = -2  # owner of a cache column that holds nothing


@dataclass(frozen=True, slots=True)
class Prompt:
    conversation: str
    tokens: tuple[int, ...]


@dataclass(slots=True)
class Encoded:
    """The attention keys and values of some tokens, one tensor (heads, tokens, head size) a layer."""

    tokens: tuple[int, ...]
    keys: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        return sum(t.nbytes for t in (*self.keys, *self.values))


@dataclass(slots=True)
class Context:
    """An encoded prompt and the logits of the token that follows it, shape (vocabulary,)."""

    encoded: Encoded
    logits: Tensor


def shared_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    for position, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return position
    return min(len(left), len(right))


class ConversationCache:
    """The last encoding of each conversation, least recently used out first; bounded in number and bytes."""

    def __init__(self, conversations: int, nbytes: int) -> None:
        self._limit = conversations
        self._limit_bytes = nbytes
        self._kept: OrderedDict[str, Encoded] = OrderedDict()
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def reusable(self, prompt: Prompt) -> tuple[Encoded | None, int]:
        """What is kept of the prompt, and how many tokens of it; the last token is always fed, for its logits.

        Compared token by token: after an undo, a truncation or a changed draft only what is equal is used.
        """
        kept = self._kept.get(prompt.conversation)
        length = min(shared_prefix(kept.tokens, prompt.tokens), len(prompt.tokens) - 1) if kept else 0
        return (kept, length) if length else (None, 0)

    def store(self, conversation: str, encoded: Encoded) -> None:
        self._drop(conversation)
        if self._limit == 0 or encoded.nbytes > self._limit_bytes:
            return
        self._kept[conversation] = encoded
        self.nbytes += encoded.nbytes
        while len(self._kept) > self._limit or self.nbytes > self._limit_bytes:
            self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        self._kept.clear()
        self.nbytes = 0

    def _drop(self, conversation: str) -> None:
        dropped = self._kept.pop(conversation, None)
        self.nbytes -= dropped.nbytes if dropped else 0


class Feeder:
    """The one place that runs the model forward over a cache.

    keeps_states: remember the last hidden states of every pass, for a preference head. They are what enters the
    vocabulary's layer, whatever else a kind of model does before or behind it.
    """

    def __init__(self, model: Any, *, keeps_states: bool = False) -> None:
        self.model = model
        self.device: torch.device = model.device
        self.dtype: torch.dtype = model.dtype
        self._last_only = "logits_to_keep" in inspect.signature(model.forward).parameters
        self.states = torch.empty(0)  # of the last pass, (rows, fed, hidden)
        self._wanted: Tensor | None = None
        self._keeps_states = keeps_states
        if keeps_states:
            model.get_output_embeddings().register_forward_pre_hook(self._keep_states)

    def _keep_states(self, _module: Any, given: tuple[Tensor]) -> tuple[Tensor] | None:
        """Ends of replies, whose states alone are wanted, do not enter the vocabulary's layer."""
        (self.states,) = given
        return None if self._wanted is None else (self.states[self._wanted][None],)

    def feed(
        self,
        tokens: Tensor,
        positions: Tensor,
        cache: Cache,
        visible: Tensor | None = None,
        *,
        last_only: bool = False,
        wanted: Tensor | None = None,
    ) -> Tensor:
        """Logits of the fed tokens, or of the last column alone; the cache grows by the fed columns.

        wanted: (rows, fed), of which tokens alone logits are asked; these are then (tokens, vocabulary).
        tokens, positions: (rows, fed); visible: (rows, fed, cached + fed), which column each token may see,
        None = all before it.
        """
        limit = {"logits_to_keep": 1} if last_only and self._last_only else {}
        self._wanted = wanted if self._keeps_states else None
        try:
            output = self.model(
                input_ids=tokens,
                position_ids=positions,
                past_key_values=cache,
                attention_mask=None if visible is None else self._additive(visible),
                use_cache=True,
                **limit,
            )
        finally:
            self._wanted = None
        logits: Tensor = output.logits
        if wanted is not None:
            return logits[0] if self._keeps_states else logits[wanted]
        return logits[:, -1:] if last_only else logits

    def last_state(self, tokens: Sequence[int]) -> Tensor:
        """The last hidden state of the last token, (1, hidden), encoded without a cache."""
        limit = {"logits_to_keep": 1} if self._last_only else {}
        self.model(input_ids=torch.tensor([tokens], device=self.device), use_cache=False, **limit)
        return self.states[:, -1]

    def _additive(self, visible: Tensor) -> Tensor:
        """The least finite number, not -inf: a padding token sees nothing and must not become not-a-number."""
        mask = torch.zeros(visible.shape, dtype=self.dtype, device=self.device)
        return mask.masked_fill_(~visible, torch.finfo(self.dtype).min)[:, None]


def merged(parts: Sequence[Encoded], lengths: Sequence[int]) -> DynamicCache:
    """A cache of one row a part: its first `length` tokens, then zeros up to the longest.

    Zeros, because the attention multiplies what it does not see by nought, and nought times rubbish may be NaN.
    """
    width = max(lengths)

    def batch(layers: list[list[Tensor]]) -> Iterator[Tensor]:
        for rows in zip(*layers, strict=True):
            heads, _, size = rows[0].shape
            block = rows[0].new_zeros(len(rows), heads, width, size)
            for row, (tensor, length) in enumerate(zip(rows, lengths, strict=True)):
                block[row, :, :length] = tensor[:, :length]
            yield block

    keys, values = batch([p.keys for p in parts]), batch([p.values for p in parts])
    return DynamicCache(list(zip(keys, values, strict=True)))


def similar_lengths(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Indices in groups that are padded to at most twice what they hold, and to at most `budget` tokens."""
    group: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        longest = lengths[group[0]] if group else 0
        if group and (2 * lengths[index] < longest or (len(group) + 1) * longest > budget):
            yield group
            group = []
        group.append(index)
    if group:
        yield group


@dataclass(slots=True)
class _Job:
    prompt: Prompt
    known: Encoded | None
    reused: int

    @property
    def new(self) -> tuple[int, ...]:
        return self.prompt.tokens[self.reused :]


class ContextEncoder:
    """Feeds every prompt once, several together, and only the tokens that its conversation has not kept."""

    def __init__(self, feeder: Feeder, conversations: ConversationCache) -> None:
        self._feeder = feeder
        self._conversations = conversations
        # Tokens in one pass. A CPU is busy with few, and slower once a pass no longer fits its cache (measured: 16
        # contexts of 384 tokens 2.7 s in one pass, 2.1 s at 512); a GPU wants many.
        self._budget = 512 if feeder.device.type == "cpu" else 8192

    def encode(self, prompts: Sequence[Prompt]) -> list[Context]:
        jobs = [_Job(prompt, *self._conversations.reusable(prompt)) for prompt in prompts]
        contexts: dict[int, Context] = {}
        for group in similar_lengths([len(job.new) for job in jobs], self._budget):
            members = [jobs[i] for i in group]
            encode = self._encode_one if len(group) == 1 else self._encode_together
            contexts.update(zip(group, encode(members), strict=True))
        for index, job in enumerate(jobs):
            self._conversations.store(job.prompt.conversation, contexts[index].encoded)
        return [contexts[i] for i in range(len(jobs))]

    def _encode_one(self, jobs: Sequence[_Job]) -> list[Context]:
        """No padding, so no mask: the model's fastest path."""
        (job,) = jobs
        cache = merged([job.known], [job.reused]) if job.known else DynamicCache()
        tokens = self._tensor([job.new])
        positions = torch.arange(job.reused, len(job.prompt.tokens), device=tokens.device)[None]
        logits = self._feeder.feed(tokens, positions, cache, last_only=True)
        return [Context(self._row(cache, 0, job), logits[0, -1])]

    def _encode_together(self, jobs: Sequence[_Job]) -> list[Context]:
        """Rows of [kept | hole | padding | new]: the last column is the last token of every row."""
        width = max(job.reused for job in jobs)
        length = max(len(job.new) for job in jobs)
        cache = self._kept(jobs) if width else DynamicCache()
        tokens = self._tensor([(0,) * (length - len(job.new)) + job.new for job in jobs])
        reused = self._tensor([[job.reused] for job in jobs])
        padding = self._tensor([[length - len(job.new)] for job in jobs])
        column = torch.arange(width + length, device=tokens.device)[None]
        row = column[:, width:] - width
        filled = (column < reused) | (column >= width + padding)
        visible = filled[:, None] & (column[:, None] <= (width + row)[..., None])
        positions = (reused + row - padding).clamp(min=0)
        logits = self._feeder.feed(tokens, positions, cache, visible, last_only=True)
        return [Context(self._row(cache, index, job), logits[index, -1]) for index, job in enumerate(jobs)]

    def _kept(self, jobs: Sequence[_Job]) -> DynamicCache:
        some = next(job.known for job in jobs if job.known)
        return merged([job.known or some for job in jobs], [job.reused for job in jobs])

    @staticmethod
    def _row(cache: DynamicCache, index: int, job: _Job) -> Encoded:
        """One row without hole and padding, in memory of its own."""

        def compact(block: Tensor) -> Tensor:
            row = block[index]
            if row.shape[1] == len(job.prompt.tokens):
                return row if len(block) == 1 else row.clone()
            return torch.cat([row[:, : job.reused], row[:, row.shape[1] - len(job.new) :]], dim=1)

        layers = [(compact(keys), compact(values)) for keys, values, *_ in cache]
        return Encoded(job.prompt.tokens, [keys for keys, _ in layers], [values for _, values in layers])

    def _tensor(self, rows: Sequence[Sequence[int]]) -> Tensor:
        return torch.tensor(rows, dtype=torch.long, device=self._feeder.device)
