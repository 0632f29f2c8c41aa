"""Scores of systems from the ratings of conversations with them (Ji et al., 2022, sections 3.3 and 4.2)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measures.bootstrap import REPLICATES, SEED, Floats, percentile_interval, resamples
from measures.estimate import Estimate
from measures.rated_dialogues import Bools, RatedDialogues

OVERALL = "overall"


@dataclass(frozen=True, slots=True)
class SystemScores:
    """The mean scores of a system by statement, with intervals; n of each: its ratings.

    overall: the mean over the statements; None unless every statement has a rating.
    """

    system: str
    overall: Estimate
    by_statement: Mapping[str, Estimate]

    def value(self, name: str) -> float | None:
        """The score of a statement, or of OVERALL."""
        return (self.overall if name == OVERALL else self.by_statement[name]).value


def system_scores(
    dialogues: RatedDialogues,
    values: Floats,
    rows: Bools,
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> tuple[SystemScores, ...]:
    """The scores of every ordinary system, in their order.

    values: raw or standardised scores, shape (dialogues, statements). rows: which dialogues count, shape (dialogues,).
    The 95 % intervals resample participants, because the ratings of one participant are not independent. A system that
    fewer than two participants rated has none.
    """
    sums, counts = _sums_by_participant(dialogues, values, rows)
    means = _means(sums.sum(axis=0), counts.sum(axis=0))
    lows, highs = _intervals(sums, counts, replicates, seed)
    few = (counts.sum(axis=2) > 0).sum(axis=0) < 2
    lows[few], highs[few] = np.nan, np.nan
    ratings = counts.sum(axis=0)
    n = np.column_stack([ratings, ratings.sum(axis=1)])
    return tuple(
        _row(name, dialogues.statements, means[place], lows[place], highs[place], n[place])
        for place, name in enumerate(dialogues.systems)
        if name in dialogues.ordinary_systems
    )


def ranked(scores: tuple[SystemScores, ...]) -> tuple[SystemScores, ...]:
    """Best overall score first; systems without one last, by name."""
    return tuple(
        sorted(
            scores, key=lambda each: (-_or_lowest(each.overall.value), each.system.casefold(), each.system)
        )
    )


def participants_to_halve(participants: int, share: float) -> int | None:
    """How many more participants would halve the interval of a system's score.

    The width of an interval falls with the square root of the number of participants, so four times as many are
    needed. participants: who count for the system so far. share: of future participants, those who will count for it
    (who pass the reliability test and get the system). None if nobody counts yet.
    """
    return math.ceil(3 * participants / share - 1e-9) if participants and share > 0 else None


def _row(
    name: str, statements: tuple[str, ...], means: Floats, lows: Floats, highs: Floats, n: NDArray[np.int64]
) -> SystemScores:
    """The last column of each array is the overall score."""
    cells = [
        Estimate(_or_none(value), _or_none(low), _or_none(high), int(count))
        for value, low, high, count in zip(means, lows, highs, n, strict=True)
    ]
    return SystemScores(name, cells[-1], dict(zip(statements, cells, strict=False)))


def _sums_by_participant(
    dialogues: RatedDialogues, values: Floats, rows: Bools
) -> tuple[Floats, NDArray[np.int64]]:
    """Sums and numbers of known values, shape (participants who count, systems, statements)."""
    people, owner = np.unique(dialogues.participant[rows], return_inverse=True)
    shape = (people.size, len(dialogues.systems), len(dialogues.statements))
    sums, counts = np.zeros(shape), np.zeros(shape, np.int64)
    known = np.isfinite(values[rows])
    where = (owner, dialogues.system[rows])
    np.add.at(sums, where, np.where(known, values[rows], 0.0))
    np.add.at(counts, where, known)
    return sums, counts


def _means(sums: Floats, counts: NDArray[np.int64] | Floats) -> Floats:
    """Means by statement and, as the last column, over the statements; NaN if undefined."""
    with np.errstate(invalid="ignore", divide="ignore"):
        by_statement = sums / counts
    return np.concatenate([by_statement, by_statement.mean(axis=-1, keepdims=True)], axis=-1)


def _intervals(sums: Floats, counts: NDArray[np.int64], replicates: int, seed: int) -> tuple[Floats, Floats]:
    """Bounds of the 95 % intervals, shape (systems, statements + 1); NaN if undefined."""
    people, systems, statements = sums.shape
    bounds = np.full((2, systems, statements + 1), np.nan)
    if people < 2 or not replicates:
        return bounds[0], bounds[1]
    flat_sums, flat_counts = sums.reshape(people, -1), counts.reshape(people, -1).astype(np.float64)
    blocks = [
        _means(
            (weights @ flat_sums).reshape(-1, systems, statements),
            (weights @ flat_counts).reshape(-1, systems, statements),
        )
        for weights in resamples(np.ones(people, np.int64), replicates=replicates, seed=seed)
    ]
    resampled = np.concatenate(blocks)
    for cell in np.ndindex(systems, statements + 1):
        low, high = percentile_interval(resampled[(slice(None), *cell)])
        if low is not None:
            bounds[(slice(None), *cell)] = low, high
    return bounds[0], bounds[1]


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _or_lowest(value: float | None) -> float:
    return -math.inf if value is None else value
