import time

import pytest

from generation.backends.scripted import CHINESE, ENGLISH, ScriptedBackend
from generation.protocol import BackendError, Message, Reply, ReplyRequest, ReplySet


def request(text: str = "Do you like tea?", *, seed: int = 3, count: int = 7) -> ReplyRequest:
    return ReplyRequest("d1", (Message("A", text),), "B", seed, count)


def replies(answer: ReplySet | BackendError) -> tuple[Reply, ...]:
    assert isinstance(answer, ReplySet), answer
    return answer.replies


def test_seven_different_replies_the_same_every_time() -> None:
    first, again = ScriptedBackend().generate([request(), request()])
    assert len({reply.text for reply in replies(first)}) == 7
    assert first == again == ScriptedBackend().generate([request()])[0]


def test_another_seed_or_context_gives_other_replies() -> None:
    one, other, third = ScriptedBackend().generate([request(), request(seed=4), request("And coffee?")])
    assert replies(one) != replies(other)
    assert replies(one) != replies(third)


def test_chinese_is_answered_in_chinese() -> None:
    chinese, english = ScriptedBackend().generate([request("你喜欢喝茶吗？"), request()])
    assert {reply.text for reply in replies(chinese)} <= set(CHINESE)
    assert {reply.text for reply in replies(english)} <= set(ENGLISH)


def test_a_short_list_says_what_is_missing() -> None:
    (answer,) = ScriptedBackend(replies=["Yes.", "No.", "YES."]).generate([request()])
    assert {reply.text.lower() for reply in replies(answer)} == {"yes.", "no."}
    assert isinstance(answer, ReplySet)
    assert len(answer.failures) == 5


def test_one_failing_reply_leaves_the_other_six() -> None:
    (answer,) = ScriptedBackend(fail_replies=1).generate([request()])
    assert isinstance(answer, ReplySet)
    assert (len(answer.replies), len(answer.failures)) == (6, 1)


def test_a_failing_request_leaves_the_others() -> None:
    failed, answered = ScriptedBackend(fail_word="storm").generate([request("A storm!"), request()])
    assert isinstance(failed, BackendError)
    assert len(replies(answered)) == 7


def test_failing_calls_recover() -> None:
    backend = ScriptedBackend(fail_calls=1)
    (failed,) = backend.generate([request()])
    assert isinstance(failed, BackendError)
    assert failed.retryable
    assert len(replies(backend.generate([request()])[0])) == 7


def test_an_unavailable_backend_fails_its_check() -> None:
    backend = ScriptedBackend(unavailable=True)
    with pytest.raises(BackendError):
        backend.check()
    assert isinstance(backend.generate([request()])[0], BackendError)


def test_the_delay_is_kept() -> None:
    started = time.monotonic()
    ScriptedBackend(delay=0.05).generate([request()])
    assert time.monotonic() - started >= 0.05


def test_all_replies_failing_is_an_error() -> None:
    (answer,) = ScriptedBackend(fail_replies=7).generate([request()])
    assert isinstance(answer, BackendError)
