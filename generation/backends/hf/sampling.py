"""Drawing the next token of many replies at once, each from its own seed.

Every reply has its own stream of uniform numbers and picks by inverting the distribution, so what it draws does
not depend on which other replies are in the batch (only on the logits, which batching changes by rounding).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

import torch
from torch import Tensor

from generation.protocol import Sampling

# A reply that begins differently continues differently; a high temperature throughout would give nonsense.
WARM_TOKENS = 3


class NGramBlock:
    """Knows which tokens would repeat an earlier n-gram; n = 0 blocks nothing."""

    def __init__(self, n: int, history: Iterable[int] = ()) -> None:
        self._n = n
        self._tail: tuple[int, ...] = ()
        self._followers: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)
        for token in history:
            self.push(token)

    def push(self, token: int) -> None:
        if self._n == 0:
            return
        if len(self._tail) == self._n - 1:
            self._followers[self._tail].add(token)
        self._tail = (*self._tail, token)[1 - self._n :] if self._n > 1 else ()

    def banned(self) -> Iterable[int]:
        return self._followers.get(self._tail, ()) if self._n and len(self._tail) == self._n - 1 else ()


@dataclass(slots=True)
class Draw:
    """One reply while it is drawn.

    tokens: without the end of the utterance. logprob: with the end, in nats. score: of the preference head, after the
    end, if the model has a head. warmth: factor on the temperature of the first WARM_TOKENS tokens. foreign: ids that
    are never drawn, because they are of another script than the dialogue.
    """

    seed: int
    sampling: Sampling
    blocked: NGramBlock
    warmth: float = 1.0
    foreign: Tensor | None = None
    tokens: list[int] = field(default_factory=list)
    logprob: float = 0.0
    score: float | None = None
    ended: bool = False
    failure: str = ""
    noise: Random = field(init=False)

    def __post_init__(self) -> None:
        self.noise = Random(self.seed)

    @property
    def temperature(self) -> float:
        """Of the next token."""
        return self.sampling.temperature * (self.warmth if len(self.tokens) < WARM_TOKENS else 1.0)

    @property
    def finished(self) -> bool:
        return self.ended or bool(self.failure) or len(self.tokens) >= self.sampling.max_new_tokens

    def take(self, token: int, logprob: float, *, is_end: bool) -> None:
        self.logprob += logprob
        self.ended = is_end
        if not is_end:
            self.tokens.append(token)
            self.blocked.push(token)


class Sampler:
    """Top-k sampling with temperature and n-gram blocking.

    ends: token ids that end an utterance (never the first token of a reply); never: ids that are never drawn.
    """

    def __init__(self, ends: frozenset[int], never: Sequence[int], device: torch.device) -> None:
        self.ends = ends
        self._never = torch.tensor(sorted(never), dtype=torch.long, device=device)

    def step(self, logits: Tensor, draws: Sequence[Draw]) -> list[int]:
        """Extend every draw by one token; returns the tokens. logits: (draws, vocabulary), overwritten."""
        logits = logits.float()
        total = logits.logsumexp(-1)
        self._ban(logits, draws)
        top = max(draw.sampling.top_k for draw in draws)
        values, indices = logits.topk(min(top, logits.shape[-1]), dim=-1)
        places = self._choose(values, draws)[:, None]
        chosen = values.gather(1, places)[:, 0] - total
        tokens: list[int] = indices.gather(1, places)[:, 0].tolist()
        for draw, token, logprob in zip(draws, tokens, chosen.tolist(), strict=True):
            if math.isfinite(logprob):
                draw.take(token, logprob, is_end=token in self.ends)
            else:
                draw.failure = "The model gave no usable probabilities (not a number)."
        return tokens

    def _ban(self, logits: Tensor, draws: Sequence[Draw]) -> None:
        logits[:, self._never] = -torch.inf
        for row, draw in enumerate(draws):
            if draw.foreign is not None:
                logits[row, draw.foreign.to(logits.device)] = -torch.inf
        banned = [(row, token) for row, draw in enumerate(draws) for token in draw.blocked.banned()]
        banned += [(row, end) for row, draw in enumerate(draws) if not draw.tokens for end in self.ends]
        if banned:
            rows, tokens = torch.tensor(banned, device=logits.device).unbind(1)
            logits[rows, tokens] = -torch.inf

    @staticmethod
    def _choose(values: Tensor, draws: Sequence[Draw]) -> Tensor:
        """The chosen place of each draw, (draws,). values: logits in descending order, (draws, k)."""
        device = values.device
        temperatures = torch.tensor([d.temperature for d in draws], device=device)
        widths = torch.tensor([d.sampling.top_k for d in draws], device=device)
        noise = torch.tensor([d.noise.random() for d in draws], device=device)
        outside = torch.arange(values.shape[-1], device=device) >= widths[:, None]
        scaled = (values / temperatures[:, None]).masked_fill(outside, -torch.inf)
        cumulated = scaled.softmax(-1).cumsum(-1)
        below = cumulated < noise[:, None] * cumulated[:, -1:]
        return below.sum(-1).clamp(max=values.shape[-1] - 1)
