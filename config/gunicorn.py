"""gunicorn's settings (docs/decisions/0018): `python -m gunicorn -c python:config.gunicorn --bind 127.0.0.1:8000`."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from environs import Env
from environs.exceptions import EnvError
from gunicorn import util

from config.balanced_worker import forget
from config.busy_threads import BUSY_THREADS
from config.checked_values import AT_LEAST_1
from config.lingering_close import LingeringCloser
from config.logging import configure_logging

if TYPE_CHECKING:
    from gunicorn.arbiter import Arbiter
    from gunicorn.http.message import Request
    from gunicorn.workers.base import Worker

env = Env()  # config/__init__.py has read the file .env

try:
    workers = env.int("WEB_CONCURRENCY", default=1, validate=AT_LEAST_1)
    # A slow download, a slow upload and a wait for a lock each hold a thread. Idle threads cost next to nothing.
    threads = env.int("WEB_THREADS", default=64, validate=AT_LEAST_1)
    stalled_seconds = env.int("WEB_STALLED_SECONDS", default=120, validate=AT_LEAST_1)
except EnvError as error:  # gunicorn would print a traceback
    sys.exit(str(error))

wsgi_app = "config.wsgi"
worker_class = "config.balanced_worker.BalancedWorker"
# Longer than the idle timeout of the usual proxies, which answer 502 if the server closes first.
keepalive = 75
# gunicorn takes less by default; a page's query with all its filters fits into this.
limit_request_line = 8190
# Seconds. A worker that does not come to its main loop for this long is killed with all its requests.
timeout = 60
# Seconds for open requests after SIGTERM.
graceful_timeout = 20
# The heartbeat file must not wait for a disk.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
control_socket_disable = True
# config/logging.py writes a line for each request.
accesslog = None
loglevel = env.str("LOG_LEVEL", default="INFO").lower()

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
# Set before a process imports prometheus_client, which then writes its counters there: /metrics adds up all processes.
metrics_folder = Path(
    env.str(METRICS_FOLDER, default="") or tempfile.mkdtemp(prefix="lapidary-metrics-", dir=worker_tmp_dir)
)
os.environ[METRICS_FOLDER] = str(metrics_folder)


def on_starting(_server: Arbiter) -> None:
    """Log the arbiter's lines in the workers' format; forget the counters of processes of an earlier start."""
    metrics_folder.mkdir(parents=True, exist_ok=True)
    forget_counters()
    json_lines = env.bool("LOG_JSON", default=env.bool("PRODUCTION", default=False))
    configure_logging(debug=False, json_lines=json_lines, level=env.str("LOG_LEVEL", default="INFO"))


def forget_counters() -> None:
    for file in metrics_folder.glob("*.db"):
        file.unlink()


def child_exit(_server: Arbiter, worker: Worker) -> None:
    """Its gauges end with a process; its counters stay, because a sum that falls would look like a restart."""
    forget(worker)
    from prometheus_client.multiprocess import mark_process_dead  # reads METRICS_FOLDER when it is imported

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(_server: Arbiter) -> None:
    forget_counters()
    with contextlib.suppress(OSError):  # a mount, or something else is in it
        metrics_folder.rmdir()


def post_worker_init(_worker: Worker) -> None:
    util.close_graceful = LingeringCloser().close
    BUSY_THREADS.total = threads


def pre_request(_worker: Worker, _request: Request) -> None:
    BUSY_THREADS.start()


def post_request(_worker: Worker, _request: Request, _environ: dict[str, object], _response: object) -> None:
    """gunicorn calls it when the whole response is sent, and when the request failed."""
    BUSY_THREADS.end()


def when_ready(server: Arbiter) -> None:
    """Drop clients that neither send nor take a byte for WEB_STALLED_SECONDS: each holds a thread.

    gunicorn reads and writes without a timeout. Accepted sockets inherit these options from the listening ones.
    """
    for listener in server.LISTENERS:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", stalled_seconds, 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", stalled_seconds, 0))
        if sys.platform == "linux":
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, stalled_seconds * 1000)
