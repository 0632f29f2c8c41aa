"""κ and α of 100,000 × 3 ratings with 1,000 bootstraps, against krippendorff and statsmodels, in one process.

    python -m benchmarks.agreement [--json] [--items 100000] [--raters 3] [--rounds 5] [--bootstraps 1000]

The libraries have no intervals. A thousand bootstraps of theirs are a thousand times their value on drawn items; a few
are timed and counted up (`extrapolated`), which leaves the drawing itself out. Cases run in turn, medians are compared.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import krippendorff
import numpy as np
from statsmodels.stats import inter_rater  # type: ignore[import-untyped]

from benchmarks.reporting import command_line
from benchmarks.timing import Case, time_in_turn
from measures.agreement import fleiss_kappa, krippendorff_alpha, randolph_kappa
from measures.bootstrap import Ints

CATEGORIES = 5


def draw_counts(items: int, raters: int) -> Ints:
    """Ratings that agree somewhat, as counts of shape (items, categories)."""
    dice = np.random.default_rng(1)
    true = dice.integers(0, CATEGORIES, items)
    noise = dice.integers(0, CATEGORIES, (items, raters))
    codes = np.where(dice.random((items, raters)) < 0.6, true[:, None], noise)
    counts = np.zeros((items, CATEGORIES), np.int64)
    np.add.at(counts, (np.repeat(np.arange(items), raters), codes.ravel()), 1)
    return counts


def build_cases(counts: Ints, bootstraps: int) -> dict[str, Case]:
    def alpha(level: Any) -> Any:
        return krippendorff.alpha(
            value_counts=counts, value_domain=list(range(CATEGORIES)), level_of_measurement=level
        )

    return {
        "fleiss_ours": Case(lambda: fleiss_kappa(counts, replicates=0)),
        "fleiss_statsmodels": Case(lambda: inter_rater.fleiss_kappa(counts, method="fleiss")),
        "randolph_ours": Case(lambda: randolph_kappa(counts, replicates=0)),
        "randolph_statsmodels": Case(lambda: inter_rater.fleiss_kappa(counts, method="randolph")),
        "alpha_nominal_ours": Case(lambda: krippendorff_alpha(counts, replicates=0)),
        "alpha_nominal_krippendorff": Case(lambda: alpha("nominal")),
        "alpha_ordinal_ours": Case(lambda: krippendorff_alpha(counts, level="ordinal", replicates=0)),
        "alpha_ordinal_krippendorff": Case(lambda: alpha("ordinal")),
        "fleiss_bootstrap_ours": Case(
            lambda: fleiss_kappa(counts, interval="bootstrap", replicates=bootstraps)
        ),
        "randolph_bootstrap_ours": Case(lambda: randolph_kappa(counts, replicates=bootstraps)),
        "alpha_nominal_bootstrap_ours": Case(lambda: krippendorff_alpha(counts, replicates=bootstraps)),
        "alpha_ordinal_bootstrap_ours": Case(
            lambda: krippendorff_alpha(counts, level="ordinal", replicates=bootstraps)
        ),
    }


PAIRS = {
    "fleiss": "statsmodels",
    "randolph": "statsmodels",
    "alpha_nominal": "krippendorff",
    "alpha_ordinal": "krippendorff",
}


def largest_difference(counts: Ints) -> float:
    """The largest difference between our values and the libraries'."""
    domain = list(range(CATEGORIES))
    pairs = [
        (fleiss_kappa(counts).value, inter_rater.fleiss_kappa(counts, method="fleiss")),
        (randolph_kappa(counts, replicates=0).value, inter_rater.fleiss_kappa(counts, method="randolph")),
        *(
            (
                krippendorff_alpha(counts, level=level, replicates=0).value,
                krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level),
            )
            for level in ("nominal", "ordinal")
        ),
    ]
    return max(abs(float(ours or 0) - float(theirs)) for ours, theirs in pairs)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--raters", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bootstraps", type=int, default=1000)
    options = parser.parse_args()
    counts = draw_counts(options.items, options.raters)
    timed = time_in_turn(build_cases(counts, options.bootstraps), options.rounds)
    seconds = {name: timing.median for name, timing in timed.items()}
    ratios, extrapolated, with_bootstraps = {}, {}, {}
    for name, library in PAIRS.items():
        ratios[name] = seconds[f"{name}_{library}"] / seconds[f"{name}_ours"]
        extrapolated[name] = seconds[f"{name}_{library}"] * (options.bootstraps + 1)
        with_bootstraps[name] = extrapolated[name] / seconds[f"{name}_bootstrap_ours"]
    difference = largest_difference(counts)
    print(f"{options.items} items × {options.raters} raters, {options.bootstraps} bootstraps, s, medians")
    for name, timing in timed.items():
        print(f"{name:32} {timing.median:9.4f}   {timing.low:9.4f} to {timing.high:9.4f}")
    for name, library in PAIRS.items():
        print(
            f"{name:16} value: {ratios[name]:6.2f} × as fast as {library}; with bootstraps "
            f"{with_bootstraps[name]:8.0f} × (theirs extrapolated: {extrapolated[name]:.0f} s)"
        )
    print(f"largest difference of a value: {difference:.1e}")
    if options.json:
        figures = {
            "items": options.items,
            "raters": options.raters,
            "bootstraps": options.bootstraps,
            "seconds": {name: asdict(timing) for name, timing in timed.items()},
            "value_ratio": ratios,
            "bootstrap_ratio": with_bootstraps,
            "library_bootstrap_seconds_extrapolated": extrapolated,
            "largest_difference": difference,
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
