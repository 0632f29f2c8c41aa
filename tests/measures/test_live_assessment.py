"""Ratings of live assessments: reliability, standardised scores, comparisons; by hand, or as scipy has them."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from measures.participant_agreement import pair_correlations
from measures.rated_dialogues import (
    RatedDialogue,
    RatedDialogues,
    dialogue_means,
    rated_dialogues,
    standardise,
)
from measures.reliability import one_sided_p_values, reliability_tests
from measures.system_comparison import pairwise_tests, replication
from measures.system_scores import participants_to_halve, ranked, system_scores

STATEMENTS = ("fun", "fluent")


def rated(
    participant: str, system: str, fun: float | None, fluent: float | None, assignment: str = ""
) -> RatedDialogue:
    scores = {name: value for name, value in zip(STATEMENTS, (fun, fluent), strict=True) if value is not None}
    return RatedDialogue(participant, assignment or participant, system, system == "qc", scores)


def table(*rows: RatedDialogue, reversed_: tuple[str, ...] = ()) -> RatedDialogues:
    return rated_dialogues(rows, STATEMENTS, reversed_)


def everybody(dialogues: RatedDialogues) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return dialogues.of_participants(dialogues.participants)


def test_reversed_statements_count_100_minus_x() -> None:
    scores = table(rated("ann", "a", 30, 80), reversed_=("fun",)).scores
    assert scores.tolist() == [[70, 80]]


def test_ratings_are_standardised_by_participant() -> None:
    dialogues = table(rated("ann", "a", 10, 20), rated("ann", "qc", 30, 40), rated("bob", "a", 50, 50))
    z = standardise(dialogues)
    own = np.array([10, 20, 30, 40.0])
    expected = (own - own.mean()) / own.std(ddof=1)
    assert z[:2].ravel() == pytest.approx(expected)
    assert np.isnan(z[2]).all(), "ratings that do not vary have no z-score"


def test_the_last_of_two_conversations_with_a_system_counts_for_mean_and_deviation() -> None:
    twice = table(rated("ann", "a", 90, 90), rated("ann", "b", 20, 30), rated("ann", "a", 50, 60))
    once = table(rated("ann", "b", 20, 30), rated("ann", "a", 50, 60))
    assert standardise(twice)[1:] == pytest.approx(standardise(once))
    assert np.isfinite(standardise(twice)[0]).all()


def test_the_reliability_test_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    rows = [rated("ann", f"s{n}", *rng.integers(40, 100, 2).tolist()) for n in range(9)]
    rows += [rated("ann", "qc", *rng.integers(0, 60, 2).tolist()) for _n in range(9)]
    dialogues = table(*rows)
    (test,) = reliability_tests(dialogues, STATEMENTS)
    low = dialogues.scores[dialogues.is_degraded].ravel()
    high = dialogues.scores[~dialogues.is_degraded].ravel()
    assert test.p == pytest.approx(mannwhitneyu(low, high, alternative="less").pvalue)
    assert (test.degraded, test.ordinary) == (18, 18)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("m", "n"), [(1, 4), (5, 25), (8, 9), (9, 30)])
def test_p_values_follow_scipys_choice_of_method(seed: int, m: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = rng.integers(0, 40 + 60 * seed, m).astype(float), rng.integers(0, 100, n).astype(float)
    (p,) = one_sided_p_values([(low, high)])
    assert p == pytest.approx(mannwhitneyu(low, high, alternative="less", method="auto").pvalue)


def test_without_something_to_compare_there_is_no_p() -> None:
    only_qc, equal = rated("ann", "qc", 5, 5), [rated("bob", name, 50, 50) for name in ("a", "qc")]
    tests = reliability_tests(table(only_qc, *equal), STATEMENTS)
    assert [test.p for test in tests] == [None, None]
    assert not any(test.passes(1) for test in tests)


def test_scores_are_means_over_ratings_and_leave_the_degraded_system_out() -> None:
    dialogues = table(
        rated("ann", "a", 80, 60),
        rated("bob", "a", 60, 100),
        rated("ann", "b", 10, None),
        rated("ann", "qc", 0, 0),
    )
    a, b = system_scores(dialogues, dialogues.scores, everybody(dialogues))
    assert (a.system, a.by_statement["fun"].value, a.by_statement["fluent"].value) == ("a", 70, 80)
    assert (a.overall.value, a.overall.n) == (75, 4)
    assert (b.overall.value, b.overall.n, b.by_statement["fluent"].value) == (None, 1, None)


def test_only_chosen_rows_count() -> None:
    dialogues = table(rated("ann", "a", 80, 60), rated("bob", "a", 0, 0))
    (a,) = system_scores(dialogues, dialogues.scores, dialogues.of_participants({"ann"}))
    assert (a.overall.value, a.overall.low) == (70, None), "one participant has no interval"


def test_intervals_resample_participants() -> None:
    """Ratings of one participant that repeat each other do not make the interval narrower."""
    people = {f"p{n}": value for n, value in enumerate((10, 30, 50, 70, 90))}
    few = table(*(rated(name, "a", value, value) for name, value in people.items()))
    many = table(
        *(rated(name, "a", value, value, f"{name}-{n}") for name, value in people.items() for n in range(8))
    )
    (one,), (other,) = (system_scores(each, each.scores, everybody(each)) for each in (few, many))
    assert (one.overall.low, one.overall.high) == pytest.approx((other.overall.low, other.overall.high))
    assert one.overall.low is not None
    assert 10 < one.overall.low < 50


def test_the_best_comes_first_and_those_without_a_score_last() -> None:
    dialogues = table(
        rated("ann", "low", 10, 10), rated("ann", "high", 90, 90), rated("ann", "none", 5, None)
    )
    scores = system_scores(dialogues, dialogues.scores, everybody(dialogues))
    assert [each.system for each in ranked(scores)] == ["high", "low", "none"]


def test_systems_are_compared_by_the_means_of_dialogues() -> None:
    rng = np.random.default_rng(2)
    rows = [
        rated(f"p{n}", name, *rng.normal(level, 10, 2).clip(0, 100).tolist())
        for n in range(12)
        for name, level in (("good", 60), ("bad", 50))
    ]
    dialogues = table(*rows)
    means = dialogue_means(dialogues.scores)
    sides = {name: means[dialogues.system == dialogues.systems.index(name)] for name in ("good", "bad")}
    tests = {
        (test.better, test.worse): test.p
        for test in pairwise_tests(dialogues, dialogues.scores, everybody(dialogues))
    }
    expected = mannwhitneyu(sides["bad"], sides["good"], alternative="less").pvalue
    assert tests["good", "bad"] == pytest.approx(expected)
    assert set(tests) == {("good", "bad"), ("bad", "good")}


def test_runs_agree_over_the_systems_that_both_rated() -> None:
    one = table(rated("ann", "a", 90, 90), rated("ann", "b", 50, 50), rated("ann", "c", 10, 10))
    other = table(rated("bob", "a", 80, 80), rated("bob", "b", 60, 60), rated("bob", "d", 99, 99))
    runs = [system_scores(each, each.scores, everybody(each)) for each in (one, other)]
    pairs = [pairwise_tests(each, each.scores, everybody(each)) for each in (one, other)]
    found = replication(runs[0], runs[1], (pairs[0], pairs[1]))
    assert found.systems == ("a", "b")
    assert found.by_score["overall"].pearson == pytest.approx(1)
    assert (found.same_conclusions[0.05].share, found.same_conclusions[0.05].n) == (1, 1)


def test_participants_with_the_same_systems_are_correlated() -> None:
    rows = [
        rated(name, system, value, value)
        for name, values in (("ann", (10, 50, 90)), ("bob", (20, 60, 100)), ("carlos", (90, 50, 10)))
        for system, value in zip("abc", values, strict=True)
    ]
    dialogues = table(*rows, rated("dora", "a", 10, 90))
    found = pair_correlations(dialogues, dialogues.scores, everybody(dialogues))
    assert sorted(found.tolist()) == pytest.approx([-1, -1, 1])


@pytest.mark.parametrize(
    ("participants", "share", "more"),
    [(10, 1, 30), (10, 0.5, 60), (7, 0.3, 70), (0, 0.5, None), (5, 0, None)],
)
def test_four_times_as_many_halve_an_interval(participants: int, share: float, more: int | None) -> None:
    assert participants_to_halve(participants, share) == more
