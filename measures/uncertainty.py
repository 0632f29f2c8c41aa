"""How unsure a classifier is of each of its predictions."""

import numpy as np

from measures.bootstrap import Floats


def normalised_entropy(probabilities: Floats) -> Floats:
    """−Σ_k p_k ln p_k / ln K for each row: 0 if one class has all of the probability, 1 if all K classes are equal.

    probabilities: shape (rows, classes), at least two classes; every row sums to 1.
    """
    logarithms = np.log(probabilities, where=probabilities > 0, out=np.zeros_like(probabilities))
    entropies: Floats = -(probabilities * logarithms).sum(axis=1) / np.log(probabilities.shape[1])
    return entropies
