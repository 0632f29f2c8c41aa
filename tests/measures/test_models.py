"""Scores of models: distributions, ranking, classification."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import average_precision_score

from measures.classification import classification
from measures.dialeval import distribution, jsd, mean_score, nmd, nugget_score, rnss, rsnod
from measures.ranking import ScoredTurn, human_rank, pairwise_accuracy, rank_humans


def test_distances_of_distributions_by_hand() -> None:
    p, q = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    assert [float(measure(p, q)) for measure in (nmd, rnss, jsd, rsnod)] == [1.0, 1.0, 1.0, 1.0]
    # Half moved by one bin. DW is (.25, .25, .75); p uses the first bin only, q the first two.
    r = [0.5, 0.5, 0.0]
    assert [float(nmd(p, r)), float(rnss(p, r))] == pytest.approx([0.25, 0.5])
    assert float(rsnod(p, r)) == pytest.approx(0.125**0.5)


def test_jsd_is_scipys_and_works_on_many_at_once() -> None:
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(5), 20), rng.dirichlet(np.ones(5), 20)
    assert jsd(p, q) == pytest.approx(
        np.array([jensenshannon(a, b, base=2) ** 2 for a, b in zip(p, q, strict=True)])
    )
    for measure in (nmd, rsnod, rnss, jsd):
        assert measure(p, q).shape == (20,)
        assert measure(p, q) == pytest.approx(measure(q, p))
        assert measure(p, p) == pytest.approx(np.zeros(20), abs=1e-12)


def test_impossible_distributions_are_refused() -> None:
    for p, q in (([1.0], [0.5, 0.5]), ([-1.0, 2.0], [1.0, 0.0]), ([0.0, 0.0], [1.0, 0.0])):
        with pytest.raises(ValueError, match="istribution"):
            rnss(p, q)
    with pytest.raises(ValueError, match="order"):
        nmd([1.0], [1.0])
    with pytest.raises(ValueError, match="rating"):
        distribution([], ["a"])


def test_turns_of_both_sides_weigh_alike() -> None:
    assert distribution(["a", "b", "a", "a"], ["a", "b", "c"]).tolist() == [0.75, 0.25, 0.0]
    assert nugget_score([0.2, 0.4], [0.5]) == pytest.approx(0.4)
    assert (nugget_score([0.2], []), nugget_score([], [])) == (0.2, None)
    assert (mean_score([0.5, None, 1.0]).value, mean_score([]).value) == (0.75, None)


def test_the_human_reply_ranks_below_its_ties_and_not_against_itself() -> None:
    turn = ScoredTurn("hi", 0.5, ("hi", "yo", "hey", "hm"), (0.9, 0.5, 0.7, 0.1))
    assert human_rank(turn) == 3
    result = rank_humans(
        [turn, ScoredTurn("hi", 1.0, ("yo",), (0.0,)), ScoredTurn("hi", 1.0, ("hi",), (0.0,))]
    )
    assert (result.map.value, result.p_at_1.value) == pytest.approx((2 / 3, 0.5))
    assert (result.mrr.n, result.mrr.left_out) == (2, 1)
    assert rank_humans([]).map.value is None


def test_copies_that_count_as_relevant_raise_average_precision_alone() -> None:
    turn = ScoredTurn("hi", 0.5, ("yo", "hey"), (0.9, 0.1), copies=1)
    result = rank_humans([turn])
    # The copy stands right behind the human reply.
    expected = average_precision_score([0, 1, 1, 0], [0.9, 0.5, 0.49, 0.1])
    assert result.map.value == pytest.approx(expected) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert (result.mrr.value, result.p_at_1.value) == (0.5, 0)
    first = ScoredTurn("hi", 1.0, ("yo",), (0.0,), copies=2)
    assert rank_humans([first]).map.value == 1


def test_scores_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="number"):
        human_rank(ScoredTurn("hi", float("nan"), ("yo",), (0.0,)))
    with pytest.raises(ValueError, match="two scores"):
        pairwise_accuracy([1.0], [])
    assert pairwise_accuracy([1.0, 2.0, 0.0], [0.0, 2.0, 1.0]).value == pytest.approx(1 / 3)


def test_a_classifier_by_hand() -> None:
    gold, predicted = [0, 0, 1, 1, 2, 2, 2, 2], [0, 1, 1, 1, 2, 2, 0, 1]
    result = classification(gold, predicted, [0, 1, 2])
    assert result.confusion == ((1, 1, 0), (0, 2, 0), (1, 1, 2))
    assert result.accuracy.value == 5 / 8
    assert result.uar.value == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert result.precision.value == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert result.f1.value == pytest.approx((0.5 + 2 / 3 + 2 / 3) / 3)
    assert result.kappa.value == pytest.approx((5 / 8 - 20 / 64) / (1 - 20 / 64))
    assert result.pearson is not None
    assert result.spearman is not None
    assert result.pearson.value == pytest.approx(pearsonr(gold, predicted)[0])
    assert result.spearman.value == pytest.approx(spearmanr(gold, predicted)[0])
    assert classification(gold, predicted, [0, 1, 2], uar_classes=5).uar.value == pytest.approx(0.4)


def test_a_classifier_without_data_or_variance_has_no_nan() -> None:
    nothing = classification([], [], [0, 1])
    assert (nothing.accuracy.value, nothing.f1.value) == (None, None)
    flat = classification([1, 1], [1, 1], [0, 1])
    assert (flat.accuracy.value, flat.kappa.value) == (1, None)
    assert flat.pearson is not None
    assert flat.pearson.value is None
    assert classification(["a"], ["a"], ["a", "b"]).spearman is None
    with pytest.raises(ValueError, match="not one of the classes"):
        classification([3], [0], [0, 1])
