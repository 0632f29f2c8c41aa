"""Stopping a run from outside: signals, and the process that started it."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType

import psutil

from preference.training.common.messages import gettext as _

LOOK_EVERY = 1.0  # seconds
# Ctrl-C reaches a process of torchrun twice: from the terminal, and passed on.
ECHO = 1.0  # seconds


class Stopped(BaseException):
    """The run was asked to stop. Not an Exception: nothing on the way may take it for a failure."""

    def __init__(self, signum: int, why: str) -> None:
        super().__init__(signum, why)
        self.signum = signum
        self.why = why


class StopRequest:
    """Remembers that the run shall stop; raises at once where there is nothing to be saved yet.

    A person who presses Ctrl-C again does not want to wait for the checkpoint.
    """

    def __init__(self) -> None:
        self.signum = 0
        self.why = ""
        self.steps_run = False
        self._heard_at = 0.0

    def listen(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._heard)

    def watch_parent(self, pid: int) -> None:
        """Stop as on SIGTERM when the process `pid` has ended."""
        threading.Thread(target=self._watch, args=(pid,), daemon=True).start()

    def ask(self, signum: int, why: str) -> None:
        self.signum = self.signum or signum
        self.why = self.why or why

    def check(self) -> None:
        if self.signum:
            raise Stopped(self.signum, self.why)

    def _heard(self, signum: int, _frame: FrameType | None) -> None:
        again = self.signum and time.monotonic() - self._heard_at > ECHO
        if signum == signal.SIGINT and again:
            raise KeyboardInterrupt
        self._heard_at = self._heard_at or time.monotonic()
        self.ask(signum, _("Stopped by %(signal)s.") % {"signal": signal.Signals(signum).name})
        if not self.steps_run:
            self.check()

    def _watch(self, pid: int) -> None:
        waiting = threading.Event()
        while alive(pid):
            waiting.wait(LOOK_EVERY)
        why = _("Stopped because process %(number)s, which started it, has ended.") % {"number": pid}
        self.ask(signal.SIGTERM, why)
        # The main thread may be in the middle of loading; the signal's handler is what reaches it there.
        os.kill(os.getpid(), signal.SIGTERM)


def alive(pid: int) -> bool:
    """A process that has ended, but whose end nobody has taken note of, is not alive."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
