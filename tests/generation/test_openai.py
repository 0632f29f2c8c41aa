"""The OpenAI-compatible backend, against `transformers serve` and against a server process that misbehaves."""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from generation.backends.openai import OpenAIBackend
from generation.protocol import BackendError, Message, Reply, ReplyRequest, ReplySet, Sampling
from tests.generation.conftest import CHAT_TEMPLATE
from tests.generation.server_processes import first_line, running, serve_model

Connect = Callable[..., OpenAIBackend]
HERE = Path(__file__).parent
LEFT_AFTER = 20  # seconds; servers that hang do so for an hour


def request(text: str = "Do you like tea?", *, seed: int = 3, count: int = 7) -> ReplyRequest:
    return ReplyRequest("d1", (Message("A", text),), "B", seed, count, Sampling(max_new_tokens=8))


def had(answer: ReplySet | BackendError) -> tuple[Reply, ...]:
    assert isinstance(answer, ReplySet), answer
    return answer.replies


def ask(backend: OpenAIBackend, wanted: ReplyRequest | None = None) -> ReplySet | BackendError:
    (answer,) = backend.generate([wanted or request()])
    return answer


def refusal(answer: ReplySet | BackendError) -> BackendError:
    assert isinstance(answer, BackendError), answer
    assert answer.remedy
    return answer


@pytest.fixture(scope="session")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("server") / "log"
    with running(sys.executable, str(HERE / "misbehaving_server.py"), log=log) as process:
        yield f"http://127.0.0.1:{first_line(process)}"


@pytest.fixture
def connect(misbehaving: str) -> Iterator[Connect]:
    """`connect("hangs")` is a backend whose server behaves so."""
    opened: list[OpenAIBackend] = []

    def make(mode: str, **options: Any) -> OpenAIBackend:
        options = {"model": f"m{time.monotonic_ns()}", "timeout": 20.0, **options}
        opened.append(OpenAIBackend(f"{misbehaving}/{mode}/v1", **options))
        return opened[-1]

    yield make
    for backend in opened:
        backend.close()


def test_seven_replies_in_one_call(connect: Connect) -> None:
    backend = connect("good")
    replies = had(ask(backend))
    assert [reply.text for reply in replies] == [f"Reply {n} of seed 3." for n in range(7)]
    assert {(reply.seed, reply.tokens, reply.logprob) for reply in replies} == {(3, 4, None)}


def test_the_request_that_is_sent(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "right-key")
    backend = connect(
        "echoes", model="m", api_key_env="MY_KEY", system_prompt="Be kind.", extra_body={"min_p": 0.1}
    )
    said = (Message("A", "Hi"), Message("B", "Hello"), Message("A", "half \ud800"))
    (reply,) = had(ask(backend, ReplyRequest("d", said, "B", 9, 1, Sampling(top_k=4, temperature=0.5))))
    assert json.loads(reply.text) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "half ?"},
        ],
        "temperature": 0.5,
        "top_k": 4,
        "max_tokens": 64,
        "seed": 9,
        "min_p": 0.1,
        "authorization": "Bearer right-key",
    }


