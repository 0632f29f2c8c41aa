"""The body of a request has to arrive whole and in time: a slow client holds a thread (docs/decisions/0018)."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Lock, Thread
from typing import Any

CHECK_EVERY = 1.0  # seconds

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Watchdog:
    """Ends reading from sockets whose time is over: gunicorn reads without a limit. One thread watches them all."""

    def __init__(self) -> None:
        self._until: dict[socket.socket, float] = {}
        self._lock = Lock()
        self._thread: Thread | None = None

    def watch(self, client: socket.socket, until: float) -> None:
        with self._lock:
            self._until[client] = until
            if self._thread is None:
                self._thread = Thread(target=self._run, name="body-deadline", daemon=True)
                self._thread.start()

    def forget(self, client: socket.socket) -> None:
        """After this the socket is left alone, so it may be closed."""
        with self._lock:
            self._until.pop(client, None)

    def _run(self) -> None:
        while True:
            time.sleep(CHECK_EVERY)
            with self._lock:
                late = [client for client, until in self._until.items() if until < time.monotonic()]
                for client in late:
                    del self._until[client]
                    with suppress(OSError):  # the client is gone
                        client.shutdown(socket.SHUT_RD)


class WholeBody:
    """wsgi.input that raises OSError if the body ends before its length; otherwise half a file would be imported."""

    def __init__(self, body: Any, length: int) -> None:
        self._body, self._left = body, length

    def read(self, size: int = -1) -> bytes:
        return self._count(self._body.read(size), asked=size != 0)

    def readline(self, size: int = -1) -> bytes:
        return self._count(self._body.readline(size), asked=size != 0)

    def _count(self, data: bytes, *, asked: bool) -> bytes:
        self._left -= len(data)
        if asked and not data and self._left > 0:
            raise OSError("the client went away, or took too long, before it had sent the body")
        return data

    @property
    def is_unread(self) -> bool:
        return self._left > 0


def limit_body_time(application: Application, seconds_for: Callable[[str], float]) -> Application:
    """Wrap a WSGI application. seconds_for: how long the body of a request to this path may take."""
    watchdog = Watchdog()

    def serve(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        length, client = environ.get("CONTENT_LENGTH") or "", environ.get("gunicorn.socket")
        if not length.isdecimal() or client is None:
            return application(environ, start_response)
        environ["wsgi.input"] = body = WholeBody(environ["wsgi.input"], int(length))
        watchdog.watch(client, time.monotonic() + seconds_for(environ.get("PATH_INFO", "")))
        try:
            answer = application(environ, start_response)
        finally:
            watchdog.forget(client)
        if body.is_unread:
            # To use the connection again, gunicorn would wait in this thread for the rest of a refused body.
            start_response.__self__.force_close()
        return answer

    return serve
