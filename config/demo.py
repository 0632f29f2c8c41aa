"""What `make demo` runs: migrate, seed, web server and workers, until Ctrl-C. `python -m config.demo`."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TextIO

from config import embedded
from config.supervisor import Service, ServiceFailed, Supervisor, environment, print_line

ROOT: Final = Path(__file__).resolve().parent.parent
FIRST_PORT: Final = 8000
FIRST_BOTS_PORT: Final = 8600
# WhiteNoise serves the sources while nothing is collected; root may run the demo.
UNHELPFUL: Final = ("ignore:No directory at", "ignore:You're running the worker with superuser privileges")


@dataclass(slots=True)
class Readiness:
    """Says once that everything runs, or what does not yet."""

    url: str
    logins: str
    begun: float
    said: bool = False
    next_look: float = 0.0
    next_word: float = 30.0

    def look(self) -> None:
        now = time.monotonic()
        if self.said or now < self.next_look:
            return
        self.next_look = now + 0.3
        state = ready_state(self.url)
        if state is None:
            self.said = True
            print_line(self.announcement(now), prefix="")
        elif now - self.begun > self.next_word:
            self.next_word += 30.0
            print_line(f"still waiting for: {state}")

    def announcement(self, now: float) -> str:
        line = "-" * 78
        head = f"Lapidary runs at  {self.url}   (ready after {now - self.begun:.1f} s; Ctrl-C stops it)"
        return f"\n{line}\n{head}\n\n{self.logins.strip()}\n{line}\n"


def ready_state(url: str) -> str | None:
    """None = ready with every worker; otherwise what is missing."""
    try:
        with urllib.request.urlopen(f"{url}/readyz?workers=required", timeout=5):  # noqa: S310
            return None
    except urllib.error.HTTPError as error:
        missing = json.loads(error.read()) if error.code == 503 else {f"status {error.code}": "failed"}
        return ", ".join(part for part, state in missing.items() if state != "ok")
    except OSError:
        return "web server"


def free_port() -> int:
    """LAPIDARY_PORT, or the first free one from 8000 on."""
    wish = os.environ.get("LAPIDARY_PORT", "")
    if wish and not (wish.isdecimal() and 0 < int(wish) < 65536):
        raise SystemExit(f"LAPIDARY_PORT={wish} is not a port. Choose one: LAPIDARY_PORT=8200 make demo")
    for port in [int(wish)] if wish else range(FIRST_PORT, FIRST_PORT + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((bind_address(), port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                raise SystemExit(cannot_listen(port, error)) from None
            return port
    raise SystemExit(another_port(wish or f"{FIRST_PORT} to {FIRST_PORT + 99}"))


def another_port(taken: str) -> str:
    free = 8200 if taken != "8200" else 8300
    return f"Port {taken} is taken by another program. Choose another: LAPIDARY_PORT={free} make demo"


def cannot_listen(port: int, error: OSError) -> str:
    cause = f"Cannot listen at {bind_address()}, port {port}: {error.strerror}."
    return f"{cause} Choose others: LAPIDARY_BIND=127.0.0.1 LAPIDARY_PORT=8200 make demo"


def remedy_for(reason: str, port: int) -> str:
    """What to do about the last words of a service that cannot start."""
    if "address already in use" in reason.lower():
        return another_port(str(port))
    return "The lines above say more; `.venv/bin/python manage.py doctor` looks at everything."


@contextlib.contextmanager
def only_demo_of(var: Path) -> Iterator[TextIO]:
    """Refuse a second demo in the same folder, because both would share workers' names and the scheduler's file.

    Yields the locked file, for the address.
    """
    embedded.make_parents(var / "demo.lock")
    with (var / "demo.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise SystemExit(already_running(lock.read())) from None
        lock.truncate(0)
        yield lock


def already_running(url: str) -> str:
    cause = f"The demo of this folder runs already{f', at {url}' if url else ' (it is just starting)'}."
    return f"{cause} Ctrl-C stops it where it was started; another needs a folder: LAPIDARY_VAR=/tmp/other make demo"


def bind_address() -> str:
    return os.environ.get("LAPIDARY_BIND", "127.0.0.1")


def prepare(port: int, bots_port: int) -> str:
    """Migrate and seed; returns what the seeding printed (the logins)."""
    print_line("preparing the database and the demo projects")
    command = [sys.executable, "-m", "config.demo_data"]
    settings = environment(PUBLIC_URL=public_url(port), DEMO_BOTS=f"http://127.0.0.1:{bots_port}")
    return subprocess.run(
        command, cwd=ROOT, env=settings, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def public_url(port: int) -> str:
    return os.environ.get("PUBLIC_URL") or f"http://localhost:{port}"


def free_bots_port(taken: int) -> int:
    """A free port for the demo's chatbots, other than the web server's."""
    for port in range(FIRST_BOTS_PORT, FIRST_BOTS_PORT + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if port != taken and probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise SystemExit(another_port(f"{FIRST_BOTS_PORT} to {FIRST_BOTS_PORT + 99}"))


OWN_SETTINGS = {"chat": {"DATABASE_POOL": "8"}}  # of single services


def services(port: int, bots_port: int, var: Path) -> list[Service]:
    settings = environment(
        PUBLIC_URL=public_url(port),
        LAPIDARY_VAR=var,
        LOG_LEVEL=os.environ.get("LOG_LEVEL", "WARNING"),
        PYTHONWARNINGS=",".join(UNHELPFUL),
    )
    celery = [sys.executable, "-m", "celery", "--quiet", "--app", "config", "worker"]
    celery += ["--without-gossip", "--without-mingle"]
    # An open download must not keep the server from stopping for long.
    web = [sys.executable, "-m", "gunicorn", "-c", "python:config.gunicorn"]
    web += ["--bind", f"{bind_address()}:{port}", "--graceful-timeout", "5"]
    beat = ["--beat", "--schedule", str(var / "celerybeat-schedule")]
    commands = {
        "web": web,
        "default": [*celery, "-Q", "default", "-n", "default@%h", "--concurrency", "2", *beat],
        "gpu": [*celery, "-Q", "gpu", "-n", "gpu@%h", "--pool", "solo"],
        # Systems under test are waited for: threads, because they cost next to nothing while they do.
        "chat": [*celery, "-Q", "chat,webhooks", "-n", "chat@%h", "--pool", "threads", "--concurrency", "64"],
        "training": [*celery, "-Q", "training", "-n", "training@%h", "--pool", "solo"],
        "bots": [sys.executable, "-m", "assessment.demo.bots", str(bots_port)],
    }
    remedy = partial(remedy_for, port=port)
    return [
        Service(name, command, settings | OWN_SETTINGS.get(name, {}), remedy=remedy)
        for name, command in commands.items()
    ]


def run(port: int, var: Path, begun: float) -> int:
    try:
        bots_port = free_bots_port(port)
        logins = prepare(port, bots_port)
        ready = Readiness(f"http://localhost:{port}", logins, begun)
        print_line("starting the web server, four workers and two chatbots")
        Supervisor(services(port, bots_port, var)).run(ready.look)
    except KeyboardInterrupt:
        pass
    except subprocess.CalledProcessError as error:
        print_line(
            f"{' '.join(error.cmd[1:])} failed; the lines above say why. `manage.py doctor` may know more."
        )
        return 1
    except ServiceFailed as why:
        print_line(str(why))
        return 1
    finally:
        embedded.stop_if_unused(var)
    print_line("stopped")
    return 0


def main() -> int:
    begun = time.monotonic()
    os.chdir(ROOT)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, signal.default_int_handler)
    var = Path(os.environ.get("LAPIDARY_VAR", str(ROOT / "var"))).resolve()
    with only_demo_of(var) as lock:
        port = free_port()
        lock.write(f"http://localhost:{port}")
        lock.flush()
        return run(port, var, begun)


if __name__ == "__main__":
    sys.exit(main())
