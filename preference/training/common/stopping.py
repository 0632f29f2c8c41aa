"""Stopping a run from outside: by signals, or because the process that started it has ended."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType

import psutil

from preference.training.common.messages import gettext as _

PARENT_POLL = 1.0  # seconds between two looks at the parent process
# Without its parent a process may wait for others that have ended; no checkpoint takes that many seconds.
LAST_WAIT = 900.0
# Ctrl-C reaches a process of torchrun twice: from the terminal, and forwarded by torchrun.
ECHO = 1.0  # seconds within which a second signal is that echo


class Stopped(BaseException):
    """The run was asked to stop. Not an Exception, so that no `except Exception` takes it for a failure.

    signum: number of the signal; the exit status is 128 + signum. why: a translated sentence.
    """

    def __init__(self, signum: int, why: str) -> None:
        super().__init__(signum, why)
        self.signum = signum
        self.why = why


class StopRequest:
    """Remembers that the run is to stop, until the trainer checks; before the first step it raises at once.

    steps_run: set by the trainer at its first step; from then on a stop waits for a checkpoint. A second Ctrl-C does
    not wait: it raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.signum = 0
        self.why = ""
        self.steps_run = False
        self._first_signal_at = 0.0
        self._closed = threading.Event()

    def listen(self) -> None:
        """Handle SIGTERM and SIGINT from now on. Call it in the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)

    def watch_parent(self, pid: int) -> None:
        """Stop as on SIGTERM when the process `pid` ends."""
        threading.Thread(target=self._watch, args=(pid,), daemon=True).start()

    def close(self) -> None:
        """The run has ended: the parent is no longer watched, and this process goes on."""
        self._closed.set()

    def ask(self, signum: int, why: str) -> None:
        """Request a stop; the first request counts."""
        self.signum = self.signum or signum
        self.why = self.why or why

    def check(self) -> None:
        """Raise Stopped if a stop was requested."""
        if self.signum:
            raise Stopped(self.signum, self.why)

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        """Note the signal. Raising here would be safe only before training, when nothing is half-updated."""
        again = self.signum and time.monotonic() - self._first_signal_at > ECHO
        if signum == signal.SIGINT and again:
            raise KeyboardInterrupt
        self._first_signal_at = self._first_signal_at or time.monotonic()
        self.ask(signum, _("Stopped by %(signal)s.") % {"signal": signal.Signals(signum).name})
        if not self.steps_run:
            self.check()

    def _watch(self, pid: int) -> None:
        """Poll, because a process is not notified of the end of one that is not its child."""
        while is_alive(pid):
            if self._closed.wait(PARENT_POLL):
                return
        why = _("Stopped because process %(number)s, which started it, has ended.") % {"number": pid}
        self.ask(signal.SIGTERM, why)
        # The main thread may be loading a model; only the signal handler reaches it there.
        os.kill(os.getpid(), signal.SIGTERM)
        if not self._closed.wait(LAST_WAIT):
            os._exit(128 + signal.SIGTERM)


def is_alive(pid: int) -> bool:
    """Whether a process runs. A zombie (ended, not yet waited for) does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
