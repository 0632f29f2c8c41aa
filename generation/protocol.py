"""The interface between the platform and the models that suggest replies.

Plain values in, plain values out, without Django or torch, so that the web process, a Celery worker and a benchmark use
every backend in the same way. A backend is named by its dotted path (`load_backend`).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

MAX_SEED = 2**63 - 1  # seeds are stored as a signed 64-bit integer
MAX_COUNT = 64


def _check_int(name: str, value: object, low: int, high: int | None = None) -> None:
    """Raise TypeError or ValueError. A bool is refused although it is an int in Python: `top_k=True` is a mistake."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    if value < low or (high is not None and value > high):
        limit = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} must be {limit}, got {value}.")


def _check_text(name: str, value: object, *, empty: bool = False) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, got {type(value).__name__}.")
    if not value and not empty:
        raise ValueError(f"{name} must not be empty.")


@dataclass(frozen=True, slots=True)
class Message:
    """One utterance; `speaker` is "A" (even positions, 0 = opening) or "B" in authored dialogues."""

    speaker: str
    text: str

    def __post_init__(self) -> None:
        _check_text("speaker", self.speaker)
        _check_text("text", self.text, empty=True)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn.

    top_k: tokens kept at every step; temperature: divides the logits; no_repeat_ngram_size: no n-gram of tokens
    twice within a reply, 0 = off; max_new_tokens: a reply is cut there.
    """

    top_k: int = 10
    temperature: float = 1.0
    no_repeat_ngram_size: int = 3
    max_new_tokens: int = 64

    def __post_init__(self) -> None:
        _check_int("top_k", self.top_k, 1)
        _check_int("no_repeat_ngram_size", self.no_repeat_ngram_size, 0)
        _check_int("max_new_tokens", self.max_new_tokens, 1, 4096)
        number = isinstance(self.temperature, int | float) and not isinstance(self.temperature, bool)
        if not number or not math.isfinite(self.temperature) or self.temperature <= 0:
            raise ValueError(f"temperature must be a number above 0, got {self.temperature!r}.")


@dataclass(frozen=True, slots=True)
class ReplyRequest:
    """`count` different replies of `speaker` to `context` (oldest utterance first).

    conversation: the dialogue's id, by which a backend may keep the encoded context for the next turn; it never changes
    the replies. seed: the first reply is drawn from it, the others from seeds derived from it. A reply requested alone
    with its own stored seed is the same again. persona: sentences about the speaker; a chat model gets them in its
    system prompt, another one as utterances before the context. scripts: of the letters that a reply may have (named as
    in `generation.scripts`); empty: any. A backend that cannot keep to them leaves that to its caller. spare: how many
    more replies may be returned for the caller to choose from; none of them is worth a second round.
    """

    conversation: str
    context: tuple[Message, ...]
    speaker: str
    seed: int
    count: int = 7
    sampling: Sampling = Sampling()
    persona: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    spare: int = 0

    def __post_init__(self) -> None:
        _check_text("conversation", self.conversation)
        _check_text("speaker", self.speaker)
        _check_int("seed", self.seed, 0, MAX_SEED)
        _check_int("count", self.count, 1, MAX_COUNT)
        _check_int("spare", self.spare, 0, MAX_COUNT)
        if not isinstance(self.context, tuple) or not all(isinstance(m, Message) for m in self.context):
            raise TypeError("context must be a tuple of Message.")
        if not isinstance(self.persona, tuple) or not all(isinstance(one, str) for one in self.persona):
            raise TypeError("persona must be a tuple of texts.")


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply with its provenance.

    tokens: number that the model wrote, without the end of the utterance. logprob: their summed log-probability in
    nats, with the end, under the model itself (temperature 1, no top-k); None if a server does not return it. score: of
    the preference head, None without one. warmth: factor on the temperature of the first tokens; above 1 if ordinary
    draws repeated each other.
    """

    text: str
    seed: int
    tokens: int
    logprob: float | None = None
    score: float | None = None
    warmth: float = 1.0


@dataclass(frozen=True, slots=True)
class ReplySet:
    """Different, non-empty replies, and a sentence for each missing one that says why it is missing."""

    replies: tuple[Reply, ...]
    failures: tuple[str, ...] = ()


class BackendError(Exception):
    """cause, remedy: sentences for a person. retryable: whether the same request may succeed a little later."""

    def __init__(self, cause: str, remedy: str, retryable: bool = False) -> None:
        super().__init__(cause, remedy, retryable)
        self.cause = cause
        self.remedy = remedy
        self.retryable = retryable

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}".strip()


def end_sentence(error: Exception) -> str:
    """What follows a sentence about the error: a colon and its message, if it has one, and a full stop."""
    message = str(error).strip().rstrip(".")
    return f": {message}." if message else "."


@runtime_checkable
class Backend(Protocol):
    """A source of replies. `version` (model id + revision or hash) is logged with every candidate."""

    @property
    def version(self) -> str: ...

    def check(self) -> None:
        """Raise BackendError if no reply can be generated right now."""
        ...

    def generate(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        """One answer per request, in the same order; a failed request does not fail the others."""
        ...

    def close(self) -> None:
        """Free memory and connections. The backend loads again at the next use."""
        ...


def load_backend(dotted_path: str, options: Mapping[str, Any]) -> Backend:
    """Build a backend, e.g. `load_backend("generation.backends.hf.HFBackend", {"model": "models/demo"})`.

    Raises BackendError for a path that is not a backend and for options that it does not accept.
    """
    module_name, _, class_name = dotted_path.rpartition(".")
    try:
        backend_class = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise BackendError(
            f"The backend {dotted_path!r} cannot be loaded: {error}.",
            "Name one of generation.backends.hf.HFBackend, generation.backends.openai.OpenAIBackend, "
            "generation.backends.scripted.ScriptedBackend, and install what it imports.",
        ) from error
    try:
        return cast(Backend, backend_class(**options))
    except (TypeError, ValueError) as error:
        raise BackendError(f"{class_name} does not take these options: {error}", "Correct them.") from error
