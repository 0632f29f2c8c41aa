from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from generation.backends.replies import DistinctReplies, chat_messages, child_seed, clean_reply, reply_key
from generation.protocol import Backend, BackendError, Message, Reply, ReplyRequest, Sampling, load_backend

HELLO = (Message("A", "Hello!"),)


@pytest.mark.parametrize(
    "settings",
    [
        {"top_k": 0},
        {"top_k": True},
        {"top_k": 2.5},
        {"temperature": 0},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"temperature": "1"},
        {"no_repeat_ngram_size": -1},
        {"max_new_tokens": 0},
        {"max_new_tokens": 100_000},
    ],
)
def test_sampling_is_checked_at_construction(settings: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(settings))):
        Sampling(**settings)


@pytest.mark.parametrize(
    "change",
    [
        {"conversation": ""},
        {"speaker": ""},
        {"seed": -1},
        {"seed": 2**63},
        {"count": 0},
        {"count": 1000},
        {"context": ["Hello!"]},
        {"context": ("Hello!",)},
    ],
)
def test_a_request_is_checked_at_construction(change: dict[str, Any]) -> None:
    sound = {"conversation": "1", "context": HELLO, "speaker": "B", "seed": 0}
    with pytest.raises((TypeError, ValueError), match=next(iter(change))):
        ReplyRequest(**{**sound, **change})


def test_requests_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Sampling().top_k = 3  # type: ignore[misc]


def test_any_text_is_a_message() -> None:
    assert Message("A", "").text == ""
    assert Message("A", "\x00<eou>\u202e").text == "\x00<eou>\u202e"


def test_a_message_is_text() -> None:
    with pytest.raises(TypeError, match="text"):
        Message("A", None)  # type: ignore[arg-type]


def test_a_backend_is_loaded_by_its_dotted_path() -> None:
    backend = load_backend("generation.backends.scripted.ScriptedBackend", {"replies": ["Yes."]})
    assert isinstance(backend, Backend)
    assert backend.version.startswith("scripted@")


@pytest.mark.parametrize(
    "path", ["", "nothing", "generation.backends.none.Backend", "generation.protocol.None_"]
)
def test_an_unknown_backend_is_refused_with_a_remedy(path: str) -> None:
    with pytest.raises(BackendError) as refused:
        load_backend(path, {})
    assert "generation.backends.hf.HFBackend" in refused.value.remedy


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(BackendError, match="speed"):
        load_backend("generation.backends.scripted.ScriptedBackend", {"speed": 3})


def test_the_first_reply_has_the_requests_seed_and_the_others_their_own() -> None:
    seeds = [child_seed(5, attempt) for attempt in range(50)]
    assert seeds[0] == 5
    assert len(set(seeds)) == 50
    assert all(0 <= seed < 2**31 for seed in seeds)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("  Hello \n", "Hello"),
        ("a\x00b\x07", "ab"),
        ("你好\ufffd", "你好"),
        ("<think>\nhm\n</think>\n\nYes.", "Yes."),
        ("half \ud800 a pair", "half  a pair"),
        ("one\ntwo", "one\ntwo"),
    ],
)
def test_replies_are_cleaned(raw: str, clean: str) -> None:
    assert clean_reply(raw) == clean


def test_replies_that_read_the_same_are_the_same() -> None:
    assert reply_key("Hello,  THERE") == reply_key("hello, there")
    assert reply_key("你好！") == reply_key("你好!")
    assert reply_key("\u200b \u200f") == ""
    assert reply_key("Yes.") != reply_key("Yes?")


def test_repeated_and_empty_replies_are_told_apart_and_counted() -> None:
    found = DistinctReplies(4)
    for text in ["Yes.", "yes.", "", "No."]:
        found.offer(Reply(text, seed=1, tokens=1))
    result = found.result()
    assert [reply.text for reply in result.replies] == ["Yes.", "No."]
    assert len(result.failures) == 2
    assert "repeated" in result.failures[0]
    assert "empty" in result.failures[1]


def test_no_reply_at_all_is_an_error() -> None:
    found = DistinctReplies(2)
    found.offer(Reply(" ", seed=1, tokens=1))
    with pytest.raises(BackendError, match="empty") as failed:
        found.result()
    assert failed.value.retryable


def test_the_replying_speaker_is_the_assistant() -> None:
    talk = [Message("A", "one"), Message("B", "two"), Message("B", "three"), Message("A", "four")]
    assert chat_messages(talk, "B", "Be kind.") == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two\nthree"},
        {"role": "user", "content": "four"},
    ]
