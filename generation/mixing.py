"""Candidates of two models in one set, so that people compare the models while they work.

Blind and balanced: of seven candidates one model writes four and the other three; the request's seed decides which. A
text that both wrote is credited to the model that the seed draws, and the other model writes another one, so that
neither gains from what both would say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random

from django.utils.translation import gettext_noop

from generation.backends.replies import child_seed, reply_key
from generation.protocol import BackendError, Reply, ReplyRequest, ReplySet

ROUNDS = 2  # extra requests to a model for texts that replace those that both wrote
# Distance between the models' seeds: a model and its parent would write nearly the same from one seed.
SEED_DISTANCE = 1 << 20
SAME_TEXT = gettext_noop("Both models wrote the same replies.")

Answer = ReplySet | BackendError
Ask = Callable[[Sequence[ReplyRequest]], tuple[str, Sequence[Answer]]]
"""Sends requests to one model; returns its version ("" if it could not be used) and an answer for each."""


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The replies to a request.

    models: versions of the first and the second model, "" for one that could not be used. versions: the version of the
    model that wrote each reply. Both are empty if one model wrote all of them; `version` is then that model's.
    """

    replies: tuple[Reply, ...]
    failures: tuple[str, ...]
    version: str = ""
    models: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


def shares(count: int, seed: int) -> tuple[int, int]:
    """How many candidates each model writes; an odd one goes to the first model for half of all seeds."""
    half, odd = divmod(count, 2)
    more = seed % 2 * odd
    return half + odd - more, half + more


def mix_candidates(
    requests: Sequence[ReplyRequest], models: tuple[Ask, Ask]
) -> list[CandidateResult | BackendError]:
    """An answer for each request, in the same order; a model that fails leaves the other's candidates."""
    mixtures = [_MixedReplies(request) for request in requests]
    versions = ["", ""]
    for round in range(1 + ROUNDS):
        fresh: list[list[list[Reply]]] = [[[], []] for _ in mixtures]
        for model, ask in enumerate(models):
            wanting = [index for index, replies in enumerate(mixtures) if replies.missing_count(model)]
            if not wanting:
                continue
            version, answers = ask([mixtures[index].request_to(model, round) for index in wanting])
            versions[model] = versions[model] or version
            for index, answer in zip(wanting, answers, strict=True):
                fresh[index][model] = mixtures[index].read(model, answer)
        for replies, (first, second) in zip(mixtures, fresh, strict=True):
            replies.take(first, second)
    return [replies.result((versions[0], versions[1])) for replies in mixtures]


class _MixedReplies:
    """The replies to one request, as they come in from both models."""

    def __init__(self, request: ReplyRequest) -> None:
        self._request = request
        self._shares = shares(request.count, request.seed)
        # Not the bare seed, which also draws the displayed order: credit and order must be independent.
        self._coin = Random(f"coin {request.seed}")
        self._kept: tuple[dict[str, Reply], dict[str, Reply]] = ({}, {})
        self._reasons: list[str] = []
        self._errors: list[BackendError] = []
        self._missing = list(self._shares)

    def missing_count(self, model: int) -> int:
        """How many texts the model still has to write; 0 after it failed to deliver some."""
        return self._missing[model]

    def request_to(self, model: int, round: int) -> ReplyRequest:
        seed = child_seed(self._request.seed, model * SEED_DISTANCE + round * (SEED_DISTANCE >> 4))
        # Models repeat what they wrote in the round before: ask for two more than are missing.
        count = self._missing[model] if round == 0 else self._missing[model] + 2
        return replace(self._request, seed=seed, count=count)

    def read(self, model: int, answer: Answer) -> list[Reply]:
        missing = self._missing[model]
        if isinstance(answer, ReplySet):
            self._reasons += answer.failures[: max(0, missing - len(answer.replies))]
            self._missing[model] = min(missing, len(answer.replies))
            return list(answer.replies)
        self._reasons += [answer.cause] * missing
        self._errors.append(answer)
        self._missing[model] = 0
        return []

    def take(self, *fresh: Sequence[Reply]) -> None:
        """Keep new texts; a coin decides which model gets the credit for a text that both wrote."""
        seen_keys = {*self._kept[0], *self._kept[1]}
        new: list[dict[str, Reply]] = [{}, {}]
        for texts, replies in zip(new, fresh, strict=True):
            for reply in replies:
                if (key := reply_key(reply.text)) not in seen_keys:
                    texts.setdefault(key, reply)
        for key in sorted(new[0].keys() & new[1].keys()):
            del new[self._coin.randrange(2)][key]
        for model in (0, 1):
            kept = dict(islice(new[model].items(), self._missing[model]))
            self._kept[model].update(kept)
            self._missing[model] -= len(kept)

    def result(self, models: tuple[str, str]) -> CandidateResult | BackendError:
        replies = [(reply, models[model]) for model in (0, 1) for reply in self._kept[model].values()]
        if not replies:
            passing = [error for error in self._errors if error.retryable]
            return (passing or self._errors)[0]
        reasons = [*self._reasons, *[SAME_TEXT] * sum(self._missing)]
        return CandidateResult(
            tuple(reply for reply, _ in replies),
            tuple(reasons),
            models=models,
            versions=tuple(version for _, version in replies),
        )
