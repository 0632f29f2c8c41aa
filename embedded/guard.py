"""The process that owns the embedded servers: starts, restarts and stops them.

Runs on its own (`python -m embedded.guard HOME`), so it survives whoever launched it. Three locked files in the home
folder carry all the coordination; the kernel drops the locks of a killed process, so no list of process ids goes
stale:

- `users.lock`  held shared by every process that uses the servers; exclusive = nobody is left.
- `guard.lock`  held exclusively by the one living guard.
- `start.lock`  held exclusively while a process looks whether a guard must be launched.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Final

from embedded.home import EmbeddedError, Home, try_lock
from embedded.servers import say, servers

LINGER_SECONDS: Final = 3.0


class Guard:
    def __init__(self, home: Home) -> None:
        self.home = home
        self.users = home.lock("users")
        self.idle_since: float | None = None
        self.stopping = False

    def stop_soon(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def unused(self) -> bool:
        """True once nobody has held the users' lock for a while; it is then ours, so newcomers wait for the stop."""
        if not try_lock(self.users):
            self.idle_since = None
            return False
        self.idle_since = self.idle_since or time.monotonic()
        if time.monotonic() - self.idle_since >= LINGER_SECONDS:
            return True
        fcntl.flock(self.users, fcntl.LOCK_UN)
        return False

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self.stop_soon)
        for ignored in (signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
        owned = servers(self.home)
        while not self.stopping and not self.unused():
            for server in owned:
                server.keep_alive()
            time.sleep(0.1)
        for server in owned:
            server.stop()


def detach(home: Home) -> None:
    """Leave the launcher's session and terminal, so that neither its end nor its Ctrl-C reaches the servers."""
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")
    mode = "ab" if home.log.exists() and home.log.stat().st_size < 1_000_000 else "wb"
    with home.log.open(mode) as log, Path(os.devnull).open("rb") as nothing:
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source.fileno(), target)


def main() -> int:
    home = Home(Path(sys.argv[1]))
    detach(home)
    (home.root / "guard.pid").write_text(str(os.getpid()))
    try:
        Guard(home).run()
    except (EmbeddedError, OSError) as error:
        home.failure.write_text(str(error))
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
