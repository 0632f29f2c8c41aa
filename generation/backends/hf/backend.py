"""The backend `hf`: answers requests for replies with a local model."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from generation.backends.hf.attention import group_queries
from generation.backends.hf.contexts import Context, ConversationCache, Feeder, Prompt
from generation.backends.hf.engines import (
    DecodingTask,
    Engine,
    GenerateEngine,
    SharedContextEngine,
    why_not_shared,
)
from generation.backends.hf.foreign import ForeignTokens
from generation.backends.hf.loading import Loaded, load, version_of
from generation.backends.hf.packing import pack
from generation.backends.hf.rendering import ChatRenderer, PlainRenderer, Renderer
from generation.backends.hf.sampling import Draw, NGramBlock, Sampler
from generation.backends.replies import DistinctReplies, child_seed, clean_reply
from generation.protocol import BackendError, Message, Reply, ReplyRequest, ReplySet, Sampling

# Temperature factors of the first tokens, by round: a confident model otherwise repeats the same few replies.
WARMTHS = (1.0, 1.5, 3.0, 6.0)

# More replies than asked for, to choose from: without and with a preference head, which knows the better ones.
MOST_SPARE = (5, 11)

NO_SCORE = "The model gave no usable score (not a number)."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _LoadedBackend:
    loaded: Loaded
    renderer: Renderer
    engine: Engine
    foreign: ForeignTokens


class HFBackend:
    """Replies from a causal language model in a folder or on the Hub; loaded at the first use.

    dtype "auto": float32 on a CPU, the saved one elsewhere. max_context: tokens of context; the oldest utterances are
    dropped beyond it. max_utterances: of context, the last ones; None: all that fit. cache_conversations, cache_bytes:
    limits of the encoded conversations kept for their next turn. threads: of PyTorch, for the whole process.
    batch_requests: decoded together at most. extra_rounds: how often missing replies (repeated, empty) are drawn again,
    with warmer beginnings each time. chat: use the tokenizer's chat template; None: if it has one.
    block_context_ngrams: also block n-grams of the context, as transformers does. Off by default: in a dialogue it
    forbids "do you like" forever after the first time, and cuts words of languages whose tokens are characters.
    pack_weights: see `packing`; only for float32 on a CPU.

    A model that joint training saved with a preference head scores its replies (`scoring`). It is served as it was
    trained, which its folder says (`dialogue_format`): without a chat template, unless it kept its base's or `chat` is
    true, and with speaker marks if it learned them.
    """

    def __init__(
        self,
        model: str,
        device: str = "auto",
        dtype: str = "auto",
        max_context: int = 384,
        max_utterances: int | None = None,
        cache_conversations: int = 64,
        cache_bytes: int = 1 << 30,
        threads: int | None = None,
        batch_requests: int = 16,
        extra_rounds: int = 5,
        chat: bool | None = None,
        system_prompt: str = "",
        block_context_ngrams: bool = False,
        pack_weights: bool = True,
    ) -> None:
        if not model or max_context < 8 or batch_requests < 1 or extra_rounds < 0 or cache_conversations < 0:
            raise ValueError(
                "model must be named, max_context be at least 8, batch_requests at least 1, the others at least 0."
            )
        if max_utterances is not None and max_utterances < 1:
            raise ValueError("max_utterances must be at least 1, or null for all that fit.")
        self.model, self.device, self.dtype = str(model), device, dtype
        self.max_context, self.max_utterances = max_context, max_utterances
        self.batch_requests, self.extra_rounds = batch_requests, extra_rounds
        self.chat, self.system_prompt = chat, system_prompt
        self.block_context_ngrams, self.pack_weights = block_context_ngrams, pack_weights
        self._conversations = ConversationCache(cache_conversations, cache_bytes)
        self._ready: _LoadedBackend | None = None
        self._version = ""
        self._lock = threading.RLock()
        if threads:
            torch.set_num_threads(threads)

    @property
    def version(self) -> str:
        """Name with a hash (folder) or commit (Hub). Raises BackendError if the model is missing."""
        with self._lock:
            self._version = self._version or version_of(self.model, lambda: self._load().loaded)
            return self._version

    def check(self) -> None:
        """Load the model, write one token and score it. Raises BackendError."""
        sampling = Sampling(max_new_tokens=1)
        request = ReplyRequest("check", (Message("A", "Hello!"),), "B", seed=1, count=1, sampling=sampling)
        with self._lock:
            ready = self._load()
            prompt = self._prompt(request)
            if isinstance(prompt, BackendError):
                raise prompt
            try:
                (context,) = ready.engine.encode([prompt])
                task = self._task(request, context, attempts=0, count=1)
                ready.engine.decode([task])
            except Exception as error:
                raise _as_backend_error(error) from error
        (draw,) = task.draws
        odd = NO_SCORE if draw.score is not None and not math.isfinite(draw.score) else draw.failure
        if odd:
            raise BackendError(odd, "Train or copy the model again, or set dtype to float32.")

    def generate(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        with self._lock:
            try:
                self._load()
            except BackendError as error:
                return [error for _ in requests]
            size = self.batch_requests
            batches = [requests[start : start + size] for start in range(0, len(requests), size)]
            return [answer for batch in batches for answer in self._answer(batch)]

    def close(self) -> None:
        with self._lock:
            self._ready = None
            self._conversations.clear()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _load(self) -> _LoadedBackend:
        if self._ready is None:
            loaded = load(self.model, self.device, self.dtype)
            reason = why_not_shared(Feeder(loaded.model))
            if not reason and self._speed_up(loaded.model) and why_not_shared(Feeder(loaded.model)):
                logger.warning("%s does not run with grouped attention or packed weights.", self.model)
                loaded = load(self.model, self.device, self.dtype)
            engine = self._engine(loaded, reason)
            self._ready = _LoadedBackend(
                loaded, self._renderer(loaded), engine, ForeignTokens(loaded.tokenizer, loaded.ends)
            )
        return self._ready

    def _speed_up(self, model: Any) -> bool:
        return any([group_queries(model), self.pack_weights and pack(model)])

    def _renderer(self, loaded: Loaded) -> Renderer:
        has_template = bool(getattr(loaded.tokenizer, "chat_template", None))
        trained = loaded.dialogue_format
        usual = trained.chat_template or loaded.head is None
        wanted = usual if self.chat is None else self.chat
        if self.chat and not has_template:
            raise BackendError(
                f"The tokenizer of {self.model} has no chat template.",
                "Set chat to false, or use a chat model.",
            )
        if has_template and wanted:
            return ChatRenderer(loaded.tokenizer, self.system_prompt, as_servers_do=trained.chat_template)
        return PlainRenderer(loaded.tokenizer, speaker_marks=trained.speaker_marks)

    def _engine(self, loaded: Loaded, not_shared: str) -> Engine:
        feeder = Feeder(loaded.model, keeps_states=loaded.head is not None)
        sampler = Sampler(loaded.ends, loaded.never, feeder.device)
        if not_shared:
            logger.warning("%s encodes its context again for every reply: %s.", self.model, not_shared)
            return GenerateEngine(feeder, sampler, loaded.head)
        return SharedContextEngine(feeder, sampler, self._conversations, loaded.head)

    def _answer(self, batch: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        """Answer a batch together; if that fails, each request alone, so that one cannot fail the others."""
        try:
            return self._answer_batch(batch)
        except Exception as error:
            self._load().engine.forget()  # frees memory for the next try, in case it ran out
            if len(batch) == 1:
                return [_as_backend_error(error)]
            logger.warning("A batch of %d requests failed; trying each alone.", len(batch), exc_info=True)
            return [answer for request in batch for answer in self._answer([request])]

    def _answer_batch(self, batch: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        prompts = [self._prompt(request) for request in batch]
        readable = [(r, p) for r, p in zip(batch, prompts, strict=True) if isinstance(p, Prompt)]
        answers = iter(self._sample(readable) if readable else [])
        return [next(answers) if isinstance(prompt, Prompt) else prompt for prompt in prompts]

    def _prompt(self, request: ReplyRequest) -> Prompt | BackendError:
        """The request as tokens; a BackendError for anything that its tokenizer or template raises."""
        ready = self._load()
        end = 1 if ready.loaded.head else 0  # the token after the longest reply, where the head reads
        room = min(self.max_context, ready.loaded.positions - request.sampling.max_new_tokens - end)
        if room < 8:
            return BackendError(
                f"The model reads {ready.loaded.positions} tokens at most, and a reply of "
                f"{request.sampling.max_new_tokens} leaves no room for the dialogue.",
                "Lower max_new_tokens.",
            )
        try:
            context = request.context[-self.max_utterances :] if self.max_utterances else request.context
            tokens = ready.renderer.render(context, request.speaker, room, request.persona)
            return Prompt(request.conversation, tuple(tokens))
        except Exception as error:
            return _as_backend_error(error)

    def _sample(self, requests: Sequence[tuple[ReplyRequest, Prompt]]) -> list[ReplySet | BackendError]:
        engine, has_head = self._load().engine, self._load().loaded.head is not None
        contexts = engine.encode([prompt for _, prompt in requests])
        spares = [min(request.spare, MOST_SPARE[has_head]) for request, _ in requests]
        collected = [
            DistinctReplies(request.count, spare)
            for (request, _), spare in zip(requests, spares, strict=True)
        ]
        attempts = [0] * len(requests)
        for round in range(1 + self.extra_rounds):
            incomplete = [index for index, replies in enumerate(collected) if replies.missing]
            if not incomplete:
                break
            tasks = []
            for index in incomplete:
                request, missing = requests[index][0], collected[index].missing
                # Replies that repeat once repeat again: draw more than are missing.
                again = min(2 * missing + 1, request.count + 1)
                count = again if attempts[index] else missing + spares[index]
                warmth = WARMTHS[min(round, len(WARMTHS) - 1)]
                tasks.append(self._task(request, contexts[index], attempts[index], count, warmth))
                attempts[index] += count
            engine.decode(tasks)
            for index, task in zip(incomplete, tasks, strict=True):
                self._collect(task.draws, collected[index])
        return [_result(replies) for replies in collected]

    def _task(
        self, request: ReplyRequest, context: Context, attempts: int, count: int, warmth: float = 1.0
    ) -> DecodingTask:
        size = request.sampling.no_repeat_ngram_size
        history = context.encoded.tokens if self.block_context_ngrams else ()
        seeds = [child_seed(request.seed, attempt) for attempt in range(attempts, attempts + count)]
        foreign = self._load().foreign.tokens_outside(request.scripts)
        draws = [Draw(seed, request.sampling, NGramBlock(size, history), warmth, foreign) for seed in seeds]
        return DecodingTask(context, draws)

    def _collect(self, draws: Sequence[Draw], replies: DistinctReplies) -> None:
        for draw in draws:
            if draw.failure:
                replies.fail(draw.failure)
            else:
                text = self._load().loaded.tokenizer.decode(draw.tokens, skip_special_tokens=True)
                clean = clean_reply(text)
                replies.offer(
                    Reply(clean, draw.seed, len(draw.tokens), draw.logprob, draw.score, draw.warmth)
                )


def _result(replies: DistinctReplies) -> ReplySet | BackendError:
    try:
        return replies.result()
    except BackendError as error:
        return error


def _as_backend_error(error: Exception) -> BackendError:
    if isinstance(error, BackendError):
        return error
    if isinstance(error, torch.OutOfMemoryError):
        return BackendError(
            "The device has too little memory for this dialogue.",
            "Lower max_context or use a smaller model.",
            True,
        )
    logger.error("The local model failed.", exc_info=error)
    return BackendError(
        f"The model failed: {type(error).__name__}: {error}", "Try again; the log has details.", True
    )
