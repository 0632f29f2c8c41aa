"""A line to a server that breaks off where a test wants it to: a real TCP connection that is closed half-way."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from types import TracebackType

BLOCK = 4096


class BrokenLine:
    """Passes bytes on to a port of this machine. cut(n): after n more bytes of answers, the connection ends."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._cuts: deque[int] = deque()
        self._lock = threading.Lock()
        self.broken = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self, *after: int) -> None:
        """Bytes of answers until the first cut, from there until the second …"""
        with self._lock:
            self._cuts.extend(after)

    def __enter__(self) -> BrokenLine:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _address = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._port))
            threading.Thread(target=self._requests, args=[near, far], daemon=True).start()
            threading.Thread(target=self._answers, args=[far, near], daemon=True).start()

    def _requests(self, near: socket.socket, far: socket.socket) -> None:
        try:
            while block := near.recv(BLOCK):
                far.sendall(block)
        except OSError:
            pass
        close(far)

    def _answers(self, far: socket.socket, near: socket.socket) -> None:
        try:
            while block := far.recv(BLOCK):
                allowed = self._allowed(len(block))
                near.sendall(block[:allowed])
                if allowed < len(block):
                    break
        except OSError:
            pass
        close(near)
        close(far)

    def _allowed(self, count: int) -> int:
        with self._lock:
            if not self._cuts:
                return count
            if self._cuts[0] >= count:
                self._cuts[0] -= count
                return count
            self.broken += 1
            return self._cuts.popleft()


def close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
