"""People beside machines: a judge is useful only relative to how well people agree with each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from measures.agreement import krippendorff_alpha, percent_agreement
from measures.beside_people import beside_people, people_agreement
from measures.bootstrap import Floats
from measures.class_errors import class_errors
from measures.classification import classification
from measures.paired_bootstrap import Measure
from measures.pairs import cohen_kappa, confusion_between
from measures.ratings import Ratings, Value, ratings_from_triples
from preference.training.meta.data import EvaluatorResult, JudgedReply, Label
from preference.training.meta.scores import Figures, Resampling, difference_figures, histories

COMPARED: tuple[Measure, ...] = ("pearson", "spearman")


def people_figures(
    replies: Sequence[JudgedReply], results: Sequence[EvaluatorResult], resampling: Resampling
) -> Figures | None:
    """Each person against the mean of the others, and each evaluator against the same means, minus that person.

    None unless at least two people judged some of the same replies.
    """
    people = list(dict.fromkeys(person for each in replies for person in each.humans))
    ratings = _rating_table(replies, people)
    if not (np.isfinite(ratings).sum(axis=1) >= 2).any():
        return None
    clusters = histories(replies)
    figures: Figures = {"people": people}
    for measure in COMPARED:
        options: dict[str, Any] = {"measure": measure, "clusters": clusters, **resampling.options()}
        agreement = people_agreement(ratings, people, **options)
        found = {result.name: beside_people(result.values, ratings, **options) for result in results}
        figures[measure] = {
            "by_person": {str(person): each.as_dict() for person, each in agreement.people.items()},
            "mean": agreement.mean.as_dict(),
            "evaluators": {name: difference_figures(each, None) for name, each in found.items()},
        }
    return figures


def _rating_table(replies: Sequence[JudgedReply], people: Sequence[str]) -> Floats:
    """Shape (replies, people); NaN for a person who did not judge the reply."""
    rows = [[each.humans.get(person, np.nan) for person in people] for each in replies]
    return np.array(rows, np.float64).reshape(len(replies), len(people))


def label_figures(
    result: EvaluatorResult, replies: Sequence[JudgedReply], resampling: Resampling
) -> Figures | None:
    """An evaluator's labels (the column `label` of its rows) against people's: κ, confusion, errors by class.

    None if no row has both.
    """
    pairs = [
        (each.label, label)
        for each, label in zip(replies, evaluator_labels(result), strict=True)
        if each.label is not None and label is not None
    ]
    if not pairs:
        return None
    gold, predicted = [one for one, _ in pairs], [other for _, other in pairs]
    classes = _sorted_labels([*gold, *predicted])
    found = classification(gold, predicted, classes, **resampling.options())
    measures = ("accuracy", "uar", "kappa", "precision", "recall", "f1")
    return {
        "n": len(pairs),
        "classes": list(classes),
        "confusion": [list(row) for row in found.confusion],
        **{name: getattr(found, name).as_dict() for name in measures},
        "errors": [
            {
                "class": each.name,
                "true_positives": each.true_positives,
                "false_positives": each.false_positives,
                "false_negatives": each.false_negatives,
                "precision": each.precision.share,
                "recall": each.recall.share,
                "false_positive_rate": each.false_positive_rate.share,
            }
            for each in class_errors(found.confusion, classes)
        ],
    }


def people_label_figures(
    replies: Sequence[JudgedReply], results: Sequence[EvaluatorResult], resampling: Resampling
) -> Figures | None:
    """Agreement of people on labels, and Cohen's κ of each evaluator with a person beside that of two people.

    None unless two people labelled some of the same replies.
    """
    people = list(dict.fromkeys(person for each in replies for person in each.labels))
    triples = [(each.reply.id, person, label) for each in replies for person, label in each.labels.items()]
    ratings = ratings_from_triples(triples)
    if not (ratings.counts().sum(axis=1) >= 2).any():
        return None
    options: dict[str, Any] = {**resampling.options()}
    between_people = [_kappa(ratings, *pair) for pair in combinations(people, 2)]
    return {
        "people": people,
        "percent": percent_agreement(ratings.counts(), **options).as_dict(),
        "krippendorff_alpha": krippendorff_alpha(ratings.counts(), **options).as_dict(),
        "mean_kappa": _mean(between_people),
        "evaluators": {result.name: _mean_kappa_with_people(result, triples, people) for result in results},
    }


def _mean_kappa_with_people(
    result: EvaluatorResult, triples: list[tuple[str, str, Label]], people: Sequence[str]
) -> float | None:
    machine = ""  # no person's name is empty
    own = [
        (score.id, machine, label)
        for score, label in zip(result.scores, evaluator_labels(result), strict=True)
        if label is not None
    ]
    ratings = ratings_from_triples([*triples, *own])
    return _mean([_kappa(ratings, machine, person) for person in people]) if own else None


def _kappa(ratings: Ratings, one: str, other: str) -> float | None:
    return cohen_kappa(confusion_between(ratings, one, other)).value


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def evaluator_labels(result: EvaluatorResult) -> list[Label | None]:
    """The label that an evaluator gave each row; None for a row, or an evaluator, without."""
    labels = (score.details.get("label") for score in result.scores)
    return [
        label if isinstance(label, str | int) and not isinstance(label, bool) else None for label in labels
    ]


def _sorted_labels(labels: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(sorted(set(labels), key=lambda label: (isinstance(label, str), label)))
