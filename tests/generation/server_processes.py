"""Model servers as processes that end with the test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.processes import free_port, wait_until


@contextmanager
def running(*command: str, log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, **environment}
        )
        with process:
            try:
                yield process
            finally:
                process.kill()


def first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout
    return process.stdout.readline().decode().strip()


@contextmanager
def serve_model(folder: Path | None, log: Path) -> Iterator[str]:
    """The base_url of a `transformers serve` process over a model; None: over any that a request names."""
    port = str(free_port())
    program = str(Path(sys.executable).with_name("transformers"))
    named = [] if folder is None else [str(folder)]
    command = [program, "serve", *named, "--host", "127.0.0.1", "--port", port, "--device", "cpu"]
    with running(*command, log=log, HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1") as process:
        wait_until_it_answers(process, port, log)
        yield f"http://127.0.0.1:{port}/v1"


def wait_until_it_answers(process: subprocess.Popen[bytes], port: str, log: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            httpx.get(f"http://localhost:{port}/health", timeout=30).raise_for_status()
        except httpx.HTTPError:
            return False
        return True

    wait_until(answers, 60, f"the start of the server (see {log})")
