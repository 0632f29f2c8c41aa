"""Which validation of a run was the best, and whether training goes on.

Both follow from the list of validations, which every checkpoint holds. A resumed run therefore chooses the same
weights, and stops at the same step, as one that was never stopped; and since all processes have the same list, they
agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LAST = "last"  # best_by: no validation chooses, the run ends with the weights of its last step
HIGHER_IS_BETTER = frozenset({"p_at_1"})
KEY = "validation"  # of an entry in the Trainer's log_history
Figures = dict[str, float]
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Validation:
    """What was measured after an optimiser step.

    is_best: whether it was the best so far, and the weights of its step are kept.
    """

    step: int
    figures: Figures
    is_best: bool

    def as_entry(self) -> Entry:
        """As the Trainer's log_history, and with it every checkpoint, stores it."""
        return {"step": self.step, KEY: self.figures, "is_best": self.is_best}


def validations_in(log_history: Sequence[Mapping[str, Any]]) -> Iterator[Validation]:
    """The validations among the Trainer's entries, the oldest first."""
    for entry in log_history:
        if KEY in entry:
            yield Validation(entry["step"], entry[KEY], entry["is_best"])


@dataclass(frozen=True, slots=True)
class ValidationRules:
    """every: optimiser steps, 0: the end of every epoch, None: never. patience: validations without a better one after
    which training stops, 0: never. best_by: the figure that decides, or LAST.
    """

    every: int | None
    patience: int = 0
    best_by: str = LAST

    def is_due(self, step: int, *, ends_epoch: bool, is_last: bool) -> bool:
        """Whether to validate after `step`, counted from 1. The last step always counts: it may be the best."""
        if self.every is None:
            return False
        return is_last or (step % self.every == 0 if self.every else ends_epoch)

    def improves(self, figures: Figures, earlier: Sequence[Validation]) -> bool:
        """Whether these figures are better than the best so far; equal ones are not."""
        if self.best_by == LAST:
            return False
        best = best_of(earlier)
        if best is None:
            return True
        mine, others = figures[self.best_by], best.figures[self.best_by]
        return mine > others if self.best_by in HIGHER_IS_BETTER else mine < others

    def is_exhausted(self, validations: Sequence[Validation]) -> bool:
        """Whether as many validations as `patience` says have passed since the best one."""
        best = best_of(validations)
        if not self.patience or best is None:
            return False
        return sum(validation.step > best.step for validation in validations) >= self.patience


def best_of(validations: Sequence[Validation]) -> Validation | None:
    """The newest of those that were the best so far."""
    return next((validation for validation in reversed(validations) if validation.is_best), None)
