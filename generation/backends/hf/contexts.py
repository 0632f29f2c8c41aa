"""Encoding every context once, and keeping a conversation's encoding for its next turn."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, DynamicCache

HOLE = -2  # owner of an empty cache column


@dataclass(frozen=True, slots=True)
class Prompt:
    conversation: str
    tokens: tuple[int, ...]


@dataclass(slots=True)
class EncodedTokens:
    """The attention keys and values of some tokens, one tensor of shape (heads, tokens, head size) per layer."""

    tokens: tuple[int, ...]
    keys: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        return sum(t.nbytes for t in (*self.keys, *self.values))


@dataclass(slots=True)
class Context:
    """An encoded prompt and the logits of the token that follows it, shape (vocabulary,)."""

    encoded: EncodedTokens
    logits: Tensor


def shared_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    for position, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return position
    return min(len(left), len(right))


class ConversationCache:
    """The last encoding of each conversation; the oldest go first when the limit of number or bytes is reached."""

    def __init__(self, conversations: int, nbytes: int) -> None:
        self._limit = conversations
        self._limit_bytes = nbytes
        self._kept: OrderedDict[str, EncodedTokens] = OrderedDict()
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def reusable(self, prompt: Prompt) -> tuple[EncodedTokens | None, int]:
        """The cached encoding and how many of its first tokens the prompt shares; (None, 0) without a common prefix.

        The last token is never reused, because its logits are needed. Tokens are compared one by one: after an undo, a
        truncation or a changed draft only the common prefix is reused.
        """
        kept = self._kept.get(prompt.conversation)
        length = min(shared_prefix(kept.tokens, prompt.tokens), len(prompt.tokens) - 1) if kept else 0
        return (kept, length) if length else (None, 0)

    def store(self, conversation: str, encoded: EncodedTokens) -> None:
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
    """Runs the model forward over a cache; no other class does.

    keeps_states: keep the last hidden states of every pass for a preference head. They are the input of the output
    layer, which is the same in every architecture, whatever comes before or after.
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
        """Keep the states, and pass only those on that need logits: the output layer is the largest product."""
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
        """Run some tokens through the model; the cache grows by their columns.

        tokens, positions: (rows, fed). visible: (rows, fed, cached + fed), True where a token sees a column; None: all
        earlier ones. wanted: (rows, fed), True for tokens that need logits. Returns logits (rows, fed, vocabulary), of
        the last column only if last_only, or (wanted tokens, vocabulary).
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
        """The least finite number, not -inf: a padding token sees nothing, and a softmax over only -inf is NaN."""
        mask = torch.zeros(visible.shape, dtype=self.dtype, device=self.device)
        return mask.masked_fill_(~visible, torch.finfo(self.dtype).min)[:, None]


def merge_encodings(parts: Sequence[EncodedTokens], lengths: Sequence[int]) -> DynamicCache:
    """A cache with one row per encoding: its first `length` tokens, then zeros up to the longest.

    Zeros, because attention multiplies masked values by 0, and 0 times uninitialised memory may be NaN.
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
    """Indices in groups of similar length: padded to at most twice their tokens and at most `budget` tokens."""
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
class _EncodingJob:
    prompt: Prompt
    known: EncodedTokens | None
    reused: int

    @property
    def new_tokens(self) -> tuple[int, ...]:
        return self.prompt.tokens[self.reused :]


class ContextEncoder:
    """Encodes prompts, several at a time, and of each only the tokens that are not in the conversation's cache."""

    def __init__(self, feeder: Feeder, conversations: ConversationCache) -> None:
        self._feeder = feeder
        self._conversations = conversations
        # Tokens in one pass. A CPU is busy with few, and slower once a pass exceeds its cache (measured: 16 contexts of
        # 384 tokens take 2.7 s in one pass, 2.1 s in passes of 512); a GPU needs many.
        self._budget = 512 if feeder.device.type == "cpu" else 8192

    def encode(self, prompts: Sequence[Prompt]) -> list[Context]:
        jobs = [_EncodingJob(prompt, *self._conversations.reusable(prompt)) for prompt in prompts]
        contexts: dict[int, Context] = {}
        for group in similar_lengths([len(job.new_tokens) for job in jobs], self._budget):
            members = [jobs[i] for i in group]
            encode = self._encode_one if len(group) == 1 else self._encode_together
            contexts.update(zip(group, encode(members), strict=True))
        for index, job in enumerate(jobs):
            self._conversations.store(job.prompt.conversation, contexts[index].encoded)
        return [contexts[i] for i in range(len(jobs))]

    def _encode_one(self, jobs: Sequence[_EncodingJob]) -> list[Context]:
        """Encode one prompt without padding or mask, the model's fastest path."""
        (job,) = jobs
        cache = merge_encodings([job.known], [job.reused]) if job.known else DynamicCache()
        tokens = self._tensor([job.new_tokens])
        positions = torch.arange(job.reused, len(job.prompt.tokens), device=tokens.device)[None]
        logits = self._feeder.feed(tokens, positions, cache, last_only=True)
        return [Context(self._row(cache, 0, job), logits[0, -1])]

    def _encode_together(self, jobs: Sequence[_EncodingJob]) -> list[Context]:
        """Encode rows of [cached | hole | padding | new]: the last column is the last token of every row."""
        width = max(job.reused for job in jobs)
        length = max(len(job.new_tokens) for job in jobs)
        cache = self._cached_prefixes(jobs) if width else DynamicCache()
        tokens = self._tensor([(0,) * (length - len(job.new_tokens)) + job.new_tokens for job in jobs])
        reused = self._tensor([[job.reused] for job in jobs])
        padding = self._tensor([[length - len(job.new_tokens)] for job in jobs])
        column = torch.arange(width + length, device=tokens.device)[None]
        row = column[:, width:] - width
        filled = (column < reused) | (column >= width + padding)
        visible = filled[:, None] & (column[:, None] <= (width + row)[..., None])
        positions = (reused + row - padding).clamp(min=0)
        logits = self._feeder.feed(tokens, positions, cache, visible, last_only=True)
        return [Context(self._row(cache, index, job), logits[index, -1]) for index, job in enumerate(jobs)]

    def _cached_prefixes(self, jobs: Sequence[_EncodingJob]) -> DynamicCache:
        some = next(job.known for job in jobs if job.known)
        return merge_encodings([job.known or some for job in jobs], [job.reused for job in jobs])

    @staticmethod
    def _row(cache: DynamicCache, index: int, job: _EncodingJob) -> EncodedTokens:
        """One row without hole and padding, in its own memory."""

        def compact(block: Tensor) -> Tensor:
            row = block[index]
            if row.shape[1] == len(job.prompt.tokens):
                return row if len(block) == 1 else row.clone()
            return torch.cat([row[:, : job.reused], row[:, row.shape[1] - len(job.new_tokens) :]], dim=1)

        layers = [(compact(keys), compact(values)) for keys, values, *_ in cache]
        return EncodedTokens(
            job.prompt.tokens, [keys for keys, _ in layers], [values for _, values in layers]
        )

    def _tensor(self, rows: Sequence[Sequence[int]]) -> Tensor:
        return torch.tensor(rows, dtype=torch.long, device=self._feeder.device)
