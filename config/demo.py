"""What `make demo` runs: migrate, seed, web server and workers, until Ctrl-C. `python -m config.demo`."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config import embedded
from config.supervisor import Service, Supervisor, environment, tell

ROOT: Final = Path(__file__).resolve().parent.parent
FIRST_PORT: Final = 8000
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
            tell(self.announcement(now), prefix="")
        elif now - self.begun > self.next_word:
            self.next_word += 30.0
            tell(f"still waiting for: {state}")

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
    for port in [int(wish)] if wish else range(FIRST_PORT, FIRST_PORT + 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((bind_address(), port))
            except OSError:
                continue
            return port
    raise SystemExit(f"Port {wish or '8000 to 8099'} is taken. Choose another: make demo LAPIDARY_PORT=8200")


def bind_address() -> str:
    return os.environ.get("LAPIDARY_BIND", "127.0.0.1")


def prepare() -> str:
    """Migrate and seed; returns what the seeding printed (the logins)."""
    tell("preparing the database and the demo project")
    command = [sys.executable, "-m", "config.demo_data"]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def services(port: int, var: Path) -> list[Service]:
    url = os.environ.get("PUBLIC_URL") or f"http://localhost:{port}"
    settings = environment(
        PUBLIC_URL=url,
        LAPIDARY_VAR=var,
        LOG_LEVEL=os.environ.get("LOG_LEVEL", "WARNING"),
        PYTHONWARNINGS=",".join(UNHELPFUL),
    )
    celery = [sys.executable, "-m", "celery", "--quiet", "--app", "config", "worker"]
    celery += ["--without-gossip", "--without-mingle"]
    web = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--host", bind_address()]
    # Open event streams must not keep the server from stopping.
    web += ["--port", str(port), "--timeout-graceful-shutdown", "5", "--no-access-log", "--lifespan", "off"]
    beat = ["--beat", "--schedule", str(var / "celerybeat-schedule")]
    return [
        Service("web", web, settings),
        Service(
            "default", [*celery, "-Q", "default", "-n", "default@%h", "--concurrency", "2", *beat], settings
        ),
        Service("gpu", [*celery, "-Q", "gpu", "-n", "gpu@%h", "--pool", "solo"], settings),
    ]


def main() -> int:
    begun = time.monotonic()
    os.chdir(ROOT)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    var = Path(os.environ.get("LAPIDARY_VAR", str(ROOT / "var"))).resolve()
    port = free_port()
    try:
        logins = prepare()
        ready = Readiness(f"http://localhost:{port}", logins, begun)
        tell("starting the web server and two workers")
        Supervisor(services(port, var)).run(ready.look)
    except KeyboardInterrupt:
        pass
    except subprocess.CalledProcessError as error:
        tell(f"{' '.join(error.cmd[1:])} failed; the lines above say why. `manage.py doctor` may know more.")
        return 1
    finally:
        embedded.stop_if_unused(var)
    tell("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
