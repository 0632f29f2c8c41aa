"""Where the human reply ranks among the candidates shown (Diamante paper, Table 5)."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from measures.bootstrap import SEED, Floats, clustered_mean
from measures.estimate import Estimate


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """A turn's human reply and its displayed candidates with their scores, higher is better."""

    human: str
    human_score: float
    candidates: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Mean average precision, mean reciprocal rank, share of turns with the human reply first.

    With one human reply a turn, average precision is the reciprocal rank.
    """

    map: Estimate
    mrr: Estimate
    p_at_1: Estimate


def human_rank(turn: ScoredTurn) -> int | None:
    """1 for the best; a tie counts against the human reply. None when no other candidate is left.

    Candidates identical to the human reply are removed first. Raises ValueError for a score that is no number, or
    scores that do not fit the candidates.
    """
    pairs = list(zip(turn.candidates, turn.scores, strict=True))
    if any(math.isnan(score) for score in (turn.human_score, *turn.scores)):
        raise ValueError("A reply has no number as its score.")
    others = [score for text, score in pairs if text != turn.human]
    return 1 + sum(score >= turn.human_score for score in others) if others else None


def first_by_chance(turn: ScoredTurn) -> float | None:
    """Probability that the human reply comes first where ties are broken at random; None when nothing else is left.

    Fair to scores with few different values ("asks a question"), which would lose nearly every tie.
    """
    if human_rank(turn) is None:
        return None
    others = [score for text, score in zip(turn.candidates, turn.scores, strict=True) if text != turn.human]
    best = max(others)
    return float(turn.human_score > best) if turn.human_score != best else 1 / (1 + others.count(best))


def rank_humans(
    turns: Sequence[ScoredTurn], clusters: Sequence[Hashable] | None = None, *, seed: int = SEED
) -> Ranking:
    """MAP, MRR and P@1; turns without another candidate are left out.

    Intervals by drawing clusters (the dialogue of each turn), or turns where none are given.
    """
    ranked = _ranked(turns, clusters)
    mrr, p_at_1 = (
        clustered_mean(values, ranked.clusters, seed=seed, left_out=ranked.left_out)
        for values in (ranked.reciprocal, ranked.first)
    )
    return Ranking(map=mrr, mrr=mrr, p_at_1=p_at_1)


def rank_difference(
    one: Sequence[ScoredTurn],
    other: Sequence[ScoredTurn],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = SEED,
) -> Ranking:
    """By how much `one` is above `other`, the same turns with other scores; paired, so that the interval is of the
    difference. Raises ValueError for other turns."""
    if [(turn.human, turn.candidates) for turn in one] != [(turn.human, turn.candidates) for turn in other]:
        raise ValueError("A difference needs the same turns with the same candidates.")
    mine, theirs = _ranked(one, clusters), _ranked(other, clusters)
    mrr, p_at_1 = (
        clustered_mean(values, mine.clusters, seed=seed, left_out=mine.left_out)
        for values in (mine.reciprocal - theirs.reciprocal, mine.first - theirs.first)
    )
    return Ranking(map=mrr, mrr=mrr, p_at_1=p_at_1)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Of every turn that can be ranked: 1 / rank, 1 where the human reply is first, and its cluster."""

    reciprocal: Floats
    first: Floats
    clusters: Sequence[Hashable]
    left_out: int


def _ranked(turns: Sequence[ScoredTurn], clusters: Sequence[Hashable] | None) -> _Ranked:
    of: Sequence[Hashable] = range(len(turns)) if clusters is None else clusters
    ranks = [(human_rank(turn), cluster) for turn, cluster in zip(turns, of, strict=True)]
    kept = [(rank, cluster) for rank, cluster in ranks if rank is not None]
    found = np.array([rank for rank, _ in kept], np.float64)
    return _Ranked(
        1 / found, (found == 1).astype(np.float64), [cluster for _, cluster in kept], len(ranks) - len(kept)
    )


def pairwise_accuracy(
    better: Sequence[float],
    worse: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = SEED,
) -> Estimate:
    """Share of pairs whose better reply (human > model, human > random, model > random) scores higher; a tie is wrong.

    clusters: the dialogue of each pair, drawn as a whole. Raises ValueError for unequal lengths or a score that is no
    number.
    """
    one, other = np.array(better, np.float64), np.array(worse, np.float64)
    if one.shape != other.shape or np.isnan(one).any() or np.isnan(other).any():
        raise ValueError("Every pair needs two scores.")
    return clustered_mean(
        (one > other).astype(np.float64), range(one.size) if clusters is None else clusters, seed=seed
    )
