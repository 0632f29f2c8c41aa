"""How unsure a classifier is."""

import math

import numpy as np
import pytest

from measures.uncertainty import normalised_entropy


def test_equal_classes_are_as_uncertain_as_can_be_and_one_class_is_certain() -> None:
    entropies = normalised_entropy(np.array([[1 / 3, 1 / 3, 1 / 3], [0.0, 1.0, 0.0]]))
    assert entropies == pytest.approx([1, 0])


def test_the_value_is_the_formula() -> None:
    p = [0.5, 0.3, 0.2]
    (entropy,) = normalised_entropy(np.array([p]))
    assert entropy == pytest.approx(-sum(x * math.log(x) for x in p) / math.log(3))
