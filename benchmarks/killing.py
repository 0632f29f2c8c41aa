"""What benchmarks share that kill processes while people go on: own servers, sending until answered, the findings."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from benchmarks.reporting import command_line

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from tests.processes import Stack

    class Findings(DataclassInstance, Protocol):
        """A dataclass of figures. clean: nothing was lost or doubled."""

        @property
        def clean(self) -> bool: ...


def kill_command_line(description: str | None, *, kills: int) -> argparse.ArgumentParser:
    parser = command_line(description)
    parser.add_argument("--kills", type=int, default=kills)
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    return parser


@contextmanager
def own_folder(name: str, *, keep: bool) -> Iterator[Path]:
    """A folder for servers of the benchmark's own, whatever the environment says; deleted afterwards unless kept."""
    for url in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(url, None)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    folder.chmod(0o711)  # as root, PostgreSQL runs as another user, who must be able to pass
    try:
        yield folder
    finally:
        if keep:
            print(f"logs: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def print_findings(findings: Findings, *, as_json: bool) -> int:
    """Print them; the exit status, 0 if they are clean."""
    if as_json:
        print(json.dumps(asdict(findings)))
    else:
        for name, value in asdict(findings).items():
            print(f"{name:34} {value}")
        print("clean" if findings.clean else "NOT CLEAN")
    return 0 if findings.clean else 1


def restart(stack: Stack, name: str) -> None:
    """kill -9, and start it again."""
    stack.running[name].kill()
    stack.running[name].start()


class Sender:
    """A connection that sends a request again until the server answers it. again: how often that was necessary."""

    def __init__(self, client: httpx.AsyncClient, seed: int, *, patience: float = float("inf")) -> None:
        """patience: seconds until an error is raised, or returned as it is."""
        self.client, self.random, self.patience = client, random.Random(seed), patience
        self.again = 0

    async def send(
        self, method: str, path: str, headers: dict[str, str] | None = None, **content: Any
    ) -> httpx.Response:
        deadline = time.monotonic() + self.patience
        while True:
            try:
                answer = await self.client.request(method, path, headers=headers, **content)
                if answer.status_code < 500 or time.monotonic() > deadline:
                    return answer
            except httpx.HTTPError:
                if time.monotonic() > deadline:
                    raise
            self.again += 1
            await asyncio.sleep(0.1 + self.random.random() * 0.3)
