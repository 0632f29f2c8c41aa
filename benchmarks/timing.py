"""Timing that is fair on a shared machine: cases run in turn, round after round, and medians are compared."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """`prepare` is not timed; it runs before every timed run."""

    run: Callable[[], object]
    prepare: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: the median and the middle half of `rounds` runs."""

    median: float
    low: float
    high: float
    rounds: int


def summarize_timing(seconds: list[float]) -> Timing:
    if len(seconds) < 2:
        return Timing(seconds[0], seconds[0], seconds[0], len(seconds))
    low, median, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return Timing(median, low, high, len(seconds))


def time_in_turn(
    cases: Mapping[str, Case],
    rounds: int,
    warmup: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Every round runs every case once, so that a slow spell of the machine hits them all alike.

    clock: time.process_time counts only this process's work, for a machine on which others work too.
    """
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(warmup + rounds):
        for name, case in cases.items():
            case.prepare()
            started = clock()
            case.run()
            seconds[name].append(clock() - started)
    return {name: summarize_timing(runs[warmup:]) for name, runs in seconds.items()}