def test_without_a_key_none_is_sent(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (reply,) = had(ask(connect("echoes"), request(count=1)))
    assert json.loads(reply.text)["authorization"] is None


@pytest.mark.parametrize("mode", ["ignores-n", "denies-n", "denies-top-k", "denies-without-a-word"])
def test_servers_that_know_less_are_asked_otherwise(connect: Connect, mode: str) -> None:
    backend = connect(mode)
    if mode == "denies-without-a-word":
        assert "422" in refusal(ask(backend)).cause
        return
    assert len({reply.text for reply in had(ask(backend))}) == 7
    assert len(backend._server.denied) == 1
    assert len({reply.text for reply in had(ask(backend))}) == 7


def test_calls_of_one_have_seeds_of_their_own(connect: Connect) -> None:
    replies = had(ask(connect("ignores-n")))
    assert len({reply.seed for reply in replies}) == 7
    assert all(f"seed {reply.seed}." in reply.text for reply in replies)


def test_a_refused_setting_shows_in_the_version(connect: Connect) -> None:
    backend = connect("denies-top-k", model="m")
    assert backend.version.startswith("m at 127.0.0.1:")
    ask(backend)
    assert backend.version.startswith("m-2 at 127.0.0.1:")
    assert backend.version.endswith(" without top_k")


def test_the_newer_name_of_max_tokens_is_found(connect: Connect) -> None:
    assert len(had(ask(connect("renames-max-tokens")))) == 7


def test_a_refusal_for_another_reason_is_passed_on_and_changes_nothing(connect: Connect) -> None:
    backend = connect("refuses")
    assert "maximum context length" in refusal(ask(backend)).cause
    assert backend._server.denied == frozenset()


@pytest.mark.parametrize("mode", ["hangs", "drips"])
def test_a_server_that_hangs_is_left_at_the_timeout(connect: Connect, mode: str) -> None:
    backend = connect(mode, timeout=0.3, retries=1)
    started = time.monotonic()
    failed = refusal(ask(backend))
    assert time.monotonic() - started < LEFT_AFTER
    assert failed.retryable
    assert "did not answer within 0." in failed.cause


def test_all_calls_together_end_at_the_total_timeout(connect: Connect) -> None:
    backend = connect("hangs", timeout=0.4, retries=5, total_timeout=0.6, max_parallel=2)
    started = time.monotonic()
    answers = backend.generate([request(seed=n) for n in range(6)])
    assert time.monotonic() - started < LEFT_AFTER
    assert all(isinstance(answer, BackendError) for answer in answers)


@pytest.mark.parametrize("mode", ["speaks-html", "speaks-bytes", "lacks-choices", "is-a-list", "nests"])
def test_garbage_is_named_with_a_remedy(connect: Connect, mode: str) -> None:
    failed = refusal(ask(connect(mode)))
    assert "not a chat completion" in failed.cause
    assert "address" in failed.remedy
    assert len(str(failed)) < 600


def test_an_endless_answer_is_cut_off(connect: Connect) -> None:
    failed = refusal(ask(connect("floods", max_body=1 << 20)))
    assert "larger than 1024 KiB" in failed.cause


def test_a_server_that_dies_half_way_is_tried_again_and_reported(connect: Connect) -> None:
    failed = refusal(ask(connect("dies-half-way", retries=1)))
    assert failed.retryable
    assert "closed the connection" in failed.cause


def test_a_busy_server_is_tried_again(connect: Connect) -> None:
    assert len(had(ask(connect("is-busy-twice", retries=2)))) == 7
    assert refusal(ask(connect("is-busy-twice", retries=1))).retryable


def test_a_server_that_is_down_is_reported(connect: Connect) -> None:
    failed = refusal(ask(connect("is-down", retries=1)))
    assert failed.retryable
    assert "HTTP 503" in failed.cause
    assert "no healthy upstream" in failed.cause


def test_failed_replies_leave_the_others(connect: Connect) -> None:
    answer = ask(connect("fails-now-and-then", extra_rounds=0))
    assert isinstance(answer, ReplySet)
    assert 4 <= len(answer.replies) < 7
    assert len(answer.replies) + len(answer.failures) == 7
    assert "HTTP 403" in answer.failures[-1]


def test_failed_replies_are_asked_for_again(connect: Connect) -> None:
    assert len(had(ask(connect("fails-now-and-then")))) == 7


def test_choices_without_text_leave_the_others(connect: Connect) -> None:
    answer = ask(connect("mixes", extra_rounds=0), request(count=8))
    assert isinstance(answer, ReplySet)
    assert [reply.text for reply in answer.replies] == ["Fine.", "Also fine."]
    assert len(answer.failures) == 6


def test_repeated_replies_are_drawn_again(connect: Connect) -> None:
    answer = ask(connect("repeats", extra_rounds=2))
    assert isinstance(answer, ReplySet)
    assert [reply.text for reply in answer.replies] == ["Answer 1.", "Answer 2.", "Answer 3."]
    assert len(answer.failures) == 4
    assert "repeated" in answer.failures[-1]


def test_thoughts_and_control_characters_are_left_out(connect: Connect) -> None:
    assert [reply.text for reply in had(ask(connect("thinks")))] == [f"Yes {i}." for i in range(7)]


def test_a_wrong_key_is_named_by_its_variable_and_never_shown(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", "wrong-key")
    backend = connect("wants-a-key", api_key_env="MY_KEY")
    caplog.set_level("DEBUG")
    with pytest.raises(BackendError, match="HTTP 401") as failed:
        backend.check()
    assert "MY_KEY" in failed.value.remedy
    assert "wrong-key" not in str(failed.value) + caplog.text + backend.version
    monkeypatch.setenv("MY_KEY", "right-key")
    assert len(had(ask(connect("wants-a-key", api_key_env="MY_KEY")))) == 7


def test_a_redirect_is_not_followed(connect: Connect) -> None:
    assert "HTTP 302" in refusal(ask(connect("redirects"))).cause


def test_one_request_does_not_take_the_others_with_it(connect: Connect) -> None:
    unopened = ReplyRequest("d2", (), "A", 1)
    first, second, third = connect("good").generate([request(), unopened, request(seed=4)])
    assert len(had(first)) == len(had(third)) == 7
    assert "no utterance" in refusal(second).cause


def test_no_server_at_all(connect: Connect) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    backend = OpenAIBackend(f"http://127.0.0.1:{port}/v1", "m", retries=1)
    failed = refusal(ask(backend))
    assert failed.retryable
    assert "cannot be reached" in failed.cause
    backend.close()


def test_a_server_killed_while_it_answers(tmp_path: Path) -> None:
    with running(sys.executable, str(HERE / "misbehaving_server.py"), log=tmp_path / "log") as process:
        backend = OpenAIBackend(f"http://127.0.0.1:{first_line(process)}/hangs/v1", "m", retries=1)
        threading.Timer(0.3, process.send_signal, [signal.SIGKILL]).start()
        started = time.monotonic()
        assert refusal(ask(backend)).retryable
        assert time.monotonic() - started < LEFT_AFTER
        backend.close()


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": "localhost:8000/v1"},
        {"base_url": "ftp://x/v1"},
        {"base_url": "http://me:secret@x/v1"},
        {"model": ""},
        {"timeout": 0},
        {"max_parallel": 0},
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        OpenAIBackend(**{"base_url": "http://x/v1", "model": "m", **options})


@pytest.fixture(scope="session")
def served(
    tiny_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """(base_url, model) of a `transformers serve` process over a tiny model."""
    folder = tiny_model("llama", CHAT_TEMPLATE)
    settings = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps({**settings, "do_sample": True, "top_k": 10}))
    with serve_model(folder, tmp_path_factory.mktemp("serve") / "log") as base_url:
        yield base_url, str(folder)


@pytest.mark.slow
def test_transformers_serve_gives_seven_different_replies(served: tuple[str, str]) -> None:
    """It refuses top_k and ignores n."""
    backend = OpenAIBackend(*served)
    backend.check()
    first, second = backend.generate([request(), request("你好", seed=8)])
    assert len({reply.text for reply in had(first)}) == len({reply.text for reply in had(second)}) == 7
    assert all(0 < reply.tokens <= 8 for reply in had(first))
    assert backend.version.startswith(served[1])
    assert backend.version.endswith("without top_k")
    backend.close()


@pytest.mark.slow
def test_transformers_serve_refuses_another_model_with_a_reason(served: tuple[str, str]) -> None:
    backend = OpenAIBackend(served[0], "another/model")
    with pytest.raises(BackendError, match="another/model"):
        backend.check()
    backend.close()
