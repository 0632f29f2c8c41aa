"""Overlap with what a person wrote in the reply's place, computed by libraries.

BLEU and chrF: sacrebleu (Post, 2018), 0 to 100. ROUGE-L: rouge-score (Lin, 2004), 0 to 1. A conversation can continue
in many ways, so that such scores say little about a single reply (Liu et al., 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from preference.training.common.evaluators import ReplyScore, ReplyToScore
from preference.training.common.messages import gettext as _
from preference.training.evaluators.single import score_each
from preference.training.evaluators.words import is_chinese, split_words


@dataclass(frozen=True, slots=True)
class Bleu:
    """Sentence BLEU up to n-grams of `order`, smoothed (sacrebleu's `exp`), with the orders that the texts have.

    Chinese is cut into characters (sacrebleu's tokenizer `zh`), other languages by `13a`; the reference decides.
    """

    name: str
    order: int = 4

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        return score_each(replies, self._score)

    def describe(self) -> dict[str, Any]:
        signatures = {name: str(_bleu(name, self.order).get_signature()) for name in ("13a", "zh")}
        return {"evaluator": "bleu", "order": self.order, "signatures": signatures}

    def _score(self, reply: ReplyToScore) -> float | str:
        if not reply.reference:
            return _missing_reference()
        metric = _bleu("zh" if is_chinese(reply.reference) else "13a", self.order)
        return float(metric.sentence_score(reply.response, [reply.reference]).score)


@dataclass(frozen=True, slots=True)
class ChrF:
    """chrF2: F-score of character n-grams up to 6 (Popović, 2015); needs no words."""

    name: str

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        return score_each(replies, self._score)

    def describe(self) -> dict[str, Any]:
        return {"evaluator": "chrf", "signature": str(_chrf().get_signature())}

    def _score(self, reply: ReplyToScore) -> float | str:
        if not reply.reference:
            return _missing_reference()
        return float(_chrf().sentence_score(reply.response, [reply.reference]).score)


@dataclass(frozen=True, slots=True)
class RougeL:
    """F-score of the longest common subsequence of words.

    The library's own tokenizer drops everything that is not Latin, so words are split by `words.split_words`.
    """

    name: str

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        return score_each(replies, self._score)

    def describe(self) -> dict[str, Any]:
        return {"evaluator": "rouge_l", "version": version("rouge-score")}

    def _score(self, reply: ReplyToScore) -> float | str:
        if not reply.reference:
            return _missing_reference()
        return float(_rouge().score(reply.reference, reply.response)["rougeL"].fmeasure)


class _Words:
    """The interface of rouge-score's tokenizers."""

    def tokenize(self, text: str) -> list[str]:
        return split_words(text)


@cache
def _bleu(tokenizer: str, order: int) -> BLEU:
    # get_signature() describes a metric only after its first score.
    metric = BLEU(tokenize=tokenizer, max_ngram_order=order, effective_order=True)
    metric.sentence_score("", [""])
    return metric


@cache
def _chrf() -> CHRF:
    metric = CHRF()
    metric.sentence_score("", [""])
    return metric


@cache
def _rouge() -> Any:
    # Imported here because it loads nltk, which takes seconds.
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], tokenizer=_Words())


def _missing_reference() -> str:
    return _("The row has no reference.")
