"""From probabilities to the figures of Table 3, as plain JSON values.

Every figure is {"value", "low", "high", "n"} with a 95 % interval from a bootstrap over dialogues. A figure that is
undefined has the value null, and `reason` says why.

uar is the mean recall of the classes that occur. The paper's column UAR equals Σ recalls / 5 in 9 of 11 rows of Table
3: evidently an average over five classes, -2 … 2, two of which never occur. `uar_paper` is that number, for comparison
with the paper only: with three classes it cannot exceed 0.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from measures.bootstrap import REPLICATES, Floats, bootstrap_mean
from measures.calibration import calibration
from measures.classification import Classification, classification
from measures.estimate import Estimate, undefined
from preference.training.assessor.task import Label, PredictionTask
from preference.training.common.messages import gettext as _

METRICS = (
    "accuracy",
    "uar",
    "uar_paper",
    "kappa",
    "spearman",
    "pearson",
    "precision",
    "recall",
    "f1",
    "ece",
    "mae",
)
PAPER_CLASSES = 5
Figures = dict[str, Any]


def metrics(
    gold: Sequence[Label],
    probabilities: Floats,
    task: PredictionTask,
    *,
    has_probabilities: bool = True,
    replicates: int = REPLICATES,
) -> Figures:
    """Every one of METRICS. gold: labels. probabilities: shape (dialogues, classes).

    has_probabilities: False if they only say which class was predicted. replicates: of the bootstrap; 0 gives no
    intervals.
    """
    predicted = task.labels(probabilities.argmax(axis=1)) if len(gold) else []
    compared = classification(gold, predicted, task.classes, replicates=replicates)
    paper = classification(
        gold, predicted, task.classes, uar_classes=PAPER_CLASSES, replicates=replicates
    ).uar
    estimates: dict[str, Estimate | None] = {
        name: getattr(compared, name) for name in METRICS if name not in ("uar_paper", "ece")
    }
    estimates["uar_paper"] = paper if task.ordered else None
    estimates["ece"] = calibration(probabilities, task.codes(gold), replicates=replicates).ece
    figures = {name: _figure(estimates[name], len(gold)) for name in METRICS}
    if not has_probabilities:
        unknown = undefined(len(gold)).as_dict()
        figures["ece"] = {**unknown, "reason": _("The predictions have no probabilities.")}
    return figures


def _figure(estimate: Estimate | None, n: int) -> Figures:
    """An estimate as JSON; with a reason if it is undefined."""
    if estimate is None:
        return {**undefined(n).as_dict(), "reason": _("The classes are not ordered.")}
    if estimate.value is not None:
        return estimate.as_dict()
    reason = _("No dialogue to test on.")
    if n:
        reason = _("All labels, or all predictions, are of one class.")
    return {**estimate.as_dict(), "reason": reason}


def compare_classes(
    gold: Sequence[Label], probabilities: Floats, task: PredictionTask, *, has_probabilities: bool = True
) -> Figures:
    """What the plots show: confusion, recall of every class, and reliability, empty without probabilities."""
    predicted = task.labels(probabilities.argmax(axis=1)) if len(gold) else []
    compared = classification(gold, predicted, task.classes, replicates=0)
    bins = calibration(probabilities, task.codes(gold), replicates=0).bins if has_probabilities else ()
    return {
        "classes": list(task.classes),
        "confusion": [list(row) for row in compared.confusion],
        "recalls": _recalls(compared),
        "reliability": [
            {
                "low": one.low,
                "high": one.high,
                "n": one.n,
                "confidence": one.confidence,
                "accuracy": one.accuracy,
            }
            for one in bins
        ],
    }


def _recalls(compared: Classification) -> list[float | None]:
    return [row[place] / sum(row) if sum(row) else None for place, row in enumerate(compared.confusion)]


def distribution(probabilities: Floats) -> list[float]:
    """The share of dialogues predicted as each class; empty without dialogues."""
    if not len(probabilities):
        return []
    counts = np.bincount(probabilities.argmax(axis=1), minlength=probabilities.shape[1])
    return [float(count) / len(probabilities) for count in counts]


def mean_shift(before: Floats, after: Floats, task: PredictionTask) -> Figures:
    """How much the predicted label moves on average, paired by dialogue; above 0 means upwards.

    before, after: probabilities of the same dialogues, shape (dialogues, classes).
    """
    scale = np.array(task.classes, np.float64)
    moved = scale[after.argmax(axis=1)] - scale[before.argmax(axis=1)]
    return bootstrap_mean(moved).as_dict()


def chosen(figures: Mapping[str, Any], names: Sequence[str]) -> Figures:
    """Some of the metrics, in this order."""
    return {name: figures[name] for name in names}
