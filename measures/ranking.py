"""Where the human reply ranks among the candidates shown (Diamante paper, Table 5)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from measures.bootstrap import SEED, bootstrapped_mean
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


def rank_humans(turns: Sequence[ScoredTurn], *, seed: int = SEED) -> Ranking:
    """MAP, MRR and P@1 with intervals by drawing turns; turns without another candidate are left out."""
    ranks = [rank for turn in turns if (rank := human_rank(turn)) is not None]
    left_out, found = len(turns) - len(ranks), np.array(ranks, np.float64)
    reciprocal = bootstrapped_mean(1 / found, seed=seed, left_out=left_out)
    first = bootstrapped_mean((found == 1).astype(np.float64), seed=seed, left_out=left_out)
    return Ranking(map=reciprocal, mrr=reciprocal, p_at_1=first)


def pairwise_accuracy(better: Sequence[float], worse: Sequence[float], *, seed: int = SEED) -> Estimate:
    """Share of pairs whose better reply (human > model, human > random, model > random) scores higher; a tie is wrong.

    Raises ValueError for unequal lengths or a score that is no number.
    """
    one, other = np.array(better, np.float64), np.array(worse, np.float64)
    if one.shape != other.shape or np.isnan(one).any() or np.isnan(other).any():
        raise ValueError("Every pair needs two scores.")
    return bootstrapped_mean((one > other).astype(np.float64), seed=seed)
