"""Ranking measures whose turns belong to dialogues, and differences of two scores."""

import numpy as np
import pytest

from measures.bootstrap import bootstrap_mean, clustered_mean, clustered_ratio
from measures.estimate import Estimate
from measures.ranking import (
    ScoredTurn,
    first_by_chance,
    pairwise_accuracy,
    rank_difference,
    rank_humans,
)


def width(estimate: Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def turn(human: float, *others: float) -> ScoredTurn:
    return ScoredTurn("hi", human, tuple(f"reply {n}" for n in range(len(others))), others)


def test_clusters_of_one_are_the_plain_bootstrap() -> None:
    values = np.random.default_rng(1).random(60)
    assert clustered_mean(values, range(60)) == bootstrap_mean(values)


def test_turns_that_repeat_each_other_within_a_dialogue_do_not_narrow_the_interval() -> None:
    values = np.random.default_rng(2).random(40)
    repeated, dialogues = np.repeat(values, 10), np.repeat(np.arange(40), 10).tolist()
    estimate = clustered_mean(repeated, dialogues)
    assert estimate.n == 400
    assert estimate.value == pytest.approx(values.mean())
    assert width(estimate) == pytest.approx(width(bootstrap_mean(values)))
    assert width(estimate) > 2.5 * width(bootstrap_mean(repeated))


def test_the_interval_of_clusters_is_as_wide_as_theory_says() -> None:
    rng = np.random.default_rng(3)
    means = rng.normal(size=200)
    values = np.repeat(means, 5) + 0.1 * rng.normal(size=1000)
    estimate = clustered_mean(values, np.repeat(np.arange(200), 5).tolist())
    assert width(estimate) == pytest.approx(2 * 1.96 * means.std() / np.sqrt(200), rel=0.12)


def test_a_ratio_weighs_clusters_by_their_denominators() -> None:
    estimate = clustered_ratio(np.array([1.0, 2.0, 6.0]), np.array([1.0, 1.0, 2.0]), ["a", "a", "b"])
    assert estimate.value == pytest.approx(9 / 4)
    assert (estimate.low, estimate.high) == pytest.approx((1.5, 3.0))


def test_one_dialogue_has_no_interval_and_none_no_value() -> None:
    assert clustered_mean(np.array([0.0, 1.0]), ["a", "a"]) == Estimate(0.5, None, None, 2)
    assert clustered_mean(np.array([]), []).value is None
    with pytest.raises(ValueError, match="cluster"):
        clustered_mean(np.array([1.0, 2.0]), ["a"])


def test_a_rank_is_of_its_dialogue() -> None:
    turns = [turn(1, 0), turn(1, 0), turn(0, 1), turn(0, 1)]
    estimate = rank_humans(turns, ["a", "a", "b", "b"]).p_at_1
    assert (estimate.value, estimate.low, estimate.high) == (0.5, 0.0, 1.0)
    assert rank_humans([turn(1, 0), turn(1, 0)], ["a", "a"]).p_at_1.low is None


def test_a_difference_is_paired() -> None:
    rng = np.random.default_rng(4)
    low = [turn(*rng.random(5)) for _ in range(200)]
    better = [ScoredTurn(turn.human, turn.human_score + 0.2, turn.candidates, turn.scores) for turn in low]
    estimate = rank_difference(better, low)
    apart = rank_humans(better).p_at_1.value, rank_humans(low).p_at_1.value
    assert estimate.p_at_1.value == pytest.approx((apart[0] or 0) - (apart[1] or 0))
    assert estimate.p_at_1.low is not None
    assert estimate.p_at_1.low > 0
    assert width(estimate.p_at_1) < width(rank_humans(better).p_at_1)


def test_a_difference_needs_the_same_turns() -> None:
    with pytest.raises(ValueError, match="same turns"):
        rank_difference([turn(1, 0)], [turn(1, 0, 0)])


def test_ties_broken_at_random() -> None:
    assert first_by_chance(turn(1, 1, 1, 0)) == pytest.approx(1 / 3)
    assert (first_by_chance(turn(1, 0, 0)), first_by_chance(turn(0, 0, 1))) == (1.0, 0.0)
    assert first_by_chance(ScoredTurn("hi", 1, ("hi",), (0,))) is None


def test_pairs_of_one_dialogue_are_drawn_together() -> None:
    estimate = pairwise_accuracy([1, 1, 0, 0], [0, 0, 1, 1], ["a", "a", "b", "b"])
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (0.5, 0.0, 1.0, 4)
