"""The web server's handler."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import AsyncToSync
from asgiref.testing import ApplicationCommunicator

from config.asgi import application


def test_a_request_never_comes_back_from_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way back to the event loop is a switch between threads that does nothing for the request."""
    back: list[str] = []
    there = AsyncToSync.__call__

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        back.append(repr(self.awaitable))
        return there(self, *args, **kwargs)

    monkeypatch.setattr(AsyncToSync, "__call__", counted)
    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "GET", "path": "/healthz", "query_string": b"", "headers": headers}

    async def talk() -> int:
        said: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]
        await said.send_input({"type": "http.request", "body": b""})
        status: int = (await said.receive_output(timeout=10))["status"]
        await said.receive_output(timeout=10)
        await said.wait(timeout=10)
        return status

    assert asyncio.run(talk()) == 200
    assert back == []
