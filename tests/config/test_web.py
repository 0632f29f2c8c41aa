"""The web server's processes: who gets the connections, and what is said where it cannot start."""

import contextlib
import os
import socket
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import redis
from django.conf import settings
from django.core.cache import BaseCache, caches

from tests.processes import ROOT, Stack, wait_until

CONNECTIONS = 60
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux spreads connections over sockets")


def answered(connection: socket.socket) -> bool:
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return connection.recv(4096).startswith(b"HTTP/1.1 200")


@LINUX
@pytest.mark.django_db(transaction=True)
def test_connections_that_come_at_once_are_spread_over_the_processes(tmp_path: Path) -> None:
    """And they stay there: a process that has all of them does all the work."""
    with Stack.on_this_database(tmp_path) as stack, contextlib.ExitStack() as opened:
        web = stack.web(workers=2)
        assert web.process is not None
        parent = psutil.Process(web.process.pid)

        def having(status: str) -> Counter[int]:
            """How many sockets of the port are in this state, by process."""
            pairs = [(one.pid, at) for one in parent.children() for at in one.net_connections("tcp4")]
            return Counter(pid for pid, at in pairs if at.status == status and at.laddr.port == stack.port)

        wait_until(lambda: len(having("LISTEN")) == 2, 60, "a second process that listens")
        address = ("127.0.0.1", stack.port)
        connections = [
            opened.enter_context(socket.create_connection(address, 30)) for _ in range(CONNECTIONS)
        ]
        assert all(answered(connection) for connection in connections)
        # Each falls to one of two by chance: that one gets fewer than 10 of 60 happens once in 10 million times.
        shares = having("ESTABLISHED")
        assert sum(shares.values()) == CONNECTIONS
        assert len(shares) == 2, shares
        assert min(shares.values()) >= 10, shares


@pytest.mark.parametrize("workers", [1, 2])
def test_a_taken_port_is_named(workers: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        command = [sys.executable, "-m", "config.web", "--port", port, "--workers", str(workers)]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 3
    assert "address already in use" in ended.stderr.lower()


@LINUX
def test_a_second_server_of_the_same_person_is_refused_its_port(tmp_path: Path) -> None:
    """Sockets that share a port would let it in, and both would get half of the requests."""
    with Stack.on_this_database(tmp_path) as stack:
        stack.web(workers=2)
        command = [sys.executable, "-m", "config.web", "--port", str(stack.port), "--workers", "2"]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, "address already in use" in ended.stderr.lower()) == (3, True)


def test_a_number_of_processes_that_is_none_is_named() -> None:
    command = [sys.executable, "-m", "config.web"]
    several = {**os.environ, "WEB_CONCURRENCY": "two"}
    ended = subprocess.run(
        command, cwd=ROOT, env=several, capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, "--workers: invalid int value: 'two'" in ended.stderr) == (2, True)


def test_threads_share_the_connections_of_the_cache() -> None:
    """Django makes a cache for each thread, which under ASGI is each request."""
    kept: list[BaseCache] = []  # as long as they live, so do connections of their own
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        database = str(client.connection_pool.connection_kwargs["db"])

        def connections() -> int:
            return sum(one["db"] == database for one in client.client_list())

        caches["default"].get("nothing")
        before = connections()
        for _ in range(20):
            with ThreadPoolExecutor(1) as thread:
                kept.append(thread.submit(asked).result())
        assert len({id(one) for one in kept}) == 20
        assert connections() <= before + 1


def asked() -> BaseCache:
    cache = caches["default"]
    cache.get("nothing")
    return cache
