"""Scores that know nothing about quality: an evaluator that does not beat them has learned nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from preference.training.common.evaluators import ReplyScore, ReplyToScore
from preference.training.common.messages import gettext as _
from preference.training.evaluators.single import score_each
from preference.training.evaluators.words import split_words


@dataclass(frozen=True, slots=True)
class Length:
    """The length of the response, in characters or in words (a Chinese character is a word)."""

    name: str
    unit: Literal["characters", "words"] = "characters"

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        return score_each(replies, lambda reply: float(len(self._parts(reply.response))))

    def describe(self) -> dict[str, Any]:
        return {"evaluator": "length", "unit": self.unit}

    def _parts(self, text: str) -> str | list[str]:
        return text if self.unit == "characters" else split_words(text)


@dataclass(frozen=True, slots=True)
class Distinct:
    """distinct-n: different n-grams of words divided by all of them, within the response (Li et al., 2016)."""

    name: str
    n: int = 2

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        return score_each(replies, self._share)

    def describe(self) -> dict[str, Any]:
        return {"evaluator": "distinct", "n": self.n}

    def _share(self, reply: ReplyToScore) -> float | str:
        words = split_words(reply.response)
        grams = [tuple(words[start : start + self.n]) for start in range(len(words) - self.n + 1)]
        if not grams:
            return _("The response has fewer than %(n)s words.") % {"n": self.n}
        return len(set(grams)) / len(grams)


@dataclass(frozen=True, slots=True)
class Random:
    """A number between 0 and 1 drawn from the seed and the reply's id, whatever else is in the batch."""

    name: str
    seed: int = 1

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        return score_each(replies, self._draw)

    def describe(self) -> dict[str, Any]:
        return {"evaluator": "random", "seed": self.seed}

    def _draw(self, reply: ReplyToScore) -> float:
        digest = hashlib.blake2b(f"{self.seed}/{reply.id}".encode(), digest_size=6).digest()
        return int.from_bytes(digest, "big") / 2**48
