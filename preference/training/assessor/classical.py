"""The baselines without a neural network (DiQAD, Table 3), through scikit-learn.

Features: TF-IDF of n-grams (`common.n_grams`).

- majority: the shares of the classes in training, for every dialogue
- naive_bayes: multinomial (McCallum and Nigam, 1998)
- logistic_regression: with an L2 penalty
- gradient_boosting: trees on histograms, in place of the paper's XGBoost, on the features that differ most by class

What a baseline is tuned by (smoothing, penalty) is chosen by macro F1 on the split valid, as the paper does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from measures.bootstrap import Floats
from measures.classification import classification
from preference.training.assessor.data import LabelledDialogue, Turns, turns_of
from preference.training.assessor.input_text import input_text
from preference.training.assessor.task import PredictionTask
from preference.training.common.n_grams import NGrams

BOOSTED_COLUMNS = 1000  # trees need a dense table: 4 bytes for each of these and every dialogue
SMOOTHING = (0.01, 0.1, 1.0)  # of naive Bayes
PENALTIES = (0.3, 1.0, 3.0, 10.0)  # inverse strength, of logistic regression


class ClassicalClassifier:
    """Fitted n-grams and a fitted model of scikit-learn."""

    def __init__(self, n_grams: NGrams, model: Any, task: PredictionTask) -> None:
        self.n_grams, self.model, self.task = n_grams, model, task

    def probabilities(self, dialogues: Sequence[Turns]) -> Floats:
        """Shape (dialogues, classes); 0 for a class that training did not have."""
        table = np.zeros((len(dialogues), len(self.task.classes)))
        if dialogues:
            features = self.n_grams.transform(_texts(dialogues))
            table[:, self.model.classes_] = self.model.predict_proba(features)
        return table


def fit_classical(
    name: str,
    train: Sequence[LabelledDialogue],
    valid: Sequence[LabelledDialogue],
    task: PredictionTask,
    *,
    seed: int,
) -> ClassicalClassifier:
    """Fit every candidate of the baseline; the result is the one with the best macro F1 on valid, the first of equals.

    seed: of the trees.
    """
    n_grams = NGrams()
    features = n_grams.fit_transform(_texts(turns_of(train)))
    labels = task.codes(dialogue.label for dialogue in train)
    models = CLASSICAL[name](seed, features.shape[1])
    with warnings.catch_warnings():
        # A regression stopped after its iterations is a usable baseline; valid decides between the candidates.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = [ClassicalClassifier(n_grams, model.fit(features, labels), task) for model in models]
    return max(fitted, key=lambda classifier: _macro_f1(classifier, valid))


def _texts(dialogues: Sequence[Turns]) -> list[str]:
    return [input_text(turns) for turns in dialogues]


def _macro_f1(classifier: ClassicalClassifier, valid: Sequence[LabelledDialogue]) -> float:
    predicted = classifier.task.labels(classifier.probabilities(turns_of(valid)).argmax(axis=1))
    gold = [dialogue.label for dialogue in valid]
    return classification(gold, predicted, classifier.task.classes, replicates=0).f1.value or 0.0


def _majority(seed: int, columns: int) -> list[Any]:
    return [DummyClassifier(strategy="prior")]


def _naive_bayes(seed: int, columns: int) -> list[Any]:
    return [MultinomialNB(alpha=alpha) for alpha in SMOOTHING]


def _logistic_regression(seed: int, columns: int) -> list[Any]:
    return [LogisticRegression(C=penalty, max_iter=300) for penalty in PENALTIES]


def _gradient_boosting(seed: int, columns: int) -> list[Any]:
    steps = [
        ("select", SelectKBest(chi2, k=min(BOOSTED_COLUMNS, columns))),
        ("dense", FunctionTransformer(lambda table: table.toarray(), accept_sparse=True)),
        ("model", HistGradientBoostingClassifier(random_state=seed)),
    ]
    return [Pipeline(steps)]


# Models to choose from, by seed and number of columns.
CLASSICAL: dict[str, Callable[[int, int], list[Any]]] = {
    "majority": _majority,
    "naive_bayes": _naive_bayes,
    "logistic_regression": _logistic_regression,
    "gradient_boosting": _gradient_boosting,
}
