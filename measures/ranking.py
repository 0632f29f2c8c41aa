"""The rank of the human reply among the candidates shown (Diamante paper, Table 5)."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from measures.bootstrap import SEED, Floats, clustered_mean
from measures.estimate import Estimate


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """A turn's human reply and displayed candidates with their scores; higher is better.

    copies: how many more candidates were identical to the human reply and count as relevant, too.
    """

    human: str
    human_score: float
    candidates: tuple[str, ...]
    scores: tuple[float, ...]
    copies: int = 0


@dataclass(frozen=True, slots=True)
class Ranking:
    """Mean average precision, mean reciprocal rank, and the share of turns that rank the human reply first.

    Average precision equals the reciprocal rank where the human reply is the only relevant one. Where copies of it are
    relevant, too, it is higher, unless all of them come first.
    """

    map: Estimate
    mrr: Estimate
    p_at_1: Estimate


def human_rank(turn: ScoredTurn) -> int | None:
    """The human reply's rank, from 1; a tie counts against it. None without another candidate.

    Candidates identical to the human reply are removed first. Raises ValueError for a score that is NaN, or if scores
    and candidates differ in length.
    """
    pairs = list(zip(turn.candidates, turn.scores, strict=True))
    if any(math.isnan(score) for score in (turn.human_score, *turn.scores)):
        raise ValueError("The score of a reply is not a number.")
    others = [score for text, score in pairs if text != turn.human]
    return 1 + sum(score >= turn.human_score for score in others) if others else None


def first_by_chance(turn: ScoredTurn) -> float | None:
    """The probability that the human reply ranks first if ties are broken at random; None without another candidate.

    Fair to scores with few distinct values ("asks a question"), which would otherwise lose nearly every tie.
    """
    if human_rank(turn) is None:
        return None
    others = [score for text, score in zip(turn.candidates, turn.scores, strict=True) if text != turn.human]
    best = max(others)
    return float(turn.human_score > best) if turn.human_score != best else 1 / (1 + others.count(best))


def rank_humans(
    turns: Sequence[ScoredTurn], clusters: Sequence[Hashable] | None = None, *, seed: int = SEED
) -> Ranking:
    """MAP, MRR and P@1. Turns without another candidate are left out.

    Intervals resample clusters (the dialogue of each turn), or turns if `clusters` is None.
    """
    ranked = _ranked(turns, clusters)
    return Ranking(
        *(
            clustered_mean(values, ranked.clusters, seed=seed, left_out=ranked.left_out)
            for values in (ranked.average_precision, ranked.reciprocal, ranked.first)
        )
    )


def rank_difference(
    one: Sequence[ScoredTurn],
    other: Sequence[ScoredTurn],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = SEED,
) -> Ranking:
    """The difference in MAP, MRR and P@1 between two scorings of the same turns.

    Paired, so the interval is that of the difference. Raises ValueError if the turns differ.
    """
    if [(turn.human, turn.candidates) for turn in one] != [(turn.human, turn.candidates) for turn in other]:
        raise ValueError("A difference needs the same turns with the same candidates.")
    mine, theirs = _ranked(one, clusters), _ranked(other, clusters)
    return Ranking(
        *(
            clustered_mean(values, mine.clusters, seed=seed, left_out=mine.left_out)
            for values in (
                mine.average_precision - theirs.average_precision,
                mine.reciprocal - theirs.reciprocal,
                mine.first - theirs.first,
            )
        )
    )


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Of every turn with a rank: average precision, 1 / rank, whether the human reply is first (1 or 0), cluster."""

    average_precision: Floats
    reciprocal: Floats
    first: Floats
    clusters: Sequence[Hashable]
    left_out: int


def _ranked(turns: Sequence[ScoredTurn], clusters: Sequence[Hashable] | None) -> _Ranked:
    of: Sequence[Hashable] = range(len(turns)) if clusters is None else clusters
    ranks = [(human_rank(turn), turn, cluster) for turn, cluster in zip(turns, of, strict=True)]
    kept = [(rank, turn, cluster) for rank, turn, cluster in ranks if rank is not None]
    found = np.array([rank for rank, _, _ in kept], np.float64)
    return _Ranked(
        np.array([average_precision(rank, 1 + turn.copies) for rank, turn, _ in kept], np.float64),
        1 / found,
        (found == 1).astype(np.float64),
        [cluster for *_, cluster in kept],
        len(ranks) - len(kept),
    )


def average_precision(rank: int, relevant: int) -> float:
    """Of `relevant` replies at the places rank, rank + 1, …; identical texts have one score, so they stand together."""
    return sum(found / (rank + found - 1) for found in range(1, relevant + 1)) / relevant


def pairwise_accuracy(
    better: Sequence[float],
    worse: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = SEED,
) -> Estimate:
    """The share of pairs whose better reply (human > model > random) has the higher score; a tie is wrong.

    clusters: the dialogue of each pair, resampled as a whole. Raises ValueError for unequal lengths or a NaN score.
    """
    one, other = np.array(better, np.float64), np.array(worse, np.float64)
    if one.shape != other.shape or np.isnan(one).any() or np.isnan(other).any():
        raise ValueError("Every pair needs two scores.")
    return clustered_mean(
        (one > other).astype(np.float64), range(one.size) if clusters is None else clusters, seed=seed
    )
