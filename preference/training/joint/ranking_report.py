"""From the scores of turns to the figures of an evaluation, as plain JSON values."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

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
from preference.training.joint.data import TrainingDialogue
from preference.training.joint.scoring import ReplyScore, TurnScores

Figures = dict[str, Any]
Scoring = Callable[[ReplyScore], float]

# What a ranking should beat. `improbable` is the reverse of generation: what the model would rather not say.
BASELINES: Mapping[str, Scoring] = {
    "chance": lambda reply: 0.0,
    "longest": lambda reply: float(len(reply.text)),
    "shortest": lambda reply: -float(len(reply.text)),
    "question": lambda reply: float(any(mark in reply.text for mark in "?？")),
    "improbable": lambda reply: -reply.mean_logprob,
}


def preference(reply: ReplyScore) -> float:
    return reply.preference


def mean_logprob(reply: ReplyScore) -> float:
    return reply.mean_logprob


def sum_logprob(reply: ReplyScore) -> float:
    return reply.logprob


def report(
    scores: Sequence[TurnScores], dialogues: Sequence[TrainingDialogue], *, has_head: bool, seed: int
) -> Figures:
    """`overall`, and the same figures `by_domain`, `by_language` and `by_action`, the largest group first."""

    def grouped(key: Callable[[TurnScores], str]) -> dict[str, Figures]:
        groups: dict[str, list[TurnScores]] = {}
        for one in scores:
            groups.setdefault(key(one), []).append(one)
        ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
        return {name: figures(group, has_head=has_head, seed=seed) for name, group in ordered}

    return {
        "n_dialogues": len({one.dialogue for one in scores}),
        "n_turns": len(scores),
        "overall": figures(scores, has_head=has_head, seed=seed),
        "by_domain": grouped(lambda one: dialogues[one.dialogue].domain),
        "by_language": grouped(lambda one: dialogues[one.dialogue].language),
        "by_action": grouped(lambda one: one.turn.action),
    }


def figures(scores: Sequence[TurnScores], *, has_head: bool, seed: int) -> Figures:
    """Of some turns. `generation` ranks by log-probability a token, `generation_sum` by that of the whole reply;
    `difference` is preference minus generation, paired by turn."""
    dialogues: list[Hashable] = [one.dialogue for one in scores]
    made: Figures = {"n_turns": len(scores), "n_dialogues": len(set(dialogues))}
    generation = scored_turns(scores, mean_logprob)
    if has_head:
        preferred = scored_turns(scores, preference)
        made["preference"] = _ranking(rank_humans(preferred, dialogues, seed=seed))
    made["generation"] = _ranking(rank_humans(generation, dialogues, seed=seed))
    made["generation_sum"] = _ranking(rank_humans(scored_turns(scores, sum_logprob), dialogues, seed=seed))
    if has_head:
        made["difference"] = _ranking(rank_difference(preferred, generation, dialogues, seed=seed))
        made["pairs"] = _pairs(scores, preference, seed)
    made["generation_pairs"] = _pairs(scores, mean_logprob, seed)
    made["baselines"] = {name: _baseline(scores, by, seed).as_dict() for name, by in BASELINES.items()}
    return made | _likelihood(scores, seed)


def scored_turns(scores: Sequence[TurnScores], by: Scoring) -> list[ScoredTurn]:
    return [
        ScoredTurn(
            one.human.text,
            by(one.human),
            tuple(reply.text for reply in one.candidates),
            tuple(by(reply) for reply in one.candidates),
        )
        for one in scores
    ]


def _ranking(found: Ranking) -> Figures:
    return {"map": found.map.as_dict(), "mrr": found.mrr.as_dict(), "p_at_1": found.p_at_1.as_dict()}


def _baseline(scores: Sequence[TurnScores], by: Scoring, seed: int) -> Estimate:
    """P@1 with ties broken at random, since such scores have many."""
    firsts = [
        (first, one.dialogue)
        for one, turn in zip(scores, scored_turns(scores, by), strict=True)
        if (first := first_by_chance(turn)) is not None
    ]
    return clustered_mean(np.array([first for first, _ in firsts]), [of for _, of in firsts], seed=seed)


def _pairs(scores: Sequence[TurnScores], by: Scoring, seed: int) -> Figures:
    """Human above every candidate, human above random, every candidate above random."""
    kinds: dict[str, list[tuple[float, float, int]]] = {
        "human_model": [],
        "human_random": [],
        "model_random": [],
    }
    for one in scores:
        human, candidates = by(one.human), [by(reply) for reply in one.candidates]
        kinds["human_model"] += [(human, score, one.dialogue) for score in candidates]
        if one.random:
            other = by(one.random)
            kinds["human_random"].append((human, other, one.dialogue))
            kinds["model_random"] += [(score, other, one.dialogue) for score in candidates]
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
    """Of the human replies: nats a token, and their exponential. n counts replies."""
    found = clustered_ratio(
        np.array([-one.human.logprob for one in scores]),
        np.array([float(one.human.tokens) for one in scores]),
        [one.dialogue for one in scores],
        seed=seed,
    ).as_dict()
    perplexity = {
        name: value if name == "n" or value is None else math.exp(value) for name, value in found.items()
    }
    return {"nll": found, "perplexity": perplexity}
