"""A short dialogue, requests for its replies, and what is read from the answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from generation.backends.hf import HFBackend
from generation.protocol import BackendError, Message, Reply, ReplyRequest, ReplySet, Sampling

Model = Callable[..., Path]
TALK = (
    Message("A", "Hello there, how are you today?"),
    Message("B", "I am fine, thank you."),
    Message("A", "What do you do at the weekend? 你喜欢喝茶吗？"),
    Message("B", "I like tea and long walks in the rain."),
    Message("A", "Me too!"),
)
GREEDY = Sampling(top_k=1, no_repeat_ngram_size=0, max_new_tokens=12)
SHORT = Sampling(max_new_tokens=8)


def talk(
    length: int = 3,
    *,
    conversation: str = "d1",
    seed: int = 5,
    count: int = 7,
    sampling: Sampling = SHORT,
) -> ReplyRequest:
    context = TALK[:length]
    return ReplyRequest(conversation, context, "B" if length % 2 else "A", seed, count, sampling)


def had(answer: ReplySet | BackendError) -> tuple[Reply, ...]:
    assert isinstance(answer, ReplySet), answer
    return answer.replies


def texts(answer: ReplySet | BackendError) -> list[str]:
    return [reply.text for reply in had(answer)]


def tokens_of(backend: HFBackend, request: ReplyRequest, budget: int = 384) -> list[int]:
    return backend._load().renderer.render(request.context, request.speaker, budget)
