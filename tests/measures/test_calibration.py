"""Expected calibration error and reliability bins."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from measures.calibration import calibration


def test_by_hand() -> None:
    # Bins of width 0.5: three predictions above 0.5, two of them right.
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    result = calibration(probabilities, np.array([0, 1, 1]), bins=2)
    assert result.ece.value == pytest.approx(abs(2 / 3 - 0.8))
    assert [(one.low, one.high, one.n) for one in result.bins] == [(0, 0.5, 0), (0.5, 1, 3)]
    assert result.bins[0].accuracy is None
    assert result.bins[1].confidence == pytest.approx(0.8)


def test_bins_equal_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    probabilities = rng.dirichlet(np.ones(3), 500)
    gold = rng.integers(0, 3, 500)
    result = calibration(probabilities, gold, bins=10)
    correct = probabilities.argmax(axis=1) == gold
    accuracy, confidence = calibration_curve(correct, probabilities.max(axis=1), n_bins=10)
    filled = [one for one in result.bins if one.n]
    assert [one.accuracy for one in filled] == pytest.approx(accuracy.tolist())
    assert [one.confidence for one in filled] == pytest.approx(confidence.tolist())


def test_a_perfect_and_confident_classifier_has_no_error() -> None:
    gold = np.array([0, 1, 2, 1])
    result = calibration(np.eye(3)[gold], gold)
    assert (result.ece.value, result.ece.low, result.ece.high) == (0, 0, 0)


def test_without_items_there_is_no_error_to_estimate() -> None:
    result = calibration(np.zeros((0, 3)), np.zeros(0, np.int64))
    assert result.ece.value is None
    assert sum(one.n for one in result.bins) == 0
    with pytest.raises(ValueError, match="cannot be compared"):
        calibration(np.zeros((1, 3)), np.zeros(0, np.int64))
