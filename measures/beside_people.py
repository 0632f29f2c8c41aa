"""Scores of a machine beside those of people, each against the mean of the other people.

People agree with each other only in part. A machine is compared with a person fairly if both are measured against the
same yardstick: the mean of the people other than that person. Against the mean of all people a machine looks better
than it is, because that mean is less noisy.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measures.bootstrap import REPLICATES, SEED, Bools, Floats, Statistic, clustered_estimate
from measures.correlation import Numbers, to_floats
from measures.estimate import Estimate
from measures.paired_bootstrap import STATISTICS, Measure, PairedDifference, paired_difference

INTERVALS_UP_TO = 30  # people; each takes a bootstrap over all items


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """Each person's correlation with the mean of the others, and the mean of these correlations."""

    people: Mapping[Hashable, Estimate]
    mean: Estimate


def people_agreement(
    ratings: Floats,
    people: Sequence[Hashable],
    *,
    measure: Measure = "spearman",
    clusters: Sequence[Hashable] | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> PeopleAgreement:
    """ratings: shape (items, people), NaN for a missing one. Items with fewer than two ratings do not count.

    People whose ratings, or whose others' ratings, do not vary are left out of the mean. Single people have an interval
    only if there are at most INTERVALS_UP_TO.
    """
    columns = _columns(ratings, np.ones(len(ratings), np.bool_))
    names = range(len(ratings)) if clusters is None else clusters
    by_person = replicates if len(people) <= INTERVALS_UP_TO else 0

    def estimate(statistic: Statistic, rows: Bools, replicates: int) -> Estimate:
        found = clustered_estimate(statistic, names, replicates=replicates, seed=seed)
        return Estimate(found.value, found.low, found.high, int(rows.sum()), int((~rows).sum()))

    statistics = [column.statistic(measure, column.own) for column in columns]
    return PeopleAgreement(
        {
            person: estimate(statistic, column.rows, by_person)
            for person, statistic, column in zip(people, statistics, columns, strict=True)
        },
        estimate(_mean_of(statistics), _rated_twice(ratings), replicates),
    )


def beside_people(
    scores: Numbers,
    ratings: Floats,
    *,
    measure: Measure = "spearman",
    clusters: Sequence[Hashable] | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> PairedDifference:
    """A machine's mean correlation with all people but one (`one`), minus that one person's (`other`).

    scores: of the machine, shape (items,). Both sides use the items that the machine scored.
    """
    machine = to_floats(scores)
    columns = _columns(ratings, np.isfinite(machine))
    usable = [column for column in columns if column.is_defined_for(machine)]
    rows = _rated_twice(ratings) & np.isfinite(machine)
    found = paired_difference(
        _mean_of([column.statistic(measure, machine[column.rows]) for column in usable]),
        _mean_of([column.statistic(measure, column.own) for column in usable]),
        range(len(ratings)) if clusters is None else clusters,
        replicates=replicates,
        seed=seed,
    )
    n = int(rows.sum())
    difference = found.difference
    counted = Estimate(difference.value, difference.low, difference.high, n, rows.size - n)
    return PairedDifference(found.one, found.other, counted, found.p)


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One person: which items they and somebody else rated, their ratings and the mean of the others' ratings."""

    rows: Bools
    own: Floats
    others: Floats

    def statistic(self, measure: Measure, values: Floats) -> Statistic:
        """The correlation of values, shape (rows,), with the others; of weights over all items."""
        if self.others.size < 2:
            return lambda weights: np.full(len(weights), np.nan)
        correlation = STATISTICS[measure](values, self.others)
        return lambda weights: correlation(weights[:, self.rows])

    def is_defined_for(self, machine: Floats) -> bool:
        """Whether the person, the others and the machine all vary."""
        columns = (self.own, self.others, machine[self.rows])
        return self.own.size > 1 and all(np.ptp(values) > 0 for values in columns)


def _columns(ratings: Floats, usable: Bools) -> list[_Column]:
    known = np.isfinite(ratings)
    filled = np.where(known, ratings, 0.0)
    columns = []
    for person in range(ratings.shape[1]):
        others = known.sum(axis=1) - known[:, person]
        rows = known[:, person] & (others > 0) & usable
        sums = filled.sum(axis=1) - filled[:, person]
        columns.append(_Column(rows, ratings[rows, person], sums[rows] / others[rows]))
    return columns


def _rated_twice(ratings: Floats) -> NDArray[np.bool_]:
    twice: Bools = np.isfinite(ratings).sum(axis=1) >= 2
    return twice


def _mean_of(statistics: Sequence[Statistic]) -> Statistic:
    """The mean over the defined statistics; NaN if none is defined."""

    def mean(weights: Floats) -> Floats:
        values = np.array([statistic(weights) for statistic in statistics]).reshape(-1, len(weights))
        defined = np.isfinite(values)
        counts = defined.sum(axis=0)
        sums = np.where(defined, values, 0.0).sum(axis=0)
        means: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return means

    return mean
