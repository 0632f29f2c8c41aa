"""How many workers for candidates a team needs: a simulation with measured service times, and the queueing bound.

    python -m benchmarks.growth [--json] [--batch-ms 1:256 4:478 16:1409] [--pause 30] [--svg FILE]

Annotators pause (reading, typing), request seven candidates and wait for them; a free worker takes up to 16 waiting
requests as one batch. --batch-ms: what a batch of so many takes, as `python -m benchmarks.candidates` prints it for
"next turn" (default: the figures of MEASURED). --pause: mean seconds between two requests of one person; log-normal.
Bound: M/M/c (Erlang C), which decodes each request alone and draws all times from an exponential distribution.
The same seed prints the same figures.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.reporting import command_line, print_figures
from plots.lines import draw_lines
from plots.marks import Mark
from plots.standalone import standalone_svg

# Milliseconds of a batch of so many next turns, context of 384 tokens, 28 M parameters, one CPU thread:
# `python -m benchmarks.candidates --contexts 384 --cpu-time`.
MEASURED: Final = {1: 256.1, 4: 478.2, 16: 1408.7}
BATCH: Final = 16  # GENERATION_BATCH
SIZES: Final = (10, 20, 50, 100, 200, 500, 1000)
WORKERS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
DRAWN: Final = (1, 4)
GOOD_WAIT: Final = 1.0  # seconds that 95 of 100 turns may take
DRAWN_UP_TO: Final = 4.0  # seconds
SPREAD_OF_PAUSE, SPREAD_OF_BATCH = 0.6, 0.2  # standard deviations of the logarithms
TURNS: Final = 40  # of each annotator; the first quarter is not counted


@dataclass(frozen=True, slots=True)
class Service:
    """What a batch takes, by its size; between two measured sizes on a straight line."""

    measured: Mapping[int, float]

    def seconds(self, size: int) -> float:
        known = sorted(self.measured.items())
        low = max((pair for pair in known if pair[0] <= size), default=known[0])
        high = min((pair for pair in known if pair[0] >= size), default=known[-1])
        share = (size - low[0]) / (high[0] - low[0]) if high[0] > low[0] else 0.0
        return (low[1] + share * (high[1] - low[1])) / 1000


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds from a request to its candidates, and the share of time that workers decode."""

    p50: float
    p95: float
    busy: float


