"""From prompts to drawn replies, with a shared context if the model allows it, else by transformers' `generate`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import torch
from torch import Tensor
from transformers import DynamicCache, GenerationConfig, LogitsProcessor, LogitsProcessorList
from transformers.cache_utils import DynamicLayer

from generation.backends.hf.contexts import (
    Context,
    ContextEncoder,
    ConversationCache,
    EncodedTokens,
    Feeder,
    Prompt,
)
from generation.backends.hf.sampling import Draw, Sampler
from generation.backends.hf.scoring import PreferenceHead
from generation.backends.hf.tree import LOGITS, NOTHING, STATE, TokenInput, Tree

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class DecodingTask:
    context: Context
    draws: Sequence[Draw]


class Engine(Protocol):
    def encode(self, prompts: Sequence[Prompt]) -> list[Context]: ...

    def decode(self, tasks: Sequence[DecodingTask]) -> None:
        """Draw every reply of every task to its end, in place, and score it if the model has a head."""
        ...

    def forget(self) -> None:
        """Free the memory of cached conversations."""
        ...


class SharedContextEngine:
    """Encodes every context once and decodes all replies of all tasks together.

    A finished reply is scored in the pass that extends the others: its end is fed beside their tokens. Only the longest
    reply needs an extra pass.
    """

    def __init__(
        self,
        feeder: Feeder,
        sampler: Sampler,
        conversations: ConversationCache,
        head: PreferenceHead | None = None,
    ) -> None:
        self._feeder = feeder
        self._sampler = sampler
        self._head = head
        self._conversations = conversations
        self._encoder = ContextEncoder(feeder, conversations)

    @torch.inference_mode()
    def encode(self, prompts: Sequence[Prompt]) -> list[Context]:
        return self._encoder.encode(prompts)

    @torch.inference_mode()
    def decode(self, tasks: Sequence[DecodingTask]) -> None:
        rows = [list(enumerate(task.draws)) for task in tasks]
        logits = torch.stack([task.context.logits for task in tasks for _ in task.draws])
        tree = Tree(self._feeder, [task.context for task in tasks])
        while any(rows):
            self._sampler.step(logits, [draw for _, draw in chain.from_iterable(rows)])
            unread = [
                [(draw, token) for n, draw in row for token in self._unread_tokens(n, draw)] for row in rows
            ]
            alive = [index for index, row in enumerate(unread) if row]
            if not alive:
                return
            tree.keep(alive)
            feeds = [unread[index] for index in alive]
            logits = tree.grow([[token for _, token in row] for row in feeds])
            self._score(tree, [draw for row in feeds for draw, token in row if token.wanted == STATE])
            rows = [[(token.reply, draw) for draw, token in row if token.wanted == LOGITS] for row in feeds]

    def _unread_tokens(self, number: int, draw: Draw) -> list[TokenInput]:
        """The tokens of a reply that the model has to read next: the last one, or its end for the head.

        A reply that was cut at max_new_tokens needs both: its last token has not been read yet.
        """
        if draw.failure or (draw.finished and not self._head):
            return []
        place = len(draw.tokens)
        if not self._head or not draw.finished:
            return [TokenInput(number, draw.tokens[-1], place - 1)]
        cut = [] if draw.ended else [TokenInput(number, draw.tokens[-1], place - 1, NOTHING)]
        return [*cut, TokenInput(number, self._head.end, place, STATE)]

    def _score(self, tree: Tree, ended: Sequence[Draw]) -> None:
        if self._head and ended:
            for draw, score in zip(ended, self._head.scores(tree.states), strict=True):
                draw.score = score

    def forget(self) -> None:
        self._conversations.clear()


class _SeededChoice(LogitsProcessor):
    """Makes `generate` take the token that our sampler drew by making all others impossible."""

    def __init__(self, sampler: Sampler, draws: Sequence[Draw]) -> None:
        self._sampler = sampler
        self._draws = draws

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        open_rows = [row for row, draw in enumerate(self._draws) if not draw.finished]
        forced = torch.full_like(scores, -torch.inf)
        forced[:, min(self._sampler.ends)] = 0  # ignored, because a finished row is not extended
        if open_rows:
            tokens = self._sampler.step(scores[open_rows], [self._draws[row] for row in open_rows])
            forced[open_rows] = -torch.inf
            forced[open_rows, tokens] = 0
        return forced


class GenerateEngine:
    """transformers' `generate`, one task at a time, for models whose cache cannot be shared. Caches nothing.

    Replies are scored by encoding context and reply again.
    """

    def __init__(self, feeder: Feeder, sampler: Sampler, head: PreferenceHead | None = None) -> None:
        self._feeder = feeder
        self._model = feeder.model
        self._device = feeder.device
        self._sampler = sampler
        self._head = head

    def encode(self, prompts: Sequence[Prompt]) -> list[Context]:
        nothing = torch.empty(0)
        return [Context(EncodedTokens(prompt.tokens), nothing) for prompt in prompts]

    @torch.inference_mode()
    def decode(self, tasks: Sequence[DecodingTask]) -> None:
        for task in tasks:
            prompt = torch.tensor([task.context.encoded.tokens], device=self._device).repeat(
                len(task.draws), 1
            )
            self._model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                logits_processor=LogitsProcessorList([_SeededChoice(self._sampler, task.draws)]),
                generation_config=GenerationConfig(  # type: ignore[no-untyped-call]
                    do_sample=False,
                    max_new_tokens=max(draw.sampling.max_new_tokens for draw in task.draws),
                    eos_token_id=sorted(self._sampler.ends),
                    pad_token_id=min(self._sampler.ends),
                ),
            )
            self._score(task)

    def _score(self, task: DecodingTask) -> None:
        for draw in task.draws:
            if self._head and not draw.failure:
                tokens = [*task.context.encoded.tokens, *draw.tokens, self._head.end]
                (draw.score,) = self._head.scores(self._feeder.last_state(tokens))

    def forget(self) -> None:
        """Does nothing: no conversation is cached."""


def why_not_shared(feeder: Feeder) -> str:
    """Why replies of this model cannot share an encoded context; "" if they can.

    First the kind of its cache is checked, then the model is tried: positions or masks that it makes itself (ALiBi, for
    example) give logits that differ from those of plain encoding.
    """
    config = feeder.model.config
    if config.is_encoder_decoder:
        return "it has an encoder"
    try:
        kinds = {type(layer) for layer in DynamicCache(config=config).layers}
        if kinds != {DynamicLayer}:
            return f"its cache is made of {', '.join(sorted(kind.__name__ for kind in kinds))}"
        return "" if _shares_correctly(feeder) else "it gives different probabilities that way"
    except Exception as error:  # an unknown architecture may fail in any way
        return f"trying it failed ({type(error).__name__}: {error})"


@torch.inference_mode()
def _shares_correctly(feeder: Feeder) -> bool:
    """Whether replies to two contexts of different length get the same logits as in separate passes."""
    size = feeder.model.get_input_embeddings().weight.shape[0]
    token = [7 * i % size for i in range(12)]
    prompts = [Prompt("long", tuple(token[:6])), Prompt("short", tuple(token[3:6]))]
    replies = [[(token[6], token[7]), (token[8], token[9])], [(token[10], token[11])]]
    tree = Tree(feeder, ContextEncoder(feeder, ConversationCache(0, 0)).encode(prompts))
    for step in range(2):
        grown = tree.grow(
            [[TokenInput(n, reply[step], step) for n, reply in enumerate(row)] for row in replies]
        )
    separate = torch.stack(
        [_plain_logits(feeder, p, reply) for p, row in zip(prompts, replies, strict=True) for reply in row]
    )
    # Half precision rounds by a per cent or two; a wrong mask or position is off by the spread of the logits.
    tolerance = 1e-3 if feeder.dtype == torch.float32 else 0.2
    return bool((grown - separate).abs().max() <= tolerance * separate.std())


def _plain_logits(feeder: Feeder, prompt: Prompt, reply: Sequence[int]) -> Tensor:
    tokens = torch.tensor([[*prompt.tokens, *reply]], device=feeder.device)
    logits: Tensor = feeder.model(input_ids=tokens, use_cache=False).logits
    return logits[0, -1]
