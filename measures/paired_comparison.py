"""Two models whose candidates were shown side by side: which of them do people take?

A turn is decided when somebody selected or revised one of the candidates, and it is won by the model that wrote it.
Intervals come from drawing dialogues again, since turns of one dialogue are of one person and one topic.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measures.bootstrap import percentiles, resamples
from measures.estimate import Estimate

Floats = NDArray[np.float64]
SHOWN, SELECTED, REVISED = range(3)  # columns of one side
NEWER, OLDER, EXPECTED = 0, 3, 6  # where the sides begin in a row, and the last column


@dataclass(frozen=True, slots=True)
class Side:
    """One model's candidates: how many were shown, in how many turns one was taken, and which shares of those shown
    were selected, revised, taken (either of these) and ignored."""

    shown: int
    won: int
    selected: Estimate
    revised: Estimate
    taken: Estimate
    ignored: Estimate


@dataclass(frozen=True, slots=True)
class Contest:
    """share: of the `decided` turns, those that the newer model won. expected: what that share would be if every
    candidate were as good as any other: four of seven were shown in some turns and three in others. excess: share -
    expected. ratio: how often a candidate of the newer model was taken, over that of the older one."""

    newer: Side
    older: Side
    decided: int
    share: Estimate
    expected: float | None
    excess: Estimate
    ratio: Estimate


def contest(table: Floats) -> Contest:
    """table: shape (dialogues, 7): candidates of the newer model shown, selected and revised; those of the older;
    and, summed over the decided turns, the newer's share of the candidates that were shown."""
    table = table.reshape(-1, EXPECTED + 1)
    ones = np.ones(len(table), np.int64)
    drawn = [weights @ table for weights in resamples(ones)] if len(table) > 1 else []
    sums = _Sums(table.sum(axis=0, keepdims=True), np.concatenate(drawn) if drawn else None, len(table))

    def won(found: Floats, side: int) -> Floats:
        return found[:, side + SELECTED] + found[:, side + REVISED]

    def decided(found: Floats) -> Floats:
        return won(found, NEWER) + won(found, OLDER)

    total = float(decided(sums.true)[0])
    return Contest(
        newer=_side(sums, NEWER),
        older=_side(sums, OLDER),
        decided=round(total),
        share=sums.estimate(lambda found: won(found, NEWER) / decided(found)),
        expected=float(sums.true[0, EXPECTED]) / total if total else None,
        excess=sums.estimate(lambda found: (won(found, NEWER) - found[:, EXPECTED]) / decided(found)),
        ratio=sums.estimate(
            lambda found: (won(found, NEWER) / found[:, NEWER]) / (won(found, OLDER) / found[:, OLDER])
        ),
    )


@dataclass(frozen=True, slots=True)
class _Sums:
    """Column sums of the data, shape (1, columns), and of every resample, (resamples, columns)."""

    true: Floats
    drawn: Floats | None
    dialogues: int

    def estimate(self, statistic: Callable[[Floats], Floats]) -> Estimate:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(statistic(self.true)[0])
            if not np.isfinite(value):
                return Estimate(None, None, None, self.dialogues)
            low, high = (None, None) if self.drawn is None else percentiles(statistic(self.drawn))
        return Estimate(value, low, high, self.dialogues)


def _side(sums: _Sums, side: int) -> Side:
    def share(*columns: int) -> Estimate:
        return sums.estimate(
            lambda found: found[:, [side + one for one in columns]].sum(axis=1) / found[:, side]
        )

    ignored = sums.estimate(
        lambda found: 1 - (found[:, side + SELECTED] + found[:, side + REVISED]) / found[:, side]
    )
    shown, selected, revised = (round(float(sums.true[0, side + one])) for one in (SHOWN, SELECTED, REVISED))
    return Side(shown, selected + revised, share(SELECTED), share(REVISED), share(SELECTED, REVISED), ignored)
