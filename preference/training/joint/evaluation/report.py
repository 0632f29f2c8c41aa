"""From the scores of turns to the figures of an evaluation, as plain JSON values.

Every estimate is {"value", "low", "high", "n"}: the figure, its 95 % interval from a bootstrap over whole dialogues,
and the count it rests on; value is None if there is nothing to estimate from.

In a turn the human reply is the only relevant one among itself and the displayed candidates. With its rank r, counted
from 1, average precision and reciprocal rank are both 1 / r, and P@1 is 1 if r = 1, else 0 (Diamante, section 4.3.1 and
Table 5). Where displayed copies of the human reply (selected candidates) are kept as relevant, MAP is above MRR.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from measures.bootstrap import clustered_mean, clustered_ratio
from measures.estimate import Estimate
from measures.ranking import (
    Ranking,
    ScoredTurn,
    first_by_chance,
    pairwise_accuracy,
    rank_difference,
    rank_humans,
)
from preference.training.common.dialogues import TrainingDialogue
from preference.training.joint.evaluation.scoring import ScoredReply, TurnScores

Figures = dict[str, Any]


class ReplyText(Protocol):
    @property
    def text(self) -> str: ...


Reply = TypeVar("Reply", bound=ReplyText)
Reply_co = TypeVar("Reply_co", bound=ReplyText, covariant=True)


class RankedTurn(Protocol[Reply_co]):
    """dialogue: index among the scored ones. random: a reply of another dialogue, None if there is no other.

    copies: of the human reply among what was displayed that count as relevant; they are not among the candidates.
    """

    @property
    def copies(self) -> int: ...
    @property
    def dialogue(self) -> int: ...
    @property
    def human(self) -> Reply_co: ...
    @property
    def candidates(self) -> Sequence[Reply_co]: ...
    @property
    def random(self) -> Reply_co | None: ...


# What a ranking should beat, from the text alone.
TEXT_BASELINES: Mapping[str, Callable[[ReplyText], float]] = {
    "chance": lambda reply: 0.0,
    "longest": lambda reply: float(len(reply.text)),
    "shortest": lambda reply: -float(len(reply.text)),
    "question": lambda reply: float(any(mark in reply.text for mark in "?？")),
}


def improbable(reply: ScoredReply) -> float:
    """Reverses generation: high for the reply that the model finds least likely."""
    return -reply.mean_logprob


BASELINES: Mapping[str, Callable[[ScoredReply], float]] = {**TEXT_BASELINES, "improbable": improbable}


def preference(reply: ScoredReply) -> float:
    """s(c, r), the value of the head: a number of any size, comparable within a turn only."""
    return reply.preference


def mean_logprob(reply: ScoredReply) -> float:
    """log p(r | c) / |r|, in nats per token: what the paper calls generation probability, independent of length."""
    return reply.mean_logprob


def sum_logprob(reply: ScoredReply) -> float:
    """log p(r | c), in nats: the probability of the whole reply, which favours short ones."""
    return reply.logprob


def build_report(
    scores: Sequence[TurnScores], dialogues: Sequence[TrainingDialogue], *, has_head: bool, seed: int
) -> Figures:
    """Figures `overall`, and the same `by_domain`, `by_language` and `by_action`, the largest group first.

    dialogues: those that TurnScores.dialogue indexes. has_head: whether preference scores mean anything. seed: of the
    bootstrap.
    """

    def grouped(key: Callable[[TurnScores], str]) -> dict[str, Figures]:
        groups: dict[str, list[TurnScores]] = {}
        for turn in scores:
            groups.setdefault(key(turn), []).append(turn)
        ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
        return {name: figures(group, has_head=has_head, seed=seed) for name, group in ordered}

    return {
        "n_dialogues": len({turn.dialogue for turn in scores}),
        "n_turns": len(scores),
        "overall": figures(scores, has_head=has_head, seed=seed),
        "by_domain": grouped(lambda turn: dialogues[turn.dialogue].domain),
        "by_language": grouped(lambda turn: dialogues[turn.dialogue].language),
        "by_action": grouped(lambda turn: turn.turn.action),
    }


def figures(scores: Sequence[TurnScores], *, has_head: bool, seed: int) -> Figures:
    """All figures of some turns.

    `preference` ranks by the head, `generation` by log-probability per token, `generation_sum` by that of the whole
    reply; `difference` is preference minus generation, paired by turn.
    """
    dialogues: list[Hashable] = [turn.dialogue for turn in scores]
    result: Figures = {"n_turns": len(scores), "n_dialogues": len(set(dialogues))}
    generation = scored_turns(scores, mean_logprob)
    if has_head:
        preferred = scored_turns(scores, preference)
        result["preference"] = ranking_figures(rank_humans(preferred, dialogues, seed=seed))
    result["generation"] = ranking_figures(rank_humans(generation, dialogues, seed=seed))
    result["generation_sum"] = ranking_figures(
        rank_humans(scored_turns(scores, sum_logprob), dialogues, seed=seed)
    )
    if has_head:
        result["difference"] = ranking_figures(rank_difference(preferred, generation, dialogues, seed=seed))
        result["pairs"] = pair_accuracies(scores, preference, seed)
    result["generation_pairs"] = pair_accuracies(scores, mean_logprob, seed)
    result["baselines"] = {
        name: baseline_precision(scores, score_of, seed).as_dict() for name, score_of in BASELINES.items()
    }
    return result | _likelihood(scores, seed)


def scored_turns(scores: Sequence[RankedTurn[Reply]], score_of: Callable[[Reply], float]) -> list[ScoredTurn]:
    """The turns as `measures.ranking` takes them, with one kind of score."""
    return [
        ScoredTurn(
            turn.human.text,
            score_of(turn.human),
            tuple(reply.text for reply in turn.candidates),
            tuple(score_of(reply) for reply in turn.candidates),
            turn.copies,
        )
        for turn in scores
    ]


def ranking_figures(ranking: Ranking) -> Figures:
    """The three measures of one ranking as JSON values."""
    return {"map": ranking.map.as_dict(), "mrr": ranking.mrr.as_dict(), "p_at_1": ranking.p_at_1.as_dict()}


def baseline_precision(
    scores: Sequence[RankedTurn[Reply]], score_of: Callable[[Reply], float], seed: int
) -> Estimate:
    """P@1 with ties broken at random, because such scores have many.

    Counted against the human reply, ties would give the baseline `chance` a precision of 0 instead of 1 / replies.
    """
    firsts = [
        (first, turn.dialogue)
        for turn, scored in zip(scores, scored_turns(scores, score_of), strict=True)
        if (first := first_by_chance(scored)) is not None
    ]
    return clustered_mean(
        np.array([first for first, _ in firsts]), [dialogue for _, dialogue in firsts], seed=seed
    )


def pair_accuracies(
    scores: Sequence[RankedTurn[Reply]], score_of: Callable[[Reply], float], seed: int
) -> Figures:
    """Accuracy of pairs: human above every candidate, human above random, every candidate above random."""
    kinds: dict[str, list[tuple[float, float, int]]] = {
        "human_model": [],
        "human_random": [],
        "model_random": [],
    }
    for turn in scores:
        human, candidates = score_of(turn.human), [score_of(reply) for reply in turn.candidates]
        kinds["human_model"] += [(human, score, turn.dialogue) for score in candidates]
        if turn.random:
            random = score_of(turn.random)
            kinds["human_random"].append((human, random, turn.dialogue))
            kinds["model_random"] += [(score, random, turn.dialogue) for score in candidates]
    return {
        name: pairwise_accuracy(
            [better for better, _, _ in pairs],
            [worse for _, worse, _ in pairs],
            [dialogue for *_, dialogue in pairs],
            seed=seed,
        ).as_dict()
        for name, pairs in kinds.items()
    }


def _likelihood(scores: Sequence[TurnScores], seed: int) -> Figures:
    """Likelihood of the human replies; n counts replies.

    nll = -Σ log p(h | c) / Σ |h| in nats per token, over all turns: a ratio of sums, as in training, so that long
    replies weigh more than short ones. perplexity = exp(nll); exp is monotonic, so the interval's ends map alike.
    """
    nll = clustered_ratio(
        np.array([-turn.human.logprob for turn in scores]),
        np.array([float(turn.human.tokens) for turn in scores]),
        [turn.dialogue for turn in scores],
        seed=seed,
    ).as_dict()
    perplexity = {
        name: value if name == "n" or value is None else math.exp(value) for name, value in nll.items()
    }
    return {"nll": nll, "perplexity": perplexity}
