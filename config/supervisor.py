"""Runs several processes as one: prefixes their lines, restarts what dies, stops all of them together.

A process that ran for a while, or that a signal ended, is started again. One that cannot start ends everything with
`ServiceFailed`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Final

STOP_SECONDS: Final = 15.0
SETTLED_SECONDS: Final = 30.0
MAX_EARLY_EXITS: Final = 3
MAX_WAIT: Final = 30.0  # seconds before a process is started again
TAIL_LINES: Final = 40  # lines kept of each process, for the reason of its failure
REASON: Final = re.compile(r"error|exception|refus|denied|cannot|in use|not found|killed", re.IGNORECASE)
PR_SET_PDEATHSIG: Final = 1


class ServiceFailed(Exception):
    """A service ended repeatedly right after its start; the text names it, the reason and the remedy."""


@dataclass(slots=True)
class Service:
    """One process that is to run until the supervisor stops."""

    name: str
    command: list[str]
    environment: Mapping[str, str]
    show: Callable[[str], bool] = field(default=lambda line: True)
    remedy: Callable[[str], str] = field(default=lambda reason: "")
    process: subprocess.Popen[str] | None = None
    reader: threading.Thread | None = None
    output_tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))
    started_at: float = 0.0
    retry_at: float = 0.0
    early_exits: int = 0

    def keep_alive(self) -> None:
        now = time.monotonic()
        if self.process is not None and self.process.poll() is None:
            return
        if self.process is not None:
            self.early_exits = 1 if now - self.started_at > SETTLED_SECONDS else self.early_exits + 1
            was_killed = self.process.returncode < 0
            if self.early_exits >= MAX_EARLY_EXITS and not was_killed:
                raise ServiceFailed(self.why(self.process.returncode))
            wait = min(0.5 * 2**self.early_exits, MAX_WAIT)
            print_line(
                f"{self.name} ended with status {self.process.returncode}; starts again in {wait:.0f} s"
            )
            self.process, self.retry_at = None, now + wait
        if now >= self.retry_at:
            self.start()

    def why(self, status: int) -> str:
        """One line: what ended how, the last line that names a reason, what to do."""
        if self.reader:
            self.reader.join(1.0)  # the pipe may still hold the last lines
        lines = [line for line in self.output_tail if any(map(str.isalnum, line))]
        reason = next((line for line in reversed(lines) if REASON.search(line)), lines[-1] if lines else "")
        reason = reason.strip().rstrip(".") or "it printed nothing"
        ended = f"{self.name} ended {self.early_exits} times right after its start (status {status})"
        return f"{ended}: {reason}. {self.remedy(reason)}".rstrip()

    def start(self) -> None:
        self.output_tail.clear()
        self.process = subprocess.Popen(
            self.command,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A session of its own: the terminal's Ctrl-C reaches the supervisor only, which stops things in order.
            start_new_session=True,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )
        self.started_at = time.monotonic()
        self.reader = threading.Thread(target=self.print_lines, args=[self.process.stdout], daemon=True)
        self.reader.start()

    def print_lines(self, lines: IO[str]) -> None:
        with lines:
            for line in lines:
                self.output_tail.append(line.rstrip("\n"))
                if self.show(line):
                    print_line(line.rstrip("\n"), prefix=self.name)

    def ask_to_stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)

    def wait_or_kill(self, deadline: float) -> None:
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            print_line(f"{self.name} did not stop and is killed")
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # The whole session: a killed Celery parent leaves its children behind.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Supervisor:
    """Keeps services alive until SIGINT or SIGTERM; a second signal stops waiting for them."""

    def __init__(self, services: list[Service]) -> None:
        self.services = services
        self.signals = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                signal.signal(number, self.note)
        # A closed terminal signals its first process only, and that may be `make`, which tells nobody.
        self.terminal = sys.stdout.isatty() and signal.getsignal(signal.SIGHUP) == self.note

    @property
    def stopping(self) -> bool:
        return self.signals > 0 or (self.terminal and not sys.stdout.isatty())

    def note(self, _number: int, _frame: FrameType | None) -> None:
        self.signals += 1

    def run(self, each_round: Callable[[], None]) -> None:
        """Returns when stopped by a signal; raises ServiceFailed. Everything has ended in both cases."""
        try:
            while not self.stopping:
                for service in self.services:
                    service.keep_alive()
                each_round()
                time.sleep(0.1)
        finally:
            self.stop()

    def stop(self) -> None:
        for service in self.services:
            service.ask_to_stop()
        deadline = time.monotonic() + STOP_SECONDS
        while self.signals < 2 and time.monotonic() < deadline and any(map(is_running, self.services)):
            time.sleep(0.05)
        for service in self.services:
            service.wait_or_kill(time.monotonic())


def is_running(service: Service) -> bool:
    return service.process is not None and service.process.poll() is None


def die_with_parent() -> None:
    """Runs in the child: the kernel ends it when a `kill -9` leaves the supervisor no time to."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def print_line(text: str, prefix: str = "lapidary") -> None:
    # A pipe that nobody reads, a terminal that was closed: what is to be stopped must be stopped all the same.
    with contextlib.suppress(OSError):
        sys.stdout.write(f"{prefix:>8} | {text}\n" if prefix else f"{text}\n")
        sys.stdout.flush()


def environment(**changes: str | Path | int) -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1", **{key: str(value) for key, value in changes.items()}}
