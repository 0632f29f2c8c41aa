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
BYTES: Final = 65536  # read at most from each, so that nobody keeps a closed connection busy


class LingeringCloser:
    """Closes sockets when their clients have closed, have sent too much, or SECONDS are over."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._until: dict[socket.socket, float] = {}
        self._read: dict[socket.socket, int] = {}
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
            self._read[client] = 0
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
                    if self._until[client] < now or (client in ready and not self._drain(client)):
                        self._forget(client)
                if not self._until:
                    self._thread = None
                    return

    def _drain(self, client: socket.socket) -> bool:
        """Whether the client may still send something."""
        try:
            data = client.recv(4096)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._read[client] += len(data)
        return bool(data) and self._read[client] < BYTES

    def _forget(self, client: socket.socket) -> None:
        del self._until[client], self._read[client]
        self._selector.unregister(client)
        with suppress(OSError):
            client.close()
