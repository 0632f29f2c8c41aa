"""Systems compared by the scores of their dialogues, against cases that can be counted by hand."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, norm, wilcoxon

from measures.paired_systems import PERMUTED, better_on_same_contexts, compare_systems, holm

HIGH = {0: 2.0, 1: 2.0, 2: 1.0, 3: 2.0, 4: 2.0, 5: 2.0}
LOW = {0: 1.0, 1: 0.5, 2: 0.0, 3: 1.2, 4: 0.1, 5: 0.3}


def test_six_of_six_contexts_are_the_fewest_that_show_a_difference() -> None:
    assert better_on_same_contexts(HIGH, LOW) == pytest.approx(1 / 64)
    assert better_on_same_contexts(LOW, HIGH) == 1.0


def test_one_context_with_a_difference_is_one_of_two_signs() -> None:
    one, other = {1: 4.0, 2: 3.0}, {1: 2.0, 2: 3.0}
    assert (better_on_same_contexts(one, other), better_on_same_contexts(other, one)) == (0.5, 1.0)
    (found,) = compare_systems({"A": one, "B": other}, is_paired=True)
    assert (found.better, found.p, found.n) == ("A", 1.0, 2)


def test_only_contexts_of_both_count() -> None:
    assert better_on_same_contexts({**HIGH, 7: 0.0}, {**LOW, 8: 2.0}) == pytest.approx(1 / 64)


@pytest.mark.parametrize("seed", range(6))
def test_tied_differences_have_the_p_of_all_signs(seed: int) -> None:
    random = Random(seed)
    one = {place: float(random.randint(0, 3)) for place in range(8)}
    other = {place: float(random.randint(0, 3)) for place in range(8)} | {0: one[0] + 1}
    differences = [one[place] - other[place] for place in one]
    differences = [each for each in differences if each]
    expected = wilcoxon(differences, alternative="greater").pvalue
    assert better_on_same_contexts(one, other) == pytest.approx(expected)


def test_from_fourteen_tied_differences_on_the_normal_approximation_serves() -> None:
    def p(count: int) -> float | None:
        return better_on_same_contexts(dict.fromkeys(range(count), 1.0), dict.fromkeys(range(count), 0.0))

    assert p(PERMUTED) == pytest.approx(0.5**PERMUTED)
    assert p(PERMUTED + 1) == pytest.approx(wilcoxon([1.0] * (PERMUTED + 1), alternative="greater").pvalue)


@pytest.mark.parametrize("other", [{}, {9: 1.0}, HIGH])
def test_nothing_to_compare_has_no_p(other: dict[int, float]) -> None:
    assert better_on_same_contexts(HIGH, other) is None


def test_a_comparison_names_the_better_system_first() -> None:
    (found,) = compare_systems({"a": LOW, "b": HIGH}, is_paired=True)
    assert (found.better, found.worse, found.n) == ("b", "a", 6)
    assert found.means == pytest.approx((11 / 6, 3.1 / 6))
    assert found.p == pytest.approx(2 / 64)
    assert found.p == pytest.approx(wilcoxon(list(HIGH.values()), list(LOW.values())).pvalue)
    assert found.is_significant()


def test_independent_samples_are_compared_as_such() -> None:
    one, other = {n: float(n) for n in range(9)}, {n: n + 4.5 for n in range(12)}
    (found,) = compare_systems({"a": one, "b": other}, is_paired=False)
    assert (found.better, found.n) == ("b", 9)
    assert found.p == pytest.approx(mannwhitneyu(list(one.values()), list(other.values())).pvalue)


def test_how_many_contexts_are_needed() -> None:
    """A difference of half a standard deviation needs 32 pairs, or 63 of each sample (Lehr: 8 / d² and 16 / d²)."""
    differences = np.array([1.0, -1.0] * 500)
    differences = differences / differences.std(ddof=1) + 0.5
    (paired,) = compare_systems(
        {"a": dict(enumerate(differences.tolist())), "b": dict.fromkeys(range(1000), 0.0)}, is_paired=True
    )
    assert paired.needed == 32
    shifted = (differences - 0.5).tolist()
    (samples,) = compare_systems(
        {"a": dict(enumerate(differences.tolist())), "b": dict(enumerate(shifted))}, is_paired=False
    )
    assert samples.needed == 63
    assert norm.ppf(0.975) + norm.ppf(0.8) == pytest.approx(2.801585, abs=1e-6)


def test_equal_systems_need_no_number() -> None:
    (found,) = compare_systems({"a": HIGH, "b": HIGH}, is_paired=True)
    assert (found.p, found.needed) == (None, None)
    assert not found.is_significant()


@pytest.mark.parametrize("is_paired", [True, False])
def test_systems_without_scores_are_not_compared(is_paired: bool) -> None:
    assert compare_systems({}, is_paired=is_paired) == ()
    (found,) = compare_systems({"a": {}, "b": {1: 2.0}}, is_paired=is_paired)
    assert (found.p, found.n, found.needed) == (None, 0, None)


def test_holm_multiplies_by_the_number_of_tests_that_are_left() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == [
        pytest.approx(0.03),
        None,
        pytest.approx(0.06),
        pytest.approx(0.06),
    ]
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1) | st.none(), max_size=6))
def test_adjusting_never_lowers_a_p(p_values: list[float | None]) -> None:
    for before, after in zip(p_values, holm(p_values), strict=True):
        assert (before is None) == (after is None)
        assert before is None or after is None or before <= after <= 1
