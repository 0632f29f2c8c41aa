"""Lets two requests of a web process work at a time, in the order in which they came.

Threads that all compute at once take turns at one interpreter lock, and the slowest of them wait far longer than in a
queue (docs/decisions/0018). A request at work for more than `PATIENCE_SECONDS` no longer counts: it probably waits for
something else (a lock, a slow client, a service that is away), and delays those behind it by no more than that.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

from prometheus_client import Histogram

from config.body_deadline import Application
from config.logging import BEGUN

AT_WORK: Final = 2  # one computes while PostgreSQL works for the other
PATIENCE_SECONDS: Final = 0.1  # several times what a usual request takes
WAITED: Final = Histogram(
    "lapidary_turn_seconds",
    "Seconds that requests waited for their turn in a web process.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


class Turnstile:
    """A semaphore that is fair, and that stops counting a holder after `patience` seconds."""

    def __init__(self, at_work: int = AT_WORK, patience: float = PATIENCE_SECONDS) -> None:
        self._at_work = at_work
        self._patience = patience
        self._lock = Lock()
        self._queue: deque[Lock] = deque()  # each is released when its request may start
        self._started: dict[Lock, float] = {}  # of those that count: seconds of the monotonic clock

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits until it is this thread's turn."""
        gate = Lock()
        gate.acquire()
        with self._lock:
            self._queue.append(gate)
            self._let_in()
            latest = self._seconds_until(gate)
        while not gate.acquire(timeout=latest):
            with self._lock:
                self._let_in()
                latest = self._seconds_until(gate)
        try:
            yield
        finally:
            with self._lock:
                self._started.pop(gate, None)
                self._let_in()

    def _let_in(self) -> None:
        now = time.monotonic()
        self._started = {gate: start for gate, start in self._started.items() if now < start + self._patience}
        while self._queue and len(self._started) < self._at_work:
            gate = self._queue.popleft()
            self._started[gate] = now
            gate.release()

    def _seconds_until(self, gate: Lock) -> float:
        """After which it may start even if nobody leaves until then."""
        if gate not in self._queue:
            return 0
        rounds = 1 + self._queue.index(gate) // self._at_work
        return max(0, min(self._started.values()) + rounds * self._patience - time.monotonic())


def take_turns(
    application: Application, turnstile: Turnstile, needs_turn: Callable[[dict[str, Any]], bool]
) -> Application:
    """The application, in turns until it has its response; sending the response needs none.

    needs_turn: called with the environ of a request.
    """

    def in_turn(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if not needs_turn(environ):
            return application(environ, start_response)
        environ[BEGUN] = came = time.monotonic()
        with turnstile.turn():
            WAITED.observe(time.monotonic() - came)
            return application(environ, start_response)

    return in_turn
