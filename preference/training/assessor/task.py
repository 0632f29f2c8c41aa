"""What is predicted about a dialogue: its classes, and whether they are steps of a scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from measures.bootstrap import Floats, Ints

Label = int | str


@dataclass(frozen=True, slots=True)
class PredictionTask:
    """classes: at least two, in the order of the model's outputs. column: where a row of the data has its label.

    ordered: the classes are numbers on a scale, so that an expected value and correlations make sense. other_names: of
    classes, as data may write them.
    """

    classes: tuple[Label, ...]
    ordered: bool
    column: str = "label"
    other_names: Mapping[str, Label] = field(default_factory=dict)

    def codes(self, labels: Iterable[Label]) -> Ints:
        """The place of each label among the classes, shape (labels,). Raises ValueError for an unknown label."""
        return np.array([self.classes.index(label) for label in labels], np.int64)

    def labels(self, codes: Iterable[int]) -> list[Label]:
        """The labels at these places."""
        return [self.classes[code] for code in codes]

    def expected(self, probabilities: Floats) -> Floats:
        """Σ_k p_k · class_k, shape (dialogues,), from probabilities of shape (dialogues, classes).

        Raises ValueError if the classes are unordered.
        """
        if not self.ordered:
            raise ValueError("Unordered classes have no expected value.")
        expected: Floats = probabilities @ np.array(self.classes, np.float64)
        return expected

    def parse(self, value: object) -> Label | None:
        """The class that a JSON value names, or None. 1.0 and "1" name the class 1, as other tools write it."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        by_text = {**self.other_names, **{str(name): name for name in self.classes}}
        is_whole = isinstance(value, float) and value.is_integer()
        return by_text.get(str(int(value)) if is_whole else str(value).strip())

    def as_dict(self) -> dict[str, Any]:
        """What a trained model must know; other_names only matter in reading data."""
        return {"classes": list(self.classes), "ordered": self.ordered, "column": self.column}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PredictionTask:
        """The inverse of as_dict."""
        return cls(tuple(values["classes"]), bool(values["ordered"]), str(values["column"]))


# 0: the question is not answered well; 1: basic, incomplete or not proactive; 2: fully answered (DiQAD, figures 7-9).
QUALITY = PredictionTask((0, 1, 2), ordered=True)
