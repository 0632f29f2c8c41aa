"""The learning rate of every optimiser step, and how a step's work is divided among processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def inverse_sqrt_factor(step: int, *, warmup: int) -> float:
    """Share of the peak learning rate at optimiser step `step`, counted from 1.

    Linear warm-up over `warmup` steps, then decay with the inverse square root (Vaswani et al., 2017, section 5.3,
    equation 3, scaled so that the peak is 1):

        factor(t) = min(t / w, sqrt(w / t)),   w = max(1, warmup)
    """
    warmup = max(1, warmup)
    return min(step / warmup, math.sqrt(warmup / step))


def divide_among_processes(items: Iterable[T], processes: int, size: Callable[[T], int]) -> list[list[T]]:
    """One list of items per process, of about equal total size.

    Greedy: the largest item first, each to the process with the least work so far. Deterministic, so that every
    process computes the same division without communication.
    """
    loads = [0] * processes
    shares: list[list[T]] = [[] for _ in range(processes)]
    for item in sorted(items, key=lambda item: -size(item)):
        lightest = loads.index(min(loads))
        loads[lightest] += size(item)
        shares[lightest].append(item)
    return shares
