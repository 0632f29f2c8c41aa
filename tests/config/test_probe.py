"""The health checks of the web server's container, as Dockerfile and compose.yaml write them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

import pytest
import yaml

from tests.processes import ROOT

NAME: Final = "lapidary.example.org"


class Checked(BaseHTTPRequestHandler):
    """Healthy while `status` is 200, for those who ask as a proxy does."""

    status = 200

    def do_GET(self) -> None:
        asked = (self.path, self.headers["Host"], self.headers["X-Forwarded-Proto"])
        expected = [(path, NAME, "https") for path in ("/healthz", "/readyz")]
        self.send_response(self.status if asked in expected else 400)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Checked,), {})) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def in_compose() -> list[str]:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return list(services["web"]["healthcheck"]["test"][1:])


def in_the_image() -> list[str]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("HEALTHCHECK")]
    return list(json.loads(line.partition(" CMD ")[2]))


def exit_code(command: list[str], server: ThreadingHTTPServer) -> int:
    port = server.server_address[1]
    assert command[0] == "python"
    words = [sys.executable, *(word.replace(":8000", f":{port}") for word in command[1:])]
    environment = os.environ | {"PUBLIC_URL": f"https://{NAME}", "http_proxy": "http://127.0.0.1:1"}
    environment = {name: value for name, value in environment.items() if name.lower() != "no_proxy"}
    return subprocess.run(words, cwd=ROOT, env=environment, timeout=60, check=False).returncode


@pytest.mark.parametrize("command", [in_compose(), in_the_image()], ids=["compose.yaml", "Dockerfile"])
def test_a_container_is_healthy_while_the_server_says_so(
    server: ThreadingHTTPServer, command: list[str]
) -> None:
    assert exit_code(command, server) == 0
    server.RequestHandlerClass.status = 503  # type: ignore[attr-defined]
    assert exit_code(command, server) == 1


def test_nothing_but_the_standard_library_is_imported() -> None:
    """Importing the project takes longer than the check may take on a busy machine."""
    assert {"-IS", "config/probe.py"} <= set(in_compose()) & set(in_the_image())
