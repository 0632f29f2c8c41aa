"""Candidates of two models in one set, so that people compare the models while they work.

Blind and balanced: of seven, four are of one model and three of the other, and the request's seed says whose are four.
A text that both wrote counts for the model that the seed draws, and the other is asked for another one; so neither
gains from what both would say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random

from django.utils.translation import gettext_noop

from generation.backends.replies import child_seed, reply_key
from generation.protocol import BackendError, Reply, ReplyRequest, ReplySet

ROUNDS = 2  # how often a model is asked for texts in place of those that both wrote
# Two models that are parent and child would draw alike from one seed.
APART = 1 << 20
SAME_TEXT = gettext_noop("Both models wrote the same replies.")

Answer = ReplySet | BackendError
Ask = Callable[[Sequence[ReplyRequest]], tuple[str, Sequence[Answer]]]
"""Requests to one model: its version ("" where it could not be used), and an answer for each."""


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """What came of a request. models: versions of the first and the second model, "" for one that could not be used;
    versions: of every reply its model's. Both are empty where one model wrote all, which is `version`."""

    replies: tuple[Reply, ...]
    failures: tuple[str, ...]
    version: str = ""
    models: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


def shares(count: int, seed: int) -> tuple[int, int]:
    """How many candidates each model writes; the odd one goes to either in half of all seeds."""
    half, odd = divmod(count, 2)
    more = seed % 2 * odd
    return half + odd - more, half + more


def mixed(asked: Sequence[ReplyRequest], models: tuple[Ask, Ask]) -> list[CandidateResult | BackendError]:
    """An answer for each request, in the same order; a model that fails leaves the other's candidates."""
    mixtures = [_Mixture(request) for request in asked]
    versions = ["", ""]
    for round in range(1 + ROUNDS):
        fresh: list[list[list[Reply]]] = [[[], []] for _ in mixtures]
        for model, ask in enumerate(models):
            wanting = [index for index, one in enumerate(mixtures) if one.lacks(model)]
            if not wanting:
                continue
            version, answers = ask([mixtures[index].request_to(model, round) for index in wanting])
            versions[model] = versions[model] or version
            for index, answer in zip(wanting, answers, strict=True):
                fresh[index][model] = mixtures[index].read(model, answer)
        for one, (first, second) in zip(mixtures, fresh, strict=True):
            one.take(first, second)
    return [one.result((versions[0], versions[1])) for one in mixtures]


class _Mixture:
    """The replies to one request, as they come in from both models."""

    def __init__(self, request: ReplyRequest) -> None:
        self._request = request
        self._shares = shares(request.count, request.seed)
        # Not the seed alone, which also draws the places: who keeps a text must not tell where others stand.
        self._coin = Random(f"coin {request.seed}")
        self._kept: tuple[dict[str, Reply], dict[str, Reply]] = ({}, {})
        self._reasons: list[str] = []
        self._errors: list[BackendError] = []
        self._lacking = list(self._shares)

    def lacks(self, model: int) -> int:
        """How many texts the model is to be asked for; none that it said it cannot write."""
        return self._lacking[model]

    def request_to(self, model: int, round: int) -> ReplyRequest:
        seed = child_seed(self._request.seed, model * APART + round * (APART >> 4))
        # What both wrote once they will write again: a few more than are lacking.
        count = self._lacking[model] if round == 0 else self._lacking[model] + 2
        return replace(self._request, seed=seed, count=count)

    def read(self, model: int, answer: Answer) -> list[Reply]:
        lacking = self._lacking[model]
        if isinstance(answer, ReplySet):
            self._reasons += answer.failures[: max(0, lacking - len(answer.replies))]
            self._lacking[model] = min(lacking, len(answer.replies))
            return list(answer.replies)
        self._reasons += [answer.cause] * lacking
        self._errors.append(answer)
        self._lacking[model] = 0
        return []

    def take(self, *fresh: Sequence[Reply]) -> None:
        """Keep what is new; where both wrote the same, the coin says whose it is."""
        known = {*self._kept[0], *self._kept[1]}
        new: list[dict[str, Reply]] = [{}, {}]
        for texts, replies in zip(new, fresh, strict=True):
            for reply in replies:
                if (key := reply_key(reply.text)) not in known:
                    texts.setdefault(key, reply)
        for key in sorted(new[0].keys() & new[1].keys()):
            del new[self._coin.randrange(2)][key]
        for model in (0, 1):
            kept = dict(islice(new[model].items(), self._lacking[model]))
            self._kept[model].update(kept)
            self._lacking[model] -= len(kept)

    def result(self, models: tuple[str, str]) -> CandidateResult | BackendError:
        replies = [(reply, models[model]) for model in (0, 1) for reply in self._kept[model].values()]
        if not replies:
            passing = [error for error in self._errors if error.retryable]
            return (passing or self._errors)[0]
        reasons = [*self._reasons, *[SAME_TEXT] * sum(self._lacking)]
        return CandidateResult(
            tuple(reply for reply, _ in replies),
            tuple(reasons),
            models=models,
            versions=tuple(version for _, version in replies),
        )
