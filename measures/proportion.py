"""A proportion with its confidence interval."""

import math
from dataclasses import dataclass

Z_95 = 1.959963984540054  # two-sided 95 % quantile of the normal distribution


@dataclass(frozen=True, slots=True)
class Proportion:
    """count of n. share and its 95 % interval are between 0 and 1, or None if n is 0."""

    count: int
    n: int
    share: float | None
    low: float | None
    high: float | None


def proportion(count: int, n: int) -> Proportion:
    """The proportion count / n with its score interval (Wilson, 1927), which stays within 0 and 1 even for small n.

    Raises ValueError unless 0 <= count <= n.
    """
    if not 0 <= count <= n:
        raise ValueError(f"{count} of {n} is not a proportion")
    if n == 0:
        return Proportion(count, n, None, None, None)
    share, spread = count / n, Z_95**2 / n
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return Proportion(count, n, share, max(0.0, middle - half), min(1.0, middle + half))
