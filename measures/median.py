"""A median with a distribution-free confidence interval."""

from collections.abc import Sequence
from statistics import median

from scipy.stats import binom

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
    below = int(binom.ppf(0.025, n, 0.5))  # values that may be left out at each end
    below -= bool(binom.cdf(below - 1, n, 0.5) > 0.025)
    if below < 1:
        return Estimate(median(ordered), None, None, n)
    return Estimate(median(ordered), ordered[below - 1], ordered[n - below], n)
