"""Paired comparison of two models whose candidates were shown side by side.

A turn is decided if somebody selected or revised a candidate; the model that generated the candidate wins the turn.
Intervals resample dialogues, because the turns of one dialogue share a person and a topic.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measures.bootstrap import percentile_interval, resamples
from measures.estimate import Estimate

Floats = NDArray[np.float64]
SHOWN, SELECTED, REVISED = range(3)  # columns of one model
NEWER, OLDER, EXPECTED = 0, 3, 6  # the first column of each model, and the last column


@dataclass(frozen=True, slots=True)
class ModelCandidates:
    """One model's candidates.

    shown: number of candidates. won: number of turns in which one was taken. selected, revised, taken (either of these)
    and ignored: shares of the candidates shown.
    """

    shown: int
    won: int
    selected: Estimate
    revised: Estimate
    taken: Estimate
    ignored: Estimate


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """The comparison of a newer with an older model.

    share: the newer model's share of the `decided` turns. expected: that share if all candidates were equally good; it
    depends on how many of the seven candidates each model contributed. excess: share - expected. ratio: the newer
    model's rate of taken candidates, divided by the older model's.
    """

    newer: ModelCandidates
    older: ModelCandidates
    decided: int
    share: Estimate
    expected: float | None
    excess: Estimate
    ratio: Estimate


def compare_candidates(table: Floats) -> PairedComparison:
    """Compare two models.

    table: shape (dialogues, 7): the newer model's candidates shown, selected and revised; the same for the older model;
    and the newer model's share of the shown candidates, summed over the decided turns.
    """
    table = table.reshape(-1, EXPECTED + 1)
    ones = np.ones(len(table), np.int64)
    drawn = [weights @ table for weights in resamples(ones)] if len(table) > 1 else []
    sums = _ResampledSums(
        table.sum(axis=0, keepdims=True), np.concatenate(drawn) if drawn else None, len(table)
    )

    def won(totals: Floats, side: int) -> Floats:
        return totals[:, side + SELECTED] + totals[:, side + REVISED]

    def decided(totals: Floats) -> Floats:
        return won(totals, NEWER) + won(totals, OLDER)

    total = float(decided(sums.observed)[0])
    return PairedComparison(
        newer=_model_candidates(sums, NEWER),
        older=_model_candidates(sums, OLDER),
        decided=round(total),
        share=sums.estimate(lambda totals: won(totals, NEWER) / decided(totals)),
        expected=float(sums.observed[0, EXPECTED]) / total if total else None,
        excess=sums.estimate(lambda totals: (won(totals, NEWER) - totals[:, EXPECTED]) / decided(totals)),
        ratio=sums.estimate(
            lambda totals: (won(totals, NEWER) / totals[:, NEWER]) / (won(totals, OLDER) / totals[:, OLDER])
        ),
    )


@dataclass(frozen=True, slots=True)
class _ResampledSums:
    """Column sums of the data, shape (1, columns), and of every resample, shape (resamples, columns)."""

    observed: Floats
    resampled: Floats | None
    dialogues: int

    def estimate(self, statistic: Callable[[Floats], Floats]) -> Estimate:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(statistic(self.observed)[0])
            if not np.isfinite(value):
                return Estimate(None, None, None, self.dialogues)
            low, high = (
                (None, None) if self.resampled is None else percentile_interval(statistic(self.resampled))
            )
        return Estimate(value, low, high, self.dialogues)


def _model_candidates(sums: _ResampledSums, side: int) -> ModelCandidates:
    def share(*columns: int) -> Estimate:
        return sums.estimate(
            lambda totals: totals[:, [side + column for column in columns]].sum(axis=1) / totals[:, side]
        )

    ignored = sums.estimate(
        lambda totals: 1 - (totals[:, side + SELECTED] + totals[:, side + REVISED]) / totals[:, side]
    )
    shown, selected, revised = (
        round(float(sums.observed[0, side + column])) for column in (SHOWN, SELECTED, REVISED)
    )
    return ModelCandidates(
        shown, selected + revised, share(SELECTED), share(REVISED), share(SELECTED, REVISED), ignored
    )
