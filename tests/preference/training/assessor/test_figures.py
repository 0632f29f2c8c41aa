"""metrics.json against scikit-learn and scipy, computed from predictions.jsonl alone."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sklearn_metrics
from sklearn.calibration import calibration_curve

from preference.training.assessor.figures import METRICS, distribution, mean_shift, metrics
from preference.training.assessor.task import QUALITY, PredictionTask
from tests.preference.training.assessor.conftest import json_of, predictions_of
from tests.preference.training.assessor.synthetic import BAYES


def by_other_libraries(rows: list[dict[str, Any]]) -> dict[str, float]:
    gold = [row["label"] for row in rows]
    predicted = [row["prediction"] for row in rows]
    recalls = sklearn_metrics.recall_score(gold, predicted, average=None, labels=[0, 1, 2], zero_division=0)
    macro = {"average": "macro", "zero_division": 0}
    return {
        "accuracy": sklearn_metrics.accuracy_score(gold, predicted),
        "uar": sklearn_metrics.balanced_accuracy_score(gold, predicted),
        "uar_paper": recalls.sum() / 5,
        "kappa": sklearn_metrics.cohen_kappa_score(gold, predicted),
        "spearman": stats.spearmanr(gold, predicted)[0],
        "pearson": stats.pearsonr(gold, predicted)[0],
        "precision": sklearn_metrics.precision_score(gold, predicted, **macro),
        "recall": sklearn_metrics.recall_score(gold, predicted, **macro),
        "f1": sklearn_metrics.f1_score(gold, predicted, **macro),
        "ece": expected_calibration_error(rows),
        "mae": sklearn_metrics.mean_absolute_error(gold, predicted),
    }


def expected_calibration_error(rows: list[dict[str, Any]]) -> float:
    correct = np.array([row["label"] == row["prediction"] for row in rows], float)
    confidence = np.array([max(row["probabilities"]) for row in rows])
    accuracy, mean = calibration_curve(correct, confidence, n_bins=15)
    sizes = np.histogram(confidence, bins=np.linspace(0, 1, 16))[0]
    return float(np.abs(accuracy - mean) @ sizes[sizes > 0] / len(rows))


def test_metrics_equal_those_of_other_libraries_on_the_predictions_file(full_run: Path) -> None:
    figures = json_of(full_run / "metrics.json")
    rows = [row for row in predictions_of(full_run) if row["split"] == "test"]
    assert {row["model"] for row in rows} == figures.keys()
    for model, group in itertools.groupby(rows, key=lambda row: row["model"]):
        if model == "majority":
            continue
        for name, value in by_other_libraries(list(group)).items():
            figure = figures[model][name]
            assert figure["value"] == pytest.approx(value, abs=1e-9), (model, name)
            # The resampled calibration error is above the observed one: a resample has noise of its own.
            if name != "ece":
                assert figure["low"] <= figure["value"] <= figure["high"], (model, name)


@pytest.mark.soak
def test_every_neural_model_reaches_the_bayes_rate(full_run: Path, encoder: Path, decoder: Path) -> None:
    figures = json_of(full_run / "metrics.json")
    for model in ("gru", "transformer", str(encoder), str(decoder)):
        accuracy = figures[model]["accuracy"]
        assert accuracy["low"] <= BAYES <= accuracy["high"], (model, accuracy)


def test_the_majority_is_undefined_where_it_has_to_be(full_run: Path) -> None:
    figures = json_of(full_run / "metrics.json")["majority"]
    assert figures["accuracy"]["value"] == pytest.approx(1 / 3)
    assert figures["kappa"]["value"] == pytest.approx(0)
    for name in ("spearman", "pearson"):
        assert figures[name]["value"] is figures[name]["low"] is figures[name]["high"] is None
        assert "one class" in figures[name]["reason"]


def test_predictions_are_the_most_probable_class(full_run: Path) -> None:
    for row in predictions_of(full_run):
        assert set(row) == {"id", "split", "model", "label", "prediction", "probabilities"}
        assert row["split"] in ("valid", "test")
        assert sum(row["probabilities"]) == pytest.approx(1)
        assert row["prediction"] == int(np.argmax(row["probabilities"]))


def test_a_class_missing_in_test_is_left_out_of_recall() -> None:
    probabilities = np.eye(3)[[0, 1, 1, 1]]
    figures = metrics([0, 0, 1, 1], probabilities, QUALITY)
    assert figures["uar"]["value"] == pytest.approx((0.5 + 1) / 2)
    assert figures["uar_paper"]["value"] == pytest.approx(1.5 / 5)


def test_no_dialogue_has_no_figures() -> None:
    figures = metrics([], np.zeros((0, 3)), QUALITY)
    assert set(figures) == set(METRICS)
    assert all(figure["value"] is None and figure["reason"] for figure in figures.values())


def test_unordered_classes_have_no_correlation() -> None:
    topics = PredictionTask(("food", "travel"), ordered=False)
    figures = metrics(["food", "travel"], np.eye(2), topics)
    assert figures["accuracy"]["value"] == 1
    assert figures["pearson"]["reason"] == "The classes are not ordered."


def test_distribution_and_shift_by_hand() -> None:
    before, after = np.eye(3)[[0, 1, 2, 2]], np.eye(3)[[0, 0, 1, 2]]
    assert distribution(before) == [0.25, 0.25, 0.5]
    assert mean_shift(before, after, QUALITY)["value"] == pytest.approx(-0.5)
