"""One request, one id: in the reply, in every log line, and in the worker that carries its task out."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import structlog
from celery import current_app
from django.test import Client

from tests.processes import PATIENCE

CHECKOUT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    structlog.contextvars.clear_contextvars()


def test_a_request_gets_an_id(client: Client) -> None:
    assert len(client.get("/healthz").headers["X-Request-ID"]) == 32


def test_the_proxys_id_is_kept(client: Client) -> None:
    response = client.get("/healthz", headers={"x-request-id": "edge-12345678"})
    assert response.headers["X-Request-ID"] == "edge-12345678"


@pytest.mark.parametrize("given", ["x", "a" * 65, "forged id", "<script>", '{"a":1}12'])
def test_an_odd_id_is_replaced(client: Client, given: str) -> None:
    assert client.get("/healthz", headers={"x-request-id": given}).headers["X-Request-ID"] != given


def run_logged(code: str) -> list[dict[str, object]]:
    environment = {**os.environ, "LOG_JSON": "1", "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", "import django; django.setup()\n" + code]
    run = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stderr.splitlines() if line.startswith("{")]


def test_the_access_line_carries_the_id_and_no_query() -> None:
    code = """
from django.test import Client
Client().get("/nothing?name=Li+Na", headers={"x-request-id": "edge-12345678", "host": "localhost"})
"""
    line = next(line for line in run_logged(code) if line["logger"] == "lapidary.access")
    assert (line["request_id"], line["method"], line["status"]) == ("edge-12345678", "GET", 404)
    assert "Li" not in json.dumps(line)


def test_a_logged_error_shows_no_local_variables() -> None:
    code = """
import logging
def fail(password):
    raise ValueError("broken")
try:
    fail("hunter2")
except ValueError:
    logging.getLogger("x").exception("it broke")
"""
    (line,) = run_logged(code)
    assert line["event"] == "it broke"
    assert "ValueError" in json.dumps(line)
    assert "hunter2" not in json.dumps(line)


@pytest.mark.django_db
def test_the_id_follows_into_the_worker(tmp_path: Path) -> None:
    queue, log = f"test-{uuid4()}", tmp_path / "worker.log"
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "config",
        "worker",
        "-P",
        "solo",
        "-Q",
        queue,
        "-l",
        "info",
    ]
    with log.open("w") as output:
        worker = subprocess.Popen(
            [*command, "--without-gossip", "--without-mingle"],
            cwd=CHECKOUT,
            env={**os.environ, "LOG_JSON": "1"},
            stdout=output,
            stderr=output,
        )
    try:
        structlog.contextvars.bind_contextvars(request_id="edge-12345678")
        current_app.send_task("jobs.tasks.run_job", args=["no uuid"], queue=queue)
        deadline = time.monotonic() + 60 * PATIENCE
        while not (lines := [line for line in log.read_text().splitlines() if "edge-12345678" in line]):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        assert json.loads(lines[0])["task"] == "jobs.tasks.run_job"
    finally:
        worker.terminate()
        worker.wait(30 * PATIENCE)
