"""Acceptance sampling: estimates the accuracy of a batch from a sample (DiQAD paper, section 4.2 and A.1).

Thresholds are exact: a float such as 0.92 is read as its shortest decimal, 92 hundredths.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from scipy.special import gammaln

from measures.bootstrap import Floats
from measures.estimate import Estimate, undefined

ROUNDING = 1e-8  # a probability this close to the limit counts as the limit, which is outside the interval

Share = Fraction | Decimal | str | float


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """The probability that a batch with this accuracy (`correct` labels in the population) is accepted."""

    accuracy: float
    correct: int
    probability: float


def exact_fraction(share: Share) -> Fraction:
    """The share as an exact fraction of its decimal notation. Raises ValueError outside 0 to 1."""
    fraction = Fraction(str(share)) if isinstance(share, float) else Fraction(share)
    if not 0 <= fraction <= 1:
        raise ValueError(f"{share} is not a share between 0 and 1.")
    return fraction


def acceptance_number(sample: int, threshold: Share) -> int:
    """The smallest number of correct labels with which a sample passes: 92 of 100 at 0.92."""
    return -(-sample * exact_fraction(threshold).numerator // exact_fraction(threshold).denominator)


def passes(correct: int, sample: int, threshold: Share) -> bool:
    """Whether correct / sample ≥ threshold, in integer arithmetic. An empty sample does not pass."""
    return sample > 0 and correct >= acceptance_number(sample, threshold)


def batch_accuracy(correct: int, sample: int, population: int, *, confidence: float = 0.95) -> Estimate:
    """The accuracy of a whole batch from a simple random sample; n is the sample size.

    The interval inverts the exact hypergeometric test (like Clopper and Pearson, 1934, for the binomial): it contains
    the accuracies for which neither so few nor so many correct labels are less likely than (1 - confidence) / 2.
    None without a sample. Raises ValueError for impossible counts.
    """
    _check_counts(correct, sample, population)
    if sample == 0:
        return undefined(0)
    tail = (1 - confidence) / 2 * (1 + ROUNDING)
    least, most = correct, population - (sample - correct)
    low = _smallest(least, most, lambda k: _at_least(correct, sample, k, population) > tail)
    high = _largest(least, most, lambda k: _at_most(correct, sample, k, population) > tail)
    return Estimate(correct / sample, low / population, high / population, sample)


def operating_characteristic(
    population: int, sample: int, threshold: Share, accuracies: Sequence[Share]
) -> tuple[PlanPoint, ...]:
    """The probability of acceptance at each true accuracy, rounded to a whole number of correct labels.

    Raises ValueError unless 0 < sample <= population.
    """
    if not 0 < sample <= population:
        raise ValueError(f"A sample of {sample} cannot be drawn from {population}.")
    needed, points = acceptance_number(sample, threshold), []
    for accuracy in accuracies:
        correct = round(exact_fraction(accuracy) * population)
        points.append(
            PlanPoint(
                float(exact_fraction(accuracy)), correct, _at_least(needed, sample, correct, population)
            )
        )
    return tuple(points)


@dataclass(frozen=True, slots=True)
class Stratum:
    """One class of a batch: its size, the number of items drawn, and how many of these are correct."""

    population: int
    sample: int
    correct: int


def stratified_accuracy(strata: Sequence[Stratum], *, confidence: float = 0.95) -> Estimate:
    """The accuracy of a batch sampled by class: class accuracies weighted by class size; n is the whole sample.

    The interval combines the exact hypergeometric intervals of the classes by their distances from the class accuracies
    (variance estimates recovery; Zou and Donner, 2008); a completely judged class adds no uncertainty. None if a class
    that is not empty has no sample.
    """
    present = [stratum for stratum in strata if stratum.population]
    n, total = sum(stratum.sample for stratum in present), sum(stratum.population for stratum in present)
    share = stratified_share(present)
    if share is None:
        return undefined(n)
    below = above = 0.0
    for stratum in present:
        part = batch_accuracy(stratum.correct, stratum.sample, stratum.population, confidence=confidence)
        if part.value is not None and part.low is not None and part.high is not None:
            weight = stratum.population / total
            below += (weight * (part.value - part.low)) ** 2
            above += (weight * (part.high - part.value)) ** 2
    value = float(share)
    return Estimate(value, max(0.0, value - below**0.5), min(1.0, value + above**0.5), n)


def stratified_share(strata: Sequence[Stratum]) -> Fraction | None:
    """The exact weighted accuracy, for comparison with a threshold; None if a class has no sample."""
    present = [stratum for stratum in strata if stratum.population]
    if not present or any(stratum.sample == 0 for stratum in present):
        return None
    for stratum in present:
        _check_counts(stratum.correct, stratum.sample, stratum.population)
    total = sum(stratum.population for stratum in present)
    return sum((Fraction(s.population * s.correct, total * s.sample) for s in present), Fraction(0))


def _check_counts(correct: int, sample: int, population: int) -> None:
    if not 0 <= correct <= sample <= population:
        raise ValueError(f"{correct} correct of {sample} from {population} is impossible.")


def _probabilities(sample: int, correct: int, population: int) -> Floats:
    """Hypergeometric probabilities of 0 … sample correct labels in the sample if the batch contains `correct`."""
    seen = np.arange(sample + 1, dtype=np.float64)
    possible = (seen <= correct) & (sample - seen <= population - correct)
    ways = _choose(correct, np.where(possible, seen, 0.0)) + _choose(
        population - correct, np.where(possible, sample - seen, 0.0)
    )
    chances: Floats = np.where(possible, np.exp(ways - _choose(population, np.float64(sample))), 0.0)
    return chances


def _choose(n: int, k: Floats | np.float64) -> Floats:
    """The logarithm of the binomial coefficient."""
    ways: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return ways


def _at_least(seen: int, sample: int, correct: int, population: int) -> float:
    return min(1.0, float(_probabilities(sample, correct, population)[seen:].sum()))


def _at_most(seen: int, sample: int, correct: int, population: int) -> float:
    return min(1.0, float(_probabilities(sample, correct, population)[: seen + 1].sum()))


def _smallest(least: int, most: int, holds: Callable[[int], bool]) -> int:
    """The smallest number from least to most for which `holds` is true; it must be true for most and above."""
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if holds(middle) else (middle + 1, most)
    return least


def _largest(least: int, most: int, holds: Callable[[int], bool]) -> int:
    """The largest number from least to most for which `holds` is true; it must be true for least and below."""
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if holds(middle) else (least, middle - 1)
    return least
