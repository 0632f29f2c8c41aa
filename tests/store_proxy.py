"""A proxy before the object server that answers for it when a test says so: away, full, slow, or with a refusal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.object_store import ObjectServer

When = Callable[[str, str], bool]  # of method and path with query
NOT_COPIED = {"connection", "expect", "transfer-encoding"}
ERROR = "<?xml version='1.0'?><Error><Code>{code}</Code><Message>as the test says</Message></Error>"


def always(_method: str, _path: str) -> bool:
    return True


@dataclass
class StoreProxy:
    """asked: method and path of every request. delay: seconds before an answer."""

    behind: ObjectServer
    port: int
    delay: float = 0.0
    asked: list[tuple[str, str]] = field(default_factory=list)
    error: tuple[int, str, When] | None = None

    def url(self, prefix: str, options: str = "") -> str:
        return self.behind.url(prefix, options=options).replace(f":{self.behind.port}", f":{self.port}")

    def answer(self, status: int, code: str, when: When = always) -> None:
        """Instead of the server, to requests of which `when` is true."""
        self.error = (status, code, when)

    def work(self) -> None:
        """As if nothing had been wrong."""
        self.error, self.delay = None, 0.0


@contextmanager
def run_store_proxy(behind: ObjectServer) -> Iterator[StoreProxy]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            proxy.asked.append((self.command, self.path))
            time.sleep(proxy.delay)
            if proxy.error and proxy.error[2](self.command, self.path):
                status, code, _when = proxy.error
                self.reply(status, [("Content-Type", "application/xml")], ERROR.format(code=code).encode())
            else:
                self.forward(body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any  # noqa: N815

        def forward(self, body: bytes) -> None:
            connection = HTTPConnection("127.0.0.1", behind.port, timeout=30)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            self.reply(answer.status, answer.getheaders(), answer.read())
            connection.close()

        def reply(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in NOT_COPIED | ({"content-length"} if body else set()):
                    self.send_header(name, value)
            if body or not any(name.lower() == "content-length" for name, _value in headers):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if self.command != "HEAD" else b"")

        def log_message(self, *_words: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy = StoreProxy(behind, server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