def simulate(annotators: int, workers: int, pause: float, service: Service, seed: int) -> Wait:
    """Until every annotator has had about TURNS turns."""
    dice = random.Random(f"{seed} {annotators} {workers}")
    drift = math.log(pause) - SPREAD_OF_PAUSE**2 / 2
    events = [
        (dice.uniform(0, pause), number, 0) for number in range(annotators)
    ]  # (time, who, batch that ends)
    heapq.heapify(events)
    waiting: deque[tuple[float, int]] = deque()
    running: dict[int, list[tuple[float, int]]] = {}
    waits: list[float] = []
    free, started, worked, now = workers, 0, 0.0, 0.0
    while len(waits) < annotators * TURNS:
        now, who, batch = heapq.heappop(events)
        if not batch:
            waiting.append((now, who))
        else:
            free += 1
            for asked, person in running.pop(batch):
                waits.append(now - asked)
                heapq.heappush(events, (now + dice.lognormvariate(drift, SPREAD_OF_PAUSE), person, 0))
        if free and waiting:
            free, started = free - 1, started + 1
            running[started] = [waiting.popleft() for _ in range(min(BATCH, len(waiting)))]
            took = service.seconds(len(running[started])) * dice.lognormvariate(0, SPREAD_OF_BATCH)
            worked += took
            heapq.heappush(events, (now + took, -1, started))
    counted = waits[len(waits) // 4 :]
    p50, p95 = np.quantile(counted, [0.5, 0.95]).tolist()
    return Wait(p50, p95, worked / (now * workers))


def waiting_probability(workers: int, load: float) -> float:
    """Erlang C: the probability that a request finds all workers busy. load: in Erlang, below `workers`."""
    blocked = 1.0
    for number in range(1, workers + 1):
        blocked = load * blocked / (number + load * blocked)
    return blocked / (1 - load / workers * (1 - blocked))


def bound_p95(annotators: int, workers: int, pause: float, service: Service) -> float | None:
    """95th percentile of waiting and service in M/M/c; None if it has no end."""
    seconds = service.seconds(1)
    load = annotators / pause * seconds
    if load >= workers:
        return None
    waits, spare = waiting_probability(workers, load), workers - load - 1

    def still_waiting(time: float) -> float:
        t = time / seconds
        if abs(spare) < 1e-9:
            return math.exp(-t) * (1 + waits * t)
        return math.exp(-t) + waits * (math.exp(-t) - math.exp(-(1 + spare) * t)) / spare

    low, high = 0.0, 1e4 * seconds
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if still_waiting(middle) > 0.05 else (low, middle)
    return high


def workers_needed(annotators: int, pause: float, service: Service, seed: int) -> tuple[int, Wait]:
    """The smallest number of WORKERS with which 95 of 100 turns take at most GOOD_WAIT, or the largest."""
    for workers in WORKERS:
        wait = simulate(annotators, workers, pause, service, seed)
        if wait.p95 <= GOOD_WAIT:
            break
    return workers, wait


def rows_of(pause: float, service: Service, seed: int) -> list[dict[str, float | None]]:
    rows: list[dict[str, float | None]] = []
    for annotators in SIZES:
        workers, wait = workers_needed(annotators, pause, service, seed)
        bound = bound_p95(annotators, workers, pause, service)
        rows.append(
            {
                "annotators": annotators,
                "workers": workers,
                "p50": round(wait.p50, 2),
                "p95": round(wait.p95, 2),
                "busy": round(wait.busy, 2),
                "bound_p95": None if bound is None else round(bound, 2),
            }
        )
    return rows


def draw(pause: float, service: Service, seed: int) -> str:
    """95th percentiles by number of annotators: simulated and bound, for the numbers of workers in DRAWN."""
    series: list[list[Mark | None]] = []
    for workers in DRAWN:
        simulated = [simulate(n, workers, pause, service, seed).p95 for n in SIZES]
        bounds = [bound_p95(n, workers, pause, service) for n in SIZES]
        series += [_marks(simulated), _marks(bounds)]
    names = [f"{w} {what}" for w in DRAWN for what in ("simulated", "M/M/c")]
    return standalone_svg(
        draw_lines(
            [f"{n:,}" for n in SIZES],
            series,
            x="annotators who write at the same time",
            y="seconds, 95th percentile",
            description=f"Wait for candidates with so many workers: {', '.join(names)}",
            at=SIZES,
        )
    )


def _marks(seconds: Sequence[float | None]) -> list[Mark | None]:
    return [
        None if value is None or value > DRAWN_UP_TO else Mark(value, f"{value:.2f} s") for value in seconds
    ]


def show(figures: Mapping[str, list[dict[str, float | None]]]) -> None:
    print("annotators  workers   p50 s   p95 s  busy  M/M/c p95 s")
    for row in figures["rows"]:
        bound = "no end" if row["bound_p95"] is None else f"{row['bound_p95']:.2f}"
        print(
            f"{row['annotators']:10,}  {row['workers']:7}  {row['p50']:6.2f}  {row['p95']:6.2f}"
            f"  {row['busy']:4.0%}  {bound:>11}"
        )


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--batch-ms", nargs="+", metavar="SIZE:MS", help="measured milliseconds of batches")
    parser.add_argument("--pause", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the plot there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse_arguments(arguments)
    pairs = (pair.split(":") for pair in options.batch_ms or ())
    service = Service({int(size): float(ms) for size, ms in pairs} or MEASURED)
    print_figures({"rows": rows_of(options.pause, service, options.seed)}, as_json=options.json, show=show)
    if options.svg:
        options.svg.write_text(draw(options.pause, service, options.seed) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
