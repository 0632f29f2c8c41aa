"""When open work will be done, at the pace of the last days.

The work finished per day is taken as a renewal-reward process with independent days of mean μ and variance σ². The
time T until W pieces are finished is then approximately normal, with mean W / μ and variance W σ² / μ³ (Cox,
Renewal Theory, 1962, section 3.3, of which this is the cumulative form). μ and σ² are not known: they are resampled
with the days (Efron, 1979), so that the interval holds both what few days leave open about the pace and the chance
of the days to come.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

REPLICATES = 4000
SEED = 20_171_205
LEAST_DAYS = 5  # observed
LEAST_WORKED = 3  # of them with work
MOST_DAYS = 3650  # a later end is not a forecast


@dataclass(frozen=True, slots=True)
class Forecast:
    """Days from now until the open work is done: the middle and a 95 % interval; None if it cannot be said.

    high None beside a low: no end can be promised. per_day: the mean pace. observed, worked: days, and those with work.
    """

    open: int
    per_day: float
    observed: int
    worked: int
    days: float | None
    low: float | None
    high: float | None


def forecast_end(counts: Sequence[int], open: int) -> Forecast:
    """Forecast from the pieces finished on each of the last days, zeros included, and the pieces that are open.

    Undefined with fewer than LEAST_DAYS days or LEAST_WORKED days with work, and if nothing is open.
    """
    worked = sum(1 for count in counts if count)
    per_day = sum(counts) / len(counts) if counts else 0.0
    if open <= 0 or len(counts) < LEAST_DAYS or worked < LEAST_WORKED:
        return Forecast(open, per_day, len(counts), worked, None, None, None)
    ends = _simulated_ends(np.asarray(counts, np.float64), open)
    low, middle, high = (float(np.quantile(ends, q, method="higher")) for q in (0.025, 0.5, 0.975))
    return Forecast(open, per_day, len(counts), worked, _known(middle), _known(low), _known(high))


def _simulated_ends(counts: np.ndarray, open: int) -> np.ndarray:
    """Days until the end in each replicate, shape (REPLICATES,); infinite where the resampled days have no work."""
    rng = np.random.default_rng(SEED)
    days = rng.choice(counts, (REPLICATES, counts.size))
    mean, variance = days.mean(axis=1), days.var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = open / mean + np.sqrt(open * variance / mean**3) * rng.standard_normal(REPLICATES)
    return np.where(mean > 0, np.maximum(ends, 0.0), np.inf)


def _known(days: float) -> float | None:
    return days if math.isfinite(days) and days <= MOST_DAYS else None
