"""What goes wrong with each class: items wrongly put into it, and items of it that were missed."""

from collections.abc import Sequence
from dataclasses import dataclass

from measures.proportion import Proportion, proportion
from measures.ratings import Value


@dataclass(frozen=True, slots=True)
class ClassErrors:
    """Counts of one class against all others.

    precision: share of true ones among those predicted as the class. recall: share of the class that was found.
    false_positive_rate: share of the items of other classes that were predicted as this one.
    """

    name: Value
    true_positives: int
    false_positives: int
    false_negatives: int
    precision: Proportion
    recall: Proportion
    false_positive_rate: Proportion


def class_errors(confusion: Sequence[Sequence[int]], classes: Sequence[Value]) -> tuple[ClassErrors, ...]:
    """The errors of every class, in their order.

    confusion[i][j]: number of items of gold class i that were predicted as j, as in `classification`.
    """
    total = sum(map(sum, confusion))
    return tuple(_errors_of(confusion, place, name, total) for place, name in enumerate(classes))


def _errors_of(confusion: Sequence[Sequence[int]], place: int, name: Value, total: int) -> ClassErrors:
    found = confusion[place][place]
    gold, predicted = sum(confusion[place]), sum(row[place] for row in confusion)
    return ClassErrors(
        name=name,
        true_positives=found,
        false_positives=predicted - found,
        false_negatives=gold - found,
        precision=proportion(found, predicted),
        recall=proportion(found, gold),
        false_positive_rate=proportion(predicted - found, total - gold),
    )
