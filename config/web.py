"""The web server: uvicorn with what every way to run it has in common. `python -m config.web --port 8000`."""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import sys
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess


class SocketOfEachProcess(socket.socket):
    """A bound TCP socket that is opened anew in every process that it is sent to; Linux only.

    Of processes that accept from one socket, the first to wake takes all connections that wait, and what it accepted
    stays with it: nearly all work may end up with one of them. Linux spreads connections over sockets of one port.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return bound, (self.family, self.getsockname())


def bound(family: int, address: tuple[Any, ...]) -> SocketOfEachProcess:
    """Bound, not yet listening: who does not listen gets no connection. OSError where the address is taken."""
    made = SocketOfEachProcess(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(address)
    return made


class Config(uvicorn.Config):
    def bind_socket(self) -> socket.socket:
        """For several processes; each of them opens one like it where the system spreads connections."""
        shared = super().bind_socket()  # ends the process, with a reason, where another program has the port
        if sys.platform != "linux":
            return shared
        family, address = shared.family, shared.getsockname()
        shared.close()
        return bound(family, address)


def configured(arguments: list[str]) -> Config:
    parser = argparse.ArgumentParser(prog="python -m config.web", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument(
        "--workers",
        type=int,
        default=os.environ.get("WEB_CONCURRENCY") or "1",
        help="processes; a core each is of use (default: WEB_CONCURRENCY, or 1)",
    )
    parser.add_argument(
        "--grace", type=int, default=20, metavar="SECONDS", help="that open downloads are given at the end"
    )
    options = parser.parse_args(arguments)
    return Config(
        "config.asgi:application",
        host=options.host,
        port=options.port,
        workers=options.workers,
        lifespan="off",
        access_log=False,  # config/logging.py writes a line for each request
        timeout_graceful_shutdown=options.grace,
        # Longer than those of the usual proxies, which answer 502 where the server closes first.
        timeout_keep_alive=75,
        # A process that is busy for some seconds is not killed with all its requests.
        timeout_worker_healthcheck=60,
    )


def main() -> int:
    config = configured(sys.argv[1:])
    if config.workers > 1:
        Multiprocess(config, sockets=[config.bind_socket()]).run()
        return 0
    server = uvicorn.Server(config)
    config.load_app()
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    return 0 if server.started else STARTUP_FAILURE


if __name__ == "__main__":
    sys.exit(main())
