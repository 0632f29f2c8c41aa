"""Requests of one web process take turns; those that wait for something else hold nobody up."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from config.logging import BEGUN
from config.turnstile import Turnstile, take_turns
from tests.processes import PATIENCE, wait_until

ROOT = Path(__file__).parents[2]
LONG = 600.0  # seconds that no test takes


class Request:
    """A thread that waits for its turn, and works until the test ends it."""

    def __init__(self, turnstile: Turnstile) -> None:
        self.works, self.may_end = threading.Event(), threading.Event()
        self._turnstile = turnstile
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._turnstile.turn():
            self.works.set()
            self.may_end.wait(LONG)

    def end(self) -> None:
        self.may_end.set()
        self._thread.join(60)
        assert not self._thread.is_alive()


@contextmanager
def requests(turnstile: Turnstile, count: int) -> Iterator[list[Request]]:
    """They come in this order; all end with the test."""
    coming: list[Request] = []
    try:
        while len(coming) < count:
            coming.append(Request(turnstile))
            wait_until(
                lambda: len(turnstile._queue) + working(coming) == len(coming),
                PATIENCE,
                "the request to arrive",
            )
        yield coming
    finally:
        for request in coming:
            request.may_end.set()
        for request in coming:
            request.end()


def working(coming: list[Request]) -> int:
    return sum(request.works.is_set() for request in coming)


def test_two_work_and_the_next_ones_follow_in_order() -> None:
    with requests(Turnstile(2, LONG), 6) as coming:
        for ended in range(4):
            wait_until(lambda: working(coming) == ended + 2, PATIENCE, "the next one")  # noqa: B023
            assert [request.works.is_set() for request in coming] == [True] * (ended + 2) + [False] * (
                4 - ended
            )
            coming[ended].end()


def test_a_request_that_waits_for_something_else_is_no_longer_counted() -> None:
    with requests(Turnstile(2, 0.05), 5) as coming:
        wait_until(lambda: working(coming) == 5, PATIENCE, "all five")


def test_a_request_that_was_no_longer_counted_leaves_no_second_place() -> None:
    turnstile = Turnstile(1, 0.05)
    with requests(turnstile, 2) as slow:
        wait_until(lambda: working(slow) == 2, PATIENCE, "both")
    turnstile._patience = LONG
    with requests(turnstile, 3) as coming:
        time.sleep(0.1)
        assert working(coming) == 1


def test_an_error_ends_a_turn() -> None:
    def fails(_environ: dict[str, Any], _start_response: Any) -> Iterable[bytes]:
        raise ValueError

    turnstile = Turnstile(1, LONG)
    with pytest.raises(ValueError):
        take_turns(fails, turnstile, lambda _environ: True)({}, None)
    assert not turnstile._started


def test_a_response_that_is_still_being_sent_holds_nobody_up() -> None:
    turnstile = Turnstile(1, LONG)
    response = take_turns(
        lambda _environ, _start_response: iter([b"slow"]), turnstile, lambda _environ: True
    )({}, None)
    assert not turnstile._started
    assert list(response) == [b"slow"]


def test_some_requests_need_no_turn() -> None:
    turnstile = Turnstile(1, LONG)
    seen: list[int] = []

    def counts(environ: dict[str, Any], _start_response: Any) -> Iterable[bytes]:
        seen.append(len(turnstile._started))
        return []

    application = take_turns(counts, turnstile, lambda environ: environ["PATH_INFO"] != "/healthz")
    for path in ("/healthz", "/"):
        application({"PATH_INFO": path}, None)
    assert seen == [0, 1]


def test_a_request_is_measured_from_before_its_turn() -> None:
    environ: dict[str, Any] = {}
    take_turns(lambda _environ, _start_response: [], Turnstile(), lambda _environ: True)(environ, None)
    assert environ[BEGUN] <= time.monotonic()


def test_the_web_server_lets_probes_and_uploads_in_at_once() -> None:
    """In a process of its own, because config.wsgi marks its process as a web process."""
    requests = [
        {"PATH_INFO": "/", "CONTENT_LENGTH": ""},
        {"PATH_INFO": "/api/v1/me/", "CONTENT_LENGTH": "65536"},
        {"PATH_INFO": "/api/v1/me/", "CONTENT_LENGTH": "65537"},
        {"PATH_INFO": "/api/v1/projects/p/imports/", "CONTENT_LENGTH": "9"},
        {"PATH_INFO": "/readyz"},
    ]
    script = f"import config.wsgi as w; print(w.application.__qualname__, *map(w.needs_turn, {requests}))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.split() == ["take_turns.<locals>.in_turn", "True", "True", "False", "False", "False"]
