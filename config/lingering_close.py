"""Closing connections whose clients still send, without making others wait.

A server that closes such a connection at once resets it, and the client may lose the answer. So gunicorn half-closes it
and reads on for up to two seconds (RFC 9112, section 9.6), but does so in the thread that hands requests to all others:
a client that neither sends nor closes stalls a whole process. Here, one thread reads from all of them.
"""

from __future__ import annotations

import selectors
import socket
import time
from contextlib import suppress
from threading import Lock, Thread
from typing import Final

SECONDS: Final = 2.0
CHECK_EVERY: Final = 0.1  # seconds
MOST: Final = 1000  # connections; further ones are closed at once
BYTES: Final = 65536  # read at most from each, so that nobody keeps the thread busy


class LingeringCloser:
    """Closes sockets when their clients have closed, or SECONDS are over."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._until: dict[socket.socket, float] = {}
        self._left: dict[socket.socket, int] = {}
        self._lock = Lock()
        self._thread: Thread | None = None

    def close(self, client: socket.socket, *_limits: object) -> None:
        """Takes the place of gunicorn.util.close_graceful. Returns at once."""
        try:
            client.shutdown(socket.SHUT_WR)
            client.setblocking(False)
        except OSError:  # the client is gone
            client.close()
            return
        with self._lock:
            if len(self._until) >= MOST:
                client.close()
                return
            self._until[client] = time.monotonic() + SECONDS
            self._left[client] = BYTES
            self._selector.register(client, selectors.EVENT_READ)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="lingering-close", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            ready = {key.fileobj for key, _events in self._selector.select(timeout=CHECK_EVERY)}
            with self._lock:
                now = time.monotonic()
                for client in list(self._until):
                    if self._until[client] < now or (client in ready and self._has_ended(client)):
                        self._forget(client)
                if not self._until:
                    self._thread = None
                    return

    def _has_ended(self, client: socket.socket) -> bool:
        """Read what a client still sends. Whether it has closed the connection, or is gone."""
        try:
            data = client.recv(4096)
        except BlockingIOError:
            return False
        except OSError:
            return True
        self._left[client] -= len(data)
        if data and self._left[client] <= 0:
            # Nothing more is read. To close now would reset the connection before a proxy that still sends has read
            # the answer, and it would answer 502 instead.
            self._selector.unregister(client)
        return not data

    def _forget(self, client: socket.socket) -> None:
        del self._until[client], self._left[client]
        with suppress(KeyError):  # it has sent too much
            self._selector.unregister(client)
        with suppress(OSError):
            client.close()
