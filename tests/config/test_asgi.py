"""The web server's handler."""

import asyncio
import io
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from asgiref.sync import AsyncToSync, SyncToAsync
from asgiref.testing import ApplicationCommunicator
from django.db import connection, connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path
from django.utils.translation import get_language

from common.rest.streams import StreamedText
from config.asgi import INTERPRETER_FOR, ThreadsHandler
from config.health import healthz


@contextmanager
def handling() -> Iterator[ThreadsHandler]:
    """A handler whose threads end with the test; one of them may have a connection to its database."""
    handler = ThreadsHandler()
    try:
        yield handler
    finally:
        handler.threads.submit(connections.close_all).result()
        handler.threads.shutdown()


def test_a_request_is_handled_in_one_step_into_a_thread(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Each further one, and each way back, is a switch between threads that does nothing for the request."""
    settings.ROOT_URLCONF = __name__
    steps: list[str] = []
    into, back = SyncToAsync.__call__, AsyncToSync.__call__

    def counted_into(self: Any, *args: Any, **kwargs: Any) -> Any:
        steps.append(self.func.__qualname__)
        return into(self, *args, **kwargs)

    def counted_back(self: Any, *args: Any, **kwargs: Any) -> Any:
        steps.append("back")
        return back(self, *args, **kwargs)

    monkeypatch.setattr(SyncToAsync, "__call__", counted_into)
    monkeypatch.setattr(AsyncToSync, "__call__", counted_back)
    with handling() as handler:
        assert asyncio.run(text_of(handler, "/thread")).startswith("request_")
    assert steps == ["ThreadsHandler.respond"]


@pytest.mark.django_db(transaction=True)
def test_the_next_request_finds_the_connection_of_the_one_before(settings: Any) -> None:
    settings.ROOT_URLCONF, settings.WEB_THREADS = __name__, 1
    with handling() as handler:
        backends = {asyncio.run(text_of(handler, "/backend")) for _ in range(5)}
    assert len(backends) == 1


@pytest.mark.django_db(transaction=True)
def test_what_is_streamed_keeps_no_connection_and_its_readers_language(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    streamed.clear()
    with handling() as handler:
        assert asyncio.run(text_of(handler, "/streamed")) == "1 zh-hans, 2 zh-hans"
    assert [one.connection for one in streamed] == [None, None]


@pytest.mark.django_db(transaction=True)
def test_a_stream_that_breaks_off_is_closed(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    streamed.clear()

    async def talk(handler: ThreadsHandler) -> None:
        said = await begun(handler, "/breaks")
        await answered(said)
        with pytest.raises(OSError, match="gone"):
            await said.wait(timeout=30)

    with handling() as handler:
        asyncio.run(talk(handler))
    assert (broken.closed, [one.connection for one in streamed]) == (True, [None])


class Counted:
    """A view that knows how many threads are in it."""

    def __init__(self) -> None:
        self.lock, self.inside, self.most = threading.Lock(), 0, 0

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.05)
        with self.lock:
            self.inside -= 1
        return HttpResponse()


def endless(request: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[bytes]:
        yield b"begun"
        await asyncio.sleep(3600)

    return StreamingHttpResponse(parts())


counted = Counted()
left, inside = threading.Event(), threading.Event()
broken = io.BytesIO()
streamed: list[Any] = []


def held(request: HttpRequest) -> HttpResponse:
    inside.set()
    left.wait(60)
    return HttpResponse(request.body)


def thread(request: HttpRequest) -> HttpResponse:
    return HttpResponse(threading.current_thread().name)


def asked(statement: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return str(cursor.fetchone()[0])


def used() -> str:
    """What a part of a stream needs a connection for; notes which one it was."""
    streamed.append(connections["default"])
    return asked(f"SELECT {len(streamed)}")


def streamed_rows(request: HttpRequest) -> StreamedText:
    def rows() -> Iterator[str]:
        yield f"{used()} {get_language()}"
        yield f", {used()} {get_language()}"

    return StreamedText(rows())


def breaks(request: HttpRequest) -> StreamedText:
    def rows() -> Iterator[str]:
        yield used()
        raise OSError("gone")

    answer = StreamedText(rows())
    answer._resource_closers.append(broken.close)  # type: ignore[attr-defined]
    return answer


urlpatterns = [
    path("breaks", breaks),
    path("backend", lambda request: HttpResponse(asked("SELECT pg_backend_pid()"))),
    path("counted", counted),
    path("endless", endless),
    path("held", held),
    path("healthz", healthz),
    path("streamed", streamed_rows),
    path("thread", thread),
]


async def begun(handler: object, address: str) -> Any:
    headers = [(b"host", b"localhost"), (b"accept-language", b"zh-hans")]
    scope = {"type": "http", "method": "GET", "path": address, "query_string": b"", "headers": headers}
    said: Any = ApplicationCommunicator(handler, scope)  # type: ignore[no-untyped-call]
    await said.send_input({"type": "http.request", "body": b"sent"})
    return said


async def answered(said: Any) -> None:
    """The first part of the answer is there."""
    assert (await said.receive_output(timeout=30))["status"] == 200
    assert (await said.receive_output(timeout=30))["type"] == "http.response.body"


async def text_of(handler: object, address: str) -> str:
    """The whole answer."""
    said, parts, more = await begun(handler, address), [], True
    assert (await said.receive_output(timeout=30))["status"] == 200
    while more:
        part = await said.receive_output(timeout=30)
        parts.append(part.get("body", b""))
        more = part.get("more_body", False)
    await said.wait(timeout=30)
    return b"".join(parts).decode()


async def leaves(said: Any) -> None:
    await said.send_input({"type": "http.disconnect"})
    await said.wait(timeout=30)


def test_requests_that_want_the_interpreter_come_in_turn_and_streams_hold_none(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.ROOT_URLCONF, settings.WEB_THREADS, settings.WEB_AT_WORK = __name__, 3, 2
    monkeypatch.setattr("config.asgi.INTERPRETER_FOR", 60)
    counted.most = 0

    async def crowd(handler: ThreadsHandler) -> None:
        streams = [await begun(handler, "/endless") for _ in range(3)]
        for stream in streams:
            await answered(stream)
        waiting = [await begun(handler, "/counted") for _ in range(12)]
        await asyncio.gather(*map(answered, waiting))
        await asyncio.gather(*map(leaves, streams), *(one.wait(timeout=30) for one in waiting))

    with handling() as handler:
        asyncio.run(crowd(handler))
    assert counted.most == 2


def test_who_waits_for_something_else_holds_nobody_up_until_the_threads_are_all_taken(settings: Any) -> None:
    settings.ROOT_URLCONF, settings.WEB_THREADS, settings.WEB_AT_WORK = __name__, 3, 2
    left.clear()

    async def crowd(handler: ThreadsHandler) -> None:
        holds = [await begun(handler, "/held") for _ in range(2)]
        quick = await begun(handler, "/thread")
        await answered(quick)
        holds.append(await begun(handler, "/held"))
        waits = await begun(handler, "/thread")
        assert await waits.receive_nothing(timeout=3 * INTERPRETER_FOR)
        left.set()
        await asyncio.gather(*map(answered, [*holds, waits]))
        await asyncio.gather(*(one.wait(timeout=30) for one in (*holds, quick, waits)))

    with handling() as handler:
        asyncio.run(crowd(handler))


def test_the_access_line_tells_how_long_a_request_waited_for_its_turn(
    caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.ROOT_URLCONF, settings.WEB_THREADS = __name__, 1
    left.clear()

    async def crowd(handler: ThreadsHandler) -> None:
        holds, waits = [await begun(handler, at) for at in ("/held", "/thread")]
        assert await waits.receive_nothing(timeout=0.3)
        left.set()
        await asyncio.gather(answered(holds), answered(waits))
        await asyncio.gather(holds.wait(timeout=30), waits.wait(timeout=30))

    with handling() as handler, caplog.at_level("INFO", "lapidary.access"):
        asyncio.run(crowd(handler))
    lines: dict[str, Any] = {line.msg["path"]: line.msg for line in caplog.records}  # type: ignore[index]
    assert lines["/thread"]["waited_ms"] >= 290
    assert lines["/thread"]["ms"] >= lines["/thread"]["waited_ms"]
    assert lines["/held"]["waited_ms"] < lines["/held"]["ms"]


def test_health_is_told_while_all_threads_are_taken_and_who_leaves_the_queue_takes_none(
    settings: Any,
) -> None:
    settings.ROOT_URLCONF, settings.WEB_THREADS = __name__, 1
    left.clear()
    counted.most = 0

    async def crowd(handler: ThreadsHandler) -> None:
        holds = await begun(handler, "/held")
        goes, waits, health = [await begun(handler, at) for at in ("/counted", "/thread", "/healthz")]
        await answered(health)
        await asyncio.sleep(2 * INTERPRETER_FOR)
        await leaves(goes)
        assert await waits.receive_nothing(timeout=0.1)
        left.set()
        await asyncio.gather(answered(holds), answered(waits))
        await asyncio.gather(*(one.wait(timeout=30) for one in (health, holds, waits)))

    with handling() as handler:
        asyncio.run(crowd(handler))
    assert counted.most == 0


def test_what_was_sent_stays_readable_when_the_client_leaves_while_it_is_handled(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    left.clear()
    inside.clear()

    async def talk(handler: ThreadsHandler) -> bytes:
        goes = await begun(handler, "/held")
        await asyncio.to_thread(inside.wait, 30)
        await goes.send_input({"type": "http.disconnect"})
        assert await goes.receive_nothing(timeout=0.1)
        left.set()
        assert (await goes.receive_output(timeout=30))["status"] == 200
        read: bytes = (await goes.receive_output(timeout=30))["body"]
        await goes.wait(timeout=30)
        return read

    with handling() as handler:
        assert asyncio.run(talk(handler)) == b"sent"
