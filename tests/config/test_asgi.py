"""The web server's handler."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import AsyncToSync, SyncToAsync
from asgiref.testing import ApplicationCommunicator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

from config.asgi import OneThreadHandler, application
from config.health import healthz


def test_a_request_is_handled_in_one_step_into_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each further one, and each way back, is a switch between threads that does nothing for the request."""
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

    async def talk() -> int:
        said = await begun(application, "/healthz")
        status: int = (await said.receive_output(timeout=10))["status"]
        await said.receive_output(timeout=10)
        await said.wait(timeout=10)
        return status

    assert asyncio.run(talk()) == 200
    around = {"Signal.asend.<locals>.sync_send", "HttpResponseBase.close"}  # its beginning and end
    assert [step for step in steps if step not in around] == ["convert_exception_to_response.<locals>.inner"]


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
left = threading.Event()


def held(request: HttpRequest) -> HttpResponse:
    left.wait(60)
    return HttpResponse()


urlpatterns = [
    path("counted", counted),
    path("endless", endless),
    path("held", held),
    path("healthz", healthz),
]


async def begun(handler: object, address: str) -> Any:
    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "GET", "path": address, "query_string": b"", "headers": headers}
    said: Any = ApplicationCommunicator(handler, scope)  # type: ignore[no-untyped-call]
    await said.send_input({"type": "http.request", "body": b""})
    return said


async def answered(said: Any) -> None:
    """The first part of the answer is there."""
    assert (await said.receive_output(timeout=30))["status"] == 200
    assert (await said.receive_output(timeout=30))["type"] == "http.response.body"


async def leaves(said: Any) -> None:
    await said.send_input({"type": "http.disconnect"})
    await said.wait(timeout=30)


def test_requests_beyond_the_places_wait_and_streams_hold_none(settings: Any) -> None:
    settings.ROOT_URLCONF, settings.WEB_THREADS = __name__, 2

    async def crowd() -> None:
        handler = OneThreadHandler()
        streams = [await begun(handler, "/endless") for _ in range(3)]
        for stream in streams:
            await answered(stream)
        waiting = [await begun(handler, "/counted") for _ in range(12)]
        await asyncio.gather(*map(answered, waiting))
        await asyncio.gather(*map(leaves, streams), *(one.wait(timeout=30) for one in waiting))

    asyncio.run(crowd())
    assert counted.most == 2


def test_health_is_told_while_all_places_are_taken_and_who_leaves_the_queue_takes_none(settings: Any) -> None:
    settings.ROOT_URLCONF, settings.WEB_THREADS = __name__, 1
    left.clear()

    async def crowd() -> None:
        handler = OneThreadHandler()
        holds, goes, waits, health = [
            await begun(handler, address) for address in ("/held", "/counted", "/counted", "/healthz")
        ]
        await answered(health)
        assert await waits.receive_nothing(timeout=0.5)
        await leaves(goes)
        left.set()
        await asyncio.gather(answered(holds), answered(waits))
        await asyncio.gather(*(one.wait(timeout=30) for one in (health, holds, waits)))

    asyncio.run(crowd())
