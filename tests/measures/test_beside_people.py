"""A machine's scores beside those of people."""

import numpy as np
import pytest
from scipy import stats

from measures.beside_people import beside_people, people_agreement
from measures.bootstrap import Floats

NAN = float("nan")
RATINGS = np.array([[1, 2, 1], [2, 2, 3], [3, 5, 4], [4, 4, 5], [5, 3, 2], [2, 1, 2]], float)
PEOPLE = ("ann", "bob", "carlos")


def others_mean(person: int) -> Floats:
    means: Floats = np.delete(RATINGS, person, axis=1).mean(axis=1)
    return means


@pytest.mark.parametrize(("measure", "scipys"), [("pearson", stats.pearsonr), ("spearman", stats.spearmanr)])
def test_everyone_is_compared_with_the_mean_of_the_others(measure: str, scipys: object) -> None:
    found = people_agreement(RATINGS, PEOPLE, measure=measure)  # type: ignore[arg-type]
    expected = [scipys(RATINGS[:, person], others_mean(person))[0] for person in range(3)]  # type: ignore[operator]
    assert [found.people[name].value for name in PEOPLE] == pytest.approx(expected)
    assert found.mean.value == pytest.approx(np.mean(expected))
    assert found.mean.n == 6


def test_the_machine_meets_the_same_means_as_each_person() -> None:
    machine = [1, 2, 4, 5, 3, 1]
    found = beside_people(machine, RATINGS, measure="pearson")
    expected = np.mean([stats.pearsonr(machine, others_mean(person))[0] for person in range(3)])
    people = people_agreement(RATINGS, PEOPLE, measure="pearson").mean.value
    assert people is not None
    assert found.one == pytest.approx(expected)
    assert found.other == pytest.approx(people)
    difference = found.difference
    assert difference.value == pytest.approx(expected - people)
    assert difference.low is not None
    assert difference.high is not None
    assert difference.low < expected - people < difference.high


def test_a_machine_that_is_the_others_mean_of_one_person_does_not_beat_itself() -> None:
    """Two people: each is the other's yardstick, so that a copy of one of them cannot correlate less with the other."""
    two = RATINGS[:, :2]
    found = beside_people(two[:, 0], two, measure="pearson")
    both = stats.pearsonr(two[:, 0], two[:, 1])[0]
    assert found.one == pytest.approx((both + 1) / 2)
    assert found.other == pytest.approx(both)


def test_missing_ratings_and_people_who_do_not_vary() -> None:
    ratings = np.column_stack([RATINGS, np.full(6, 3.0)])
    ratings[0, 0] = ratings[1] = NAN
    found = people_agreement(ratings, (*PEOPLE, "dora"), measure="pearson")
    assert found.people["dora"].value is None
    assert found.people["ann"].n == 4
    assert (found.mean.n, found.mean.left_out) == (5, 1)
    assert found.mean.value is not None


def test_nobody_rated_twice() -> None:
    alone = np.full((3, 2), NAN)
    alone[:, 0] = [1, 2, 3]
    assert people_agreement(alone, ("ann", "bob")).mean.value is None
    assert beside_people([1, 2, 3], alone).difference.value is None
    assert beside_people([None] * 6, RATINGS).difference.value is None
    assert people_agreement(np.empty((0, 0)), ()).mean.value is None
