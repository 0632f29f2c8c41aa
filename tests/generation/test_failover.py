"""Several addresses of one model server, as real server processes of which some fail or are killed."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from generation.backends import addresses, failover
from generation.backends.addresses import Addresses, NotesOfProcess, share_notes
from generation.backends.openai import OpenAIBackend
from generation.generators import check_options
from generation.models import BackendKind
from generation.protocol import BackendError, Message, ReplyRequest, ReplySet, Sampling
from tests.generation.server_processes import first_line, running
from tests.processes import free_port, refusing_port

SERVER = str(Path(__file__).parent / "misbehaving_server.py")
Connect = Callable[..., OpenAIBackend]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("server") / "log"
    with running(sys.executable, SERVER, log=log) as process:
        yield f"http://127.0.0.1:{first_line(process)}"


@pytest.fixture(autouse=True)
def _notes_of_this_test() -> Iterator[None]:
    share_notes(NotesOfProcess())
    yield
    share_notes(cache)


@pytest.fixture
def connect() -> Iterator[Connect]:
    opened: list[OpenAIBackend] = []

    def make(*urls: str, **options: Any) -> OpenAIBackend:
        options = {"model": f"m{time.monotonic_ns()}", "timeout": 20.0, "retries": 0, **options}
        opened.append(OpenAIBackend(list(urls), **options))
        return opened[-1]

    yield make
    for backend in opened:
        backend.close()


def ask(backend: OpenAIBackend, *dialogues: str) -> list[ReplySet | BackendError]:
    hello = (Message("A", "Hello"),)
    return backend.generate([ReplyRequest(one, hello, "B", 3, 2, Sampling()) for one in dialogues])


def names(count: int) -> list[str]:
    return [f"dialogue {number}" for number in range(count)]


def orders(urls: list[str], dialogues: list[str]) -> dict[str, str]:
    known = Addresses(urls)
    return {one: known.in_order(one)[0].url for one in dialogues}


@pytest.mark.parametrize("mode", ["is-down", "dies-half-way", "hangs"])
def test_what_one_server_fails_the_next_one_answers(server: str, connect: Connect, mode: str) -> None:
    timeout = 10.0 if mode == "hangs" else 20.0  # seconds; a busy machine takes some for an answer
    backend = connect(f"{server}/{mode}/v1", f"{server}/good/v1", timeout=timeout, total_timeout=180.0)
    assert all(isinstance(answer, ReplySet) for answer in ask(backend, *names(8)))
    started = time.monotonic()
    assert all(isinstance(answer, ReplySet) for answer in ask(backend, *names(8)))
    assert time.monotonic() - started < 20 * timeout  # the failed one rests and is not asked


def test_a_server_killed_midway_loses_no_request(server: str, connect: Connect, tmp_path: Path) -> None:
    with running(sys.executable, SERVER, log=tmp_path / "log") as other:
        backend = connect(f"http://127.0.0.1:{first_line(other)}/good/v1", f"{server}/good/v1")
        for number in range(12):
            if number == 4:
                other.send_signal(signal.SIGKILL)
            assert all(isinstance(answer, ReplySet) for answer in ask(backend, *names(8))), number


def test_a_server_that_is_back_gets_calls_again(
    server: str, connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failover, "PROBE_SECONDS", 20.0)
    port = str(free_port())
    url = f"http://127.0.0.1:{port}/good/v1"
    backend = connect(url, f"{server}/good/v1")
    ask(backend, *names(8))
    known = Addresses([url])
    (resting,) = known.in_order("")
    assert resting.failures == 1
    with running(sys.executable, SERVER, port, log=tmp_path / "log") as process:
        first_line(process)
        addresses.shared_notes.delete_many([resting.rest_key])  # its rest is over
        ask(backend, *names(8))
        assert known.in_order("")[0].failures == 0


def test_a_wrong_key_is_reported_and_not_hidden_by_the_next_server(server: str, connect: Connect) -> None:
    backend = connect(f"{server}/wants-a-key/v1", f"{server}/wants-a-key/v1/v1")
    (answer,) = ask(backend, "d")
    assert isinstance(answer, BackendError)
    assert "HTTP 401" in answer.cause
    assert not any(one.failures for one in Addresses([f"{server}/wants-a-key/v1"]).in_order("d"))


def test_all_addresses_down_is_one_error_that_may_pass(connect: Connect) -> None:
    with refusing_port() as one, refusing_port() as two:
        (answer,) = ask(connect(*(f"http://127.0.0.1:{port}/v1" for port in (one, two)), retries=1), "d")
    assert isinstance(answer, BackendError)
    assert answer.retryable
    assert "cannot be reached" in answer.cause


def test_no_pause_goes_beyond_the_deadline(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failover, "ROUND_PAUSE", 1e6)  # seconds
    with refusing_port() as one, refusing_port() as two:
        urls = [f"http://127.0.0.1:{port}/v1" for port in (one, two)]
        (answer,) = ask(connect(*urls, retries=1, total_timeout=60.0), "d")
    assert isinstance(answer, BackendError)
    assert "cannot be reached" in answer.cause


def test_a_dialogue_keeps_its_address_and_dialogues_spread() -> None:
    urls = ["http://a/v1", "http://b/v1", "http://c/v1"]
    first = orders(urls, names(300))
    assert orders(urls[::-1], names(300)) == first
    assert all(70 <= list(first.values()).count(url) <= 130 for url in urls)
    without = orders(urls[:2], names(300))
    assert all(without[one] == url for one, url in first.items() if url != "http://c/v1")


def test_a_busy_address_gives_its_dialogues_to_the_idlest() -> None:
    known = Addresses(["http://a/v1", "http://b/v1"])
    home, other = known.in_order("d")
    home.open_calls = addresses.LEAD - 1
    assert known.in_order("d")[0] is home
    home.open_calls = addresses.LEAD + 1
    assert known.in_order("d")[0] is other


def test_workers_share_what_failed_and_calls_that_fail_together_count_once() -> None:
    share_notes(cache)
    url = f"http://{time.monotonic_ns()}/v1"
    ours, theirs = Addresses([url, "http://b/v1"]), Addresses(["http://b/v1", url])
    failed = next(one for one in ours.in_order("d") if one.url == url)
    for _ in range(8):
        ours.note_failure(failed)
    for number in range(20):
        first, last = theirs.in_order(str(number))
        assert (first.url, last.url, last.failures) == ("http://b/v1", url, 1)
    ours.note_success(failed)
    assert {theirs.in_order(str(number))[0].url for number in range(20)} == {url, "http://b/v1"}


def test_the_version_names_the_first_host_and_how_many_more_there_are(server: str, connect: Connect) -> None:
    backend = connect("http://first:8000/v1", "http://second/v1", model="m")
    assert backend.version == "m at first:8000 and 1 more"


@pytest.mark.parametrize("urls", [[], [5], ["http://a/v1", "http://a/v1/"], ["http://a/v1", "ftp://b/v1"]])
def test_a_wrong_list_is_refused(urls: list[Any]) -> None:
    with pytest.raises(ValueError, match="base_url must"):
        OpenAIBackend(urls, "m")


def test_a_generator_takes_a_list() -> None:
    check_options(BackendKind.OPENAI, {"base_url": ["http://a/v1", "http://b/v1"], "model": "m"})
