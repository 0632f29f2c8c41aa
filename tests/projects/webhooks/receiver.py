"""A real HTTP receiver on loopback, whose answers a test chooses."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass
class Received:
    """One request. headers: by small name."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    @property
    def event(self) -> int:
        return int(self.json["data"]["event"])

    @property
    def subject(self) -> str:
        about = self.json["data"]["subject"]
        return f"{about['type']}:{about['id']}"


Answers = Callable[[Received], int]


@dataclass
class Inbox:
    """What a receiver got. answer: the status of each request; 0: none, the connection hangs for `hang` seconds.

    location: of redirects. answer_body: what follows the status. drip: seconds between its bytes.
    """

    port: int = 0
    got: list[Received] = field(default_factory=list)
    answer: Answers = lambda request: 200
    hang: float = 5.0
    location: str = ""
    answer_body: bytes = b""
    drip: float = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def events(self) -> list[int]:
        return [request.event for request in self.got]

    def of(self, subject: str) -> list[int]:
        return [request.event for request in self.got if request.subject == subject]


def handler_for(inbox: Inbox) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if len(body) < int(self.headers["content-length"]):  # who sent it was killed
                self.close_connection = True
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Received(self.path, headers, body)
            inbox.got.append(request)
            status = inbox.answer(request)
            if not status:
                time.sleep(inbox.hang)
                self.close_connection = True
                return
            self.send_response(status)
            if inbox.location:
                self.send_header("location", inbox.location)
            self.send_header("content-length", str(len(inbox.answer_body)))
            self.end_headers()
            self._write(inbox.answer_body)

        def _write(self, text: bytes) -> None:
            try:
                for place in range(0, len(text), 1 if inbox.drip else len(text) or 1):
                    self.wfile.write(text[place : place + (1 if inbox.drip else len(text))])
                    time.sleep(inbox.drip)
            except OSError:  # nobody reads on
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None: ...

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None: ...


@contextmanager
def receiver(port: int = 0, certificate: Path | None = None) -> Iterator[Inbox]:
    """certificate: a file with key and certificate, of a receiver with TLS."""
    inbox = Inbox()

    server = Server(("127.0.0.1", port), handler_for(inbox))
    inbox.port = server.server_address[1]
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield inbox
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write_certificate(folder: Path, name: str) -> Path:
    """A key and its own certificate for a name, in one file."""
    key, path = ec.generate_private_key(ec.SECP256R1()), folder / "receiver.pem"
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(private + certificate.public_bytes(pem))
    return path
