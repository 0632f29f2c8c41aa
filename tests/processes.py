"""Real web servers and workers for tests and benchmarks: started on a database of their own, killed by process id."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import httpx
from django.conf import settings
from django.db import connection

ROOT = Path(__file__).parent.parent
# Of an idle machine's time, for one that does other work or is slow: what passes does not wait for it.
PATIENCE = 4


_held_ports: list[socket.socket] = []


def free_port() -> int:
    """A port for a server that is started later. It stays bound, so that nothing else gets it meanwhile.

    Both sockets have SO_REUSEADDR and only the server's listens, so that the server can bind it, too.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    _held_ports.append(held)
    return int(held.getsockname()[1])


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port at which nobody listens. It stays bound, so no other process gets it meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield int(bound.getsockname()[1])


def wait_until(ready: Callable[[], bool], seconds: float, what: str) -> None:
    """Poll until `ready`; AssertionError naming `what` when it takes PATIENCE times as long as `seconds`."""
    deadline = time.monotonic() + seconds * PATIENCE
    while not ready():
        assert time.monotonic() < deadline, f"{what} took longer than {seconds * PATIENCE} s"
        time.sleep(0.05)


def database_url() -> str:
    """The database that this process uses now; in a test, the test database."""
    now = connection.settings_dict
    host = quote(str(now["HOST"]), safe="")
    password = f":{quote(str(now['PASSWORD']), safe='')}" if now["PASSWORD"] else ""
    port = f":{now['PORT']}" if now["PORT"] else ""
    return f"postgresql://{now['USER']}{password}@{host}{port}/{now['NAME']}"


# More than the 20 s that gunicorn gives its workers, which may still be starting on a busy machine.
ENDING_SECONDS = 60


@dataclass(slots=True)
class Running:
    """One child process, its output in a file."""

    name: str
    command: list[str]
    environment: Mapping[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env=dict(self.environment),
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """kill -9, with whatever it started."""
        if self.process is not None and self.alive:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def ask_to_stop(self) -> None:
        if self.process is not None and self.alive:
            os.killpg(self.process.pid, signal.SIGTERM)

    def wait_for_end(self) -> None:
        """Of a process that was asked to stop; kill it if it does not."""
        if self.process is None:
            return
        try:
            self.process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def stop(self) -> None:
        self.ask_to_stop()
        self.wait_for_end()


@dataclass(slots=True)
class Stack:
    """A web server and workers on one database and one Redis. Use as a context manager."""

    folder: Path
    database: str
    redis: str
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    running: dict[str, Running] = field(default_factory=dict)

    @classmethod
    def on_this_database(cls, folder: Path, **environment: str) -> Stack:
        return cls(folder, database_url(), settings.REDIS_URL, environment)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def env(self) -> dict[str, str]:
        return {
            **os.environ,
            "DATABASE_URL": self.database,
            "REDIS_URL": self.redis,
            "PUBLIC_URL": self.url,
            "ALLOWED_HOSTS": "127.0.0.1,localhost",
            "API_RATE_LIMIT": "100000/min",
            "FILES_ROOT": str(self.folder / "files"),
            "PYTHONUNBUFFERED": "1",
            **self.environment,
        }

    def _run(self, name: str, *command: str, **environment: str) -> Running:
        log = self.folder / f"{name}.log"
        process = Running(name, [sys.executable, "-m", *command], self.env() | environment, log)
        self.running[name] = process
        process.start()
        return process

    def web(self, workers: int = 1) -> Running:
        """The web server; returns when it answers."""
        settings = ("gunicorn", "-c", "python:config.gunicorn")
        bind = ("--bind", f"127.0.0.1:{self.port}", "--workers", str(workers))
        process = self._run("web", *settings, *bind)
        self.wait_for_web()
        return process

    def wait_for_web(self, seconds: float = 60) -> None:
        wait_until(self.answers, seconds, f"the web server (see {self.folder}/web.log)")

    def answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def worker(self, queue: str = "gpu", name: str = "", *options: str, **environment: str) -> Running:
        """A Celery worker of one queue, solo unless the options say otherwise.

        Returns at once; the worker reports itself in `jobs.Worker` when ready. environment: beside that of the stack.
        """
        pool = ["--pool", "solo", "--without-gossip", "--without-mingle", "--loglevel", "warning"]
        node = ["--hostname", f"{name or queue}@%h"]
        command = ["celery", "-A", "config", "worker", "-Q", queue, *pool, *node, *options]
        return self._run(name or f"worker-{queue}", *command, **environment)

    def chat_worker(self, name: str = "chat", threads: int = 8) -> Running:
        """The worker that asks systems under test, with threads and a pool of connections as in production."""
        options = ["--pool", "threads", "--concurrency", str(threads)]
        return self.worker("chat", name, *options, DATABASE_POOL="8")

    def __enter__(self) -> Stack:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.running.values():
            process.ask_to_stop()  # all at once: each takes seconds to leave
        for process in self.running.values():
            process.wait_for_end()
