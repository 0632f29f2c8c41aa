"""Measures of predicted against gold classes (DiQAD paper, Table 3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from measures.bootstrap import REPLICATES, SEED, Floats, Ints, bootstrap_estimate
from measures.estimate import Estimate
from measures.ratings import Value, numeric_categories


@dataclass(frozen=True, slots=True)
class Classification:
    """The measures of one comparison.

    confusion[i][j]: number of items of gold class i that were predicted as j, in the order of `classes`. uar:
    unweighted average recall of the gold classes. precision, recall, f1: means over the classes that occur in gold or
    prediction; 0 for a class that is never predicted or never gold. mae: mean distance of the predicted from the gold
    class. spearman, pearson, mae: None for unordered classes.
    """

    classes: tuple[Value, ...]
    confusion: tuple[tuple[int, ...], ...]
    accuracy: Estimate
    uar: Estimate
    kappa: Estimate
    spearman: Estimate | None
    pearson: Estimate | None
    precision: Estimate
    recall: Estimate
    f1: Estimate
    mae: Estimate | None


def classification(
    gold: Sequence[Value],
    predicted: Sequence[Value],
    classes: Sequence[Value],
    *,
    uar_classes: int | None = None,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Classification:
    """Compute all measures of Table 3; intervals resample items. Correlations require numeric classes.

    uar_classes: the number of classes that recall is averaged over; by default those in gold. The paper's Table 3 uses
    5, two of which never occur in its test set, so its UAR is 3/5 of its recall.
    Raises ValueError for unequal lengths or a class that is not listed.
    """
    table = _confusion(gold, predicted, classes)
    width = len(classes)

    def estimate(measure: Callable[[Floats], Floats]) -> Estimate:
        cells = table.ravel()
        present = np.flatnonzero(cells)

        def statistic(weights: Floats) -> Floats:
            full = np.zeros((len(weights), width * width))
            full[:, present] = weights
            return measure(full.reshape(-1, width, width))

        return bootstrap_estimate(statistic, cells[present], replicates=replicates, seed=seed)

    ordered = all(not isinstance(value, str) for value in classes)
    scale = numeric_categories(classes) if ordered else None
    return Classification(
        classes=tuple(classes),
        confusion=tuple(tuple(row) for row in table.tolist()),
        accuracy=estimate(_accuracy),
        uar=estimate(lambda tables: _uar(tables, uar_classes)),
        kappa=estimate(_kappa),
        spearman=estimate(_spearman) if ordered else None,
        pearson=None
        if scale is None
        else estimate(lambda tables: _pearson(tables, *_scale_values(tables, scale))),
        precision=estimate(lambda tables: _macro(tables, _shares(tables, 1))),
        recall=estimate(lambda tables: _macro(tables, _shares(tables, 2))),
        f1=estimate(lambda tables: _macro(tables, _f1(tables))),
        mae=None if scale is None else estimate(lambda tables: _mean_distance(tables, scale)),
    )


def _confusion(gold: Sequence[Value], predicted: Sequence[Value], classes: Sequence[Value]) -> Ints:
    places = {name: place for place, name in enumerate(classes)}
    unknown = next((name for name in (*gold, *predicted) if name not in places), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is not one of the classes {list(classes)!r}.")
    table = np.zeros((len(classes), len(classes)), np.int64)
    for gold_class, predicted_class in zip(gold, predicted, strict=True):
        table[places[gold_class], places[predicted_class]] += 1
    return table


def _correct(tables: Floats) -> Floats:
    return np.diagonal(tables, axis1=1, axis2=2)


def _accuracy(tables: Floats) -> Floats:
    shares: Floats = _correct(tables).sum(axis=1) / tables.sum(axis=(1, 2))
    return shares


def _shares(tables: Floats, axis: int) -> Floats:
    """The share of correct items among those predicted (axis 1) or gold (axis 2) as each class; 0 without any."""
    total = tables.sum(axis=axis)
    return _divide(_correct(tables), total)


def _uar(tables: Floats, over: int | None) -> Floats:
    classes = (tables.sum(axis=2) > 0).sum(axis=1) if over is None else np.full(len(tables), over)
    recalls: Floats = _shares(tables, 2).sum(axis=1) / classes
    return recalls


def _f1(tables: Floats) -> Floats:
    total = tables.sum(axis=1) + tables.sum(axis=2)
    return _divide(2 * _correct(tables), total)


def _divide(part: Floats, total: Floats) -> Floats:
    shares: Floats = np.zeros_like(total)
    np.divide(part, total, out=shares, where=total > 0)
    return shares


def _macro(tables: Floats, values: Floats) -> Floats:
    occurring = tables.sum(axis=1) + tables.sum(axis=2) > 0
    means: Floats = (values * occurring).sum(axis=1) / occurring.sum(axis=1)
    return means


def _mean_distance(tables: Floats, scale: Floats) -> Floats:
    distances = np.abs(scale[:, None] - scale)
    means: Floats = (tables * distances).sum(axis=(1, 2)) / tables.sum(axis=(1, 2))
    return means


def _kappa(tables: Floats) -> Floats:
    n = tables.sum(axis=(1, 2))
    expected = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / n**2
    kappas: Floats = np.where(expected < 1, (_accuracy(tables) - expected) / (1 - expected), np.nan)
    return kappas


def _scale_values(tables: Floats, scale: Floats) -> tuple[Floats, Floats]:
    total = np.broadcast_to(scale - scale.mean(), (len(tables), scale.size))
    return total, total


def _spearman(tables: Floats) -> Floats:
    return _pearson(tables, _mid_ranks(tables.sum(axis=2)), _mid_ranks(tables.sum(axis=1)))


def _mid_ranks(margins: Floats) -> Floats:
    ranks: Floats = np.cumsum(margins, axis=1) - margins / 2 - margins.sum(axis=1, keepdims=True) / 2
    return ranks


def _pearson(tables: Floats, gold: Floats, predicted: Floats) -> Floats:
    """Pearson's r of each table. gold, predicted: the value of each class, shape (tables, classes)."""
    n, rows, columns = tables.sum(axis=(1, 2)), tables.sum(axis=2), tables.sum(axis=1)
    x = gold - ((rows * gold).sum(axis=1) / n)[:, None]
    y = predicted - ((columns * predicted).sum(axis=1) / n)[:, None]
    product = np.einsum("bij,bi,bj->b", tables, x, y)
    squares = (rows * x**2).sum(axis=1) * (columns * y**2).sum(axis=1)
    varied = ((rows > 0).sum(axis=1) > 1) & ((columns > 0).sum(axis=1) > 1)
    correlations: Floats = np.where(varied, product / np.sqrt(squares), np.nan)
    return correlations
