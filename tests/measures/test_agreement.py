"""Agreement on published tables, on degenerate input, and what must hold for any ratings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measures.agreement import fleiss_kappa, krippendorff_alpha, percent_agreement, randolph_kappa
from measures.icc import icc
from measures.pairs import (
    clustered_cohen_kappa,
    cohen_kappa,
    confusion_between,
    confusion_by_pair,
    confusion_of_pairs,
)
from measures.raters import rater_bias, z_scores
from measures.ratings import ratings_from_matrix, ratings_from_triples
from measures.voting import majority, majority_codes, median_vote

# 14 raters, 10 subjects, 5 categories: the table of Wikipedia's article on Fleiss' kappa, κ = 0.210.
FOURTEEN = np.array([
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
])  # fmt: skip
# Krippendorff (2011), example C: four observers, twelve units, values missing.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = ratings_from_matrix([list(unit) for unit in zip(*OBSERVERS, strict=True)])
# Shrout and Fleiss (1979), table 2: six targets, four judges.
JUDGES = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)

tables = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.integers(0, 3), min_size=raters, max_size=raters), min_size=2, max_size=12
    )
)


def counts_of(rows: list[list[int]]) -> np.ndarray:
    return ratings_from_matrix(rows, categories=[0, 1, 2, 3]).counts()


def test_fleiss_kappa_of_fourteen_raters() -> None:
    kappa = fleiss_kappa(FOURTEEN)
    assert kappa.value == pytest.approx(0.210, abs=0.0005)
    assert (kappa.n, kappa.left_out) == (10, 0)


def test_the_interval_of_fleiss_kappa_is_as_wide_as_in_the_dch_paper() -> None:
    # Table 3: .174 [.165, .184] over 7,155 posts by three annotators in three categories.
    rng = np.random.default_rng(3)
    labels = np.where(
        rng.random(7155)[:, None] < 0.174, rng.integers(0, 3, 7155)[:, None], rng.integers(0, 3, (7155, 3))
    )
    kappa = fleiss_kappa(np.stack([(labels == c).sum(axis=1) for c in range(3)], axis=1))
    assert kappa.low is not None
    assert kappa.high is not None
    assert kappa.high - kappa.low == pytest.approx(0.019, abs=0.001)


def test_both_intervals_of_fleiss_kappa_hold_the_value() -> None:
    for interval in ("analytic", "bootstrap"):
        kappa = fleiss_kappa(FOURTEEN, interval=interval)
        assert kappa.low is not None
        assert kappa.high is not None
        assert kappa.value is not None
        assert kappa.low < kappa.value < kappa.high


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_own_example(level: str, value: float) -> None:
    alpha = krippendorff_alpha(UNITS.counts(), level=level, values=np.arange(1.0, 6.0))  # type: ignore[arg-type]
    assert alpha.value == pytest.approx(value, abs=0.0005)
    assert (alpha.n, alpha.left_out) == (11, 1)


def test_randolphs_kappa_counts_options_that_nobody_chose() -> None:
    counts = np.array([[3, 0, 0], [2, 1, 0]])
    # Pairs agree by (1 + 1/3) / 2 = 2/3; chance is 1/3, so κ = (2/3 - 1/3) / (2/3).
    assert randolph_kappa(counts).value == pytest.approx(0.5)
    assert percent_agreement(counts).value == pytest.approx(2 / 3)


def test_cohens_kappa_of_two_readers() -> None:
    # Fleiss, Cohen and Everitt (1969): 200 items, κ = .429, standard error .054.
    kappa = cohen_kappa(np.array([[106, 10, 4], [22, 28, 10], [2, 12, 6]]))
    assert kappa.value == pytest.approx(0.4286, abs=0.0001)
    assert kappa.low is not None
    assert (kappa.value or 0) - kappa.low == pytest.approx(1.96 * 0.0537, abs=0.0005)


def test_the_quadratic_kappa_is_the_concordance_of_the_numbers() -> None:
    table = np.array([[10, 3, 1], [2, 12, 6], [0, 2, 9]])
    x, y = np.repeat(np.indices((3, 3)).reshape(2, -1), table.ravel(), axis=1)
    concordance = 2 * np.cov(x, y, ddof=0)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)
    assert cohen_kappa(table, weights="quadratic").value == pytest.approx(concordance)


def test_the_linear_kappa_joins_the_cuts_between_categories() -> None:
    table = np.array([[10, 3, 1], [2, 12, 6], [0, 2, 9]])
    above = below = 0.0
    for cut in (1, 2):
        parts = [table[:cut, :cut], table[:cut, cut:], table[cut:, :cut], table[cut:, cut:]]
        shares = np.array([part.sum() for part in parts]).reshape(2, 2) / table.sum()
        chance = float(shares.sum(axis=1) @ shares.sum(axis=0))
        above, below = above + float(np.trace(shares)) - chance, below + 1 - chance
    assert cohen_kappa(table, weights="linear").value == pytest.approx(above / below)


def test_cohens_kappa_of_nothing_and_of_one_category_is_none() -> None:
    assert cohen_kappa(np.zeros((2, 2), int)).value is None
    assert cohen_kappa(np.array([[4, 0], [0, 0]])).value is None


def test_cohens_kappa_by_cluster_has_the_same_value_and_the_width_of_its_clusters() -> None:
    table = np.array([[106, 10, 4], [22, 28, 10], [2, 12, 6]])
    one, other = np.repeat(np.indices((3, 3)).reshape(2, -1), table.ravel(), axis=1)
    alone, plain = clustered_cohen_kappa(one, other, range(200)), cohen_kappa(table)
    assert alone.value == pytest.approx(plain.value)
    assert alone.low == pytest.approx(plain.low, abs=0.02)
    # Every item four times, as one cluster: no more is known than from one of them.
    fourfold = clustered_cohen_kappa(np.tile(one, 4), np.tile(other, 4), [*range(200)] * 4)
    assert fourfold.n == 800
    assert fourfold.value == pytest.approx(alone.value)
    assert fourfold.low == pytest.approx(alone.low)


def test_cohens_kappa_by_cluster_is_none_where_it_is_undefined() -> None:
    always = np.ones(4, int)
    assert clustered_cohen_kappa(always, always, [1, 1, 2, 2]).value is None
    assert clustered_cohen_kappa(always[:0], always[:0], []).value is None
    with pytest.raises(ValueError, match="two ratings and a cluster"):
        clustered_cohen_kappa(always, always, [1, 2])


@pytest.mark.parametrize(
    ("kind", "value", "low", "high"),
    [
        ("1,1", 0.17, -0.13, 0.72),
        ("2,1", 0.29, 0.02, 0.76),
        ("1,k", 0.44, -0.88, 0.91),
        ("2,k", 0.62, 0.07, 0.93),
    ],
)
def test_shrout_and_fleiss_own_example(kind: str, value: float, low: float, high: float) -> None:
    result = icc(JUDGES, kind)  # type: ignore[arg-type]
    assert (result.value, result.low, result.high) == pytest.approx((value, low, high), abs=0.006)


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_items_and_raters_does_not_matter(rows: list[list[int]], random: object) -> None:
    shuffled = [list(row) for row in rows]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    shuffled = [row[::-1] for row in shuffled]
    for measure in (percent_agreement, fleiss_kappa, randolph_kappa, krippendorff_alpha):
        original, reordered = (measure(counts_of(table), replicates=0).value for table in (rows, shuffled))
        assert original == pytest.approx(reordered)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=20), st.integers(2, 4))
def test_perfect_agreement_is_one(labels: list[int], raters: int) -> None:
    counts = counts_of([[label] * raters for label in labels])
    assert percent_agreement(counts).value == 1
    assert randolph_kappa(counts).value == pytest.approx(1)
    expected = pytest.approx(1) if len(set(labels)) > 1 else None
    assert fleiss_kappa(counts).value == expected
    assert [krippendorff_alpha(counts, level=level).value for level in ("nominal", "ordinal")] == [
        expected
    ] * 2


@given(tables)
def test_measures_stay_within_their_bounds(rows: list[list[int]]) -> None:
    counts = counts_of(rows)
    for measure in (percent_agreement, fleiss_kappa, randolph_kappa, krippendorff_alpha):
        result = measure(counts, replicates=50)
        known = [part for part in (result.value, result.low, result.high) if part is not None]
        assert all(-1.0001 <= part <= 1.0001 for part in known)


@pytest.mark.parametrize("measure", [percent_agreement, fleiss_kappa, randolph_kappa, krippendorff_alpha])
@pytest.mark.parametrize("counts", [np.zeros((0, 3), int), np.eye(3, dtype=int), np.zeros((2, 3), int)])
def test_without_overlap_there_is_no_value(measure: object, counts: np.ndarray) -> None:
    result = measure(counts)  # type: ignore[operator]
    assert (result.value, result.low, result.high, result.n) == (None, None, None, 0)
    assert result.left_out == len(counts)


def test_items_with_another_number_of_ratings_are_reported() -> None:
    kappa = fleiss_kappa(np.array([[3, 0], [0, 3], [1, 1]]))
    assert (kappa.value, kappa.n, kappa.left_out) == (1, 2, 1)


def test_one_item_twice_by_one_rater_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        ratings_from_triples([("d1", "ann", 1), ("d1", "ann", 2)])
    with pytest.raises(ValueError, match="not one of the categories"):
        ratings_from_triples([("d1", "ann", 7)], categories=[0, 1])


def test_confusion_between_ann_and_bob() -> None:
    ratings = ratings_from_triples(
        [
            ("d1", "ann", "a"),
            ("d1", "bob", "b"),
            ("d2", "ann", "a"),
            ("d2", "bob", "a"),
            ("d3", "carlos", "b"),
        ]
    )
    assert confusion_between(ratings, "ann", "bob").tolist() == [[1, 1], [0, 0]]
    assert confusion_of_pairs(ratings.counts()).tolist() == [[2, 1], [1, 0]]
    (pair,) = confusion_by_pair(ratings)
    assert (pair.one, pair.other, pair.counts.tolist()) == ("ann", "bob", [[1, 1], [0, 0]])


def test_ann_rates_one_point_higher_than_the_others() -> None:
    ratings = ratings_from_triples([
        ("d1", "ann", 2), ("d1", "bob", 1), ("d2", "ann", 1), ("d2", "bob", 0), ("d3", "carlos", 0),
    ])  # fmt: skip
    ann, bob, carlos = rater_bias(ratings)
    assert (ann.value, ann.n, bob.value) == (1.0, 2, -1.0)
    assert (carlos.value, carlos.n) == (None, 0)


def test_a_rater_without_variance_has_no_z_scores_and_is_counted() -> None:
    scores = z_scores(
        ratings_from_triples([("d1", "ann", 1), ("d2", "ann", 3), ("d1", "bob", 2), ("d2", "bob", 2)])
    )
    assert (scores.excluded, scores.left_out) == (("bob",), 2)
    assert scores.item_means() == pytest.approx({"d1": -(0.5**0.5), "d2": 0.5**0.5})


def test_votes() -> None:
    assert (majority(["a", "b", "a"]), majority(["a", "b"]), majority([])) == ("a", None, None)
    assert (median_vote([0, 2, 1], [0, 1, 2]), median_vote([], [0])) == (1, None)
    counts = np.array([[1, 1, 1], [0, 1, 2], [0, 0, 0]])
    assert majority_codes(counts).tolist() == [-1, 2, -1]
    assert majority_codes(counts, fallback="median").tolist() == [1, 2, -1]


@pytest.mark.parametrize("values", [np.full((3, 2), 5.0), np.array([[1.0, np.nan]]), np.full((2, 2), np.nan)])
@pytest.mark.parametrize("kind", ["1,1", "1,k", "2,1", "2,k"])
def test_sliders_without_variance_or_overlap_have_no_icc(values: np.ndarray, kind: str) -> None:
    assert icc(values, kind).value is None  # type: ignore[arg-type]
