"""A median with a distribution-free confidence interval."""

from collections.abc import Sequence
from statistics import median

import numpy as np
from scipy.special import bdtr

from measures.estimate import Estimate, undefined


def median_estimate(values: Sequence[float]) -> Estimate:
    """The median and its 95 % interval from order statistics (Conover, 1999, section 3.2).

    The interval runs from the k-th smallest to the k-th largest value, with the largest k for which a binomial (n, 1/2)
    falls below k with at most 2.5 %. Below six values there is none. Undefined without values.
    """
    n = len(values)
    if not n:
        return undefined(0)
    ordered = sorted(values)
    # Values that may be left out at each end: so many terms of the binomial's distribution are at most 2.5 %.
    below = int(np.searchsorted(bdtr(np.arange(n), n, 0.5), 0.025, side="right"))
    if below < 1:
        return Estimate(median(ordered), None, None, n)
    return Estimate(median(ordered), ordered[below - 1], ordered[n - below], n)
