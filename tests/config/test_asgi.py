"""The web server's handler."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import AsyncToSync, SyncToAsync
from asgiref.testing import ApplicationCommunicator

from config.asgi import application


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
    around = {"Signal.asend.<locals>.sync_send", "HttpResponseBase.close"}  # its beginning and end
    assert [step for step in steps if step not in around] == ["convert_exception_to_response.<locals>.inner"]
