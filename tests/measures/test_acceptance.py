"""Acceptance of batches against scipy, enumeration and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from measures.acceptance import (
    Stratum,
    acceptance_number,
    batch_accuracy,
    operating_characteristic,
    passes,
    stratified_accuracy,
    stratified_share,
)
from measures.batch_verdict import BatchVerdict, ClassTally, batch_verdict


def test_92_of_100_passes_and_91_does_not() -> None:
    assert (passes(92, 100, 0.92), passes(91, 100, 0.92)) == (True, False)
    assert [acceptance_number(100, step / 100) for step in range(101)] == list(range(101))
    assert (acceptance_number(11, "0.9"), passes(0, 0, 0.9)) == (10, False)


@given(st.integers(1, 60), st.data())
def test_the_interval_is_what_enumeration_finds(population: int, data: st.DataObject) -> None:
    sample = data.draw(st.integers(1, population))
    correct = data.draw(st.integers(0, sample))
    batches = np.arange(population + 1)
    fitting = batches[
        (hypergeom.sf(correct - 1, population, batches, sample) > 0.025 * (1 + 1e-8))
        & (hypergeom.cdf(correct, population, batches, sample) > 0.025 * (1 + 1e-8))
    ]
    interval = batch_accuracy(correct, sample, population)
    assert (interval.low, interval.high) == (fitting.min() / population, fitting.max() / population)


def test_a_batch_as_likely_as_the_limit_is_outside() -> None:
    # With 39 of 40 correct, a single sample is wrong with probability 1/40 = 0.025 exactly.
    assert batch_accuracy(0, 1, 40).high == 38 / 40


def test_the_curve_equals_scipys_and_10_000_simulated_batches() -> None:
    """Of each accuracy, samples of 10,000 batches are held against the threshold; within four standard errors."""
    rng = np.random.default_rng(7)
    points = operating_characteristic(2000, 100, 0.92, [percent / 100 for percent in range(80, 101)])
    for point in points:
        assert point.correct == round(2000 * point.accuracy)
        assert point.probability == pytest.approx(hypergeom.sf(91, 2000, point.correct, 100), abs=1e-9)
        right = rng.hypergeometric(point.correct, 2000 - point.correct, 100, 10_000)
        accepted = np.mean([passes(int(count), 100, 0.92) for count in right])
        error = (point.probability * (1 - point.probability) / 10_000) ** 0.5
        assert abs(accepted - point.probability) <= 4 * error + 1e-4
    assert points[-1].probability == pytest.approx(1)


def test_the_interval_covers_the_batch_in_95_of_100_samples() -> None:
    drawn = np.random.default_rng(8).hypergeometric(1840, 160, 100, 10_000)
    intervals = {int(k): batch_accuracy(int(k), 100, 2000) for k in np.unique(drawn)}
    covered = [(intervals[int(k)].low or 0) <= 0.92 <= (intervals[int(k)].high or 0) for k in drawn]
    assert np.mean(covered) >= 0.95


def test_a_batch_judged_completely_leaves_no_doubt() -> None:
    interval = batch_accuracy(7, 10, 10)
    assert (interval.value, interval.low, interval.high) == (0.7, 0.7, 0.7)
    assert batch_accuracy(0, 0, 10).value is None
    with pytest.raises(ValueError, match="impossible"):
        batch_accuracy(5, 4, 10)


def test_classes_weigh_by_their_size() -> None:
    strata = [Stratum(1500, 50, 50), Stratum(500, 50, 40)]
    interval = stratified_accuracy(strata)
    assert interval.value == pytest.approx(0.95)
    assert interval.n == 100
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < 0.95 < interval.high < 1
    assert stratified_share([Stratum(5, 0, 0)]) is None
    assert stratified_accuracy([Stratum(10, 10, 9), Stratum(10, 10, 10)]).low == pytest.approx(0.95)


def test_the_stratified_interval_covers() -> None:
    rng = np.random.default_rng(9)
    drawn = np.stack(
        [rng.hypergeometric(1400, 100, 50, 1500), rng.hypergeometric(400, 100, 50, 1500)], axis=1
    )
    interval = [stratified_accuracy([Stratum(1500, 50, int(a)), Stratum(500, 50, int(b))]) for a, b in drawn]
    assert np.mean([(part.low or 0) <= 0.9 <= (part.high or 0) for part in interval]) >= 0.94


@pytest.mark.parametrize(
    ("judged", "correct", "expected"),
    [
        (0, 0, "open"),
        (92, 92, "accept"),
        (91, 91, "open"),
        (50, 41, "return"),
        (50, 42, "open"),
        (100, 91, "return"),
    ],
)
def test_the_verdict_is_reached_once_it_cannot_change(judged: int, correct: int, expected: str) -> None:
    assert batch_verdict([ClassTally("2", 100, judged, correct)], overall=0.92) == expected


@pytest.mark.parametrize(("overall", "expected"), [("0.95", "accept"), ("0.9501", "return")])
def test_a_sample_drawn_by_class_passes_at_exactly_its_threshold(overall: str, expected: str) -> None:
    tallies = [ClassTally("2", 50, 50, 50, population=1500), ClassTally("1", 50, 50, 40, population=500)]
    assert batch_verdict(tallies, overall=overall, weighted=True) == expected


def test_one_bad_class_returns_the_batch() -> None:
    tallies = [ClassTally("2", 90, 90, 90), ClassTally("0", 10, 10, 8), ClassTally("1", 0, 0, 0)]
    assert batch_verdict(tallies, overall=0.92) == BatchVerdict.ACCEPT
    assert batch_verdict(tallies, overall=0.92, per_class=0.9) == BatchVerdict.RETURN
    assert (
        batch_verdict(tallies, overall=0.92, per_class=0.8) == BatchVerdict.ACCEPT
    )  # the empty class does not count
    assert batch_verdict([], overall=0.92) == BatchVerdict.OPEN


@given(
    st.lists(st.lists(st.booleans(), min_size=1, max_size=15), min_size=1, max_size=3),
    st.booleans(),
    st.data(),
)
def test_an_early_verdict_is_the_final_one(
    classes: list[list[bool]], weighted: bool, data: st.DataObject
) -> None:
    def at(judged: list[int]) -> BatchVerdict:
        tallies = [
            ClassTally(str(i), len(answers), n, sum(answers[:n]), population=20 * (i + 1))
            for i, (answers, n) in enumerate(zip(classes, judged, strict=True))
        ]
        return batch_verdict(tallies, overall=0.8, per_class=0.7, weighted=weighted)

    early = at([data.draw(st.integers(0, len(answers))) for answers in classes])
    final = at([len(answers) for answers in classes])
    assert final != BatchVerdict.OPEN
    assert early in (final, BatchVerdict.OPEN)
