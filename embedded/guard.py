"""The process that owns the embedded servers: starts, restarts and stops them.

Runs as a process of its own (`python -m embedded.guard HOME`), so it outlives its launcher. Three lock files in the
home folder coordinate everything; the kernel releases the locks of a killed process, so there is no list of process
ids that could be out of date:

- `users.lock`  held shared by every process that uses the servers; exclusive: no process is left.
- `guard.lock`  held exclusively by the guard.
- `start.lock`  held exclusively while a process checks whether a guard must be launched.
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
from embedded.servers import configure_servers, log

LINGER_SECONDS: Final = 3.0


class Guard:
    def __init__(self, home: Home) -> None:
        self.home = home
        self.users = home.lock("users")
        self.idle_since: float | None = None
        self.stopping = False

    def stop_soon(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def is_unused(self) -> bool:
        """True if no process has held the users' lock for a while. The guard then holds it, so new users wait."""
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
        owned = configure_servers(self.home)
        while not self.stopping and not self.is_unused():
            for server in owned:
                server.keep_alive()
            time.sleep(0.1)
        for server in owned:
            server.stop()


def detach(home: Home) -> None:
    """Leave the session and terminal of the launcher, so that neither its end nor its Ctrl-C stops the servers."""
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")
    mode = "ab" if home.log.exists() and home.log.stat().st_size < 1_000_000 else "wb"
    with home.log.open(mode) as log_file, Path(os.devnull).open("rb") as nothing:
        for source, target in ((nothing, 0), (log_file, 1), (log_file, 2)):
            os.dup2(source.fileno(), target)


def main() -> int:
    home = Home(Path(sys.argv[1]))
    detach(home)
    (home.root / "guard.pid").write_text(str(os.getpid()))
    try:
        Guard(home).run()
    except (EmbeddedError, OSError) as error:
        home.failure.write_text(str(error))
        log(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
