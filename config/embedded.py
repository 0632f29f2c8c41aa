"""The embedded PostgreSQL and Redis: what a process of ours calls when no DATABASE_URL / REDIS_URL is set.

Every process holds a shared lock while it lives; `embedded.guard` owns the servers and stops them a few seconds
after the last lock is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psutil
from django.core.exceptions import ImproperlyConfigured

from embedded import servers
from embedded.home import DATABASE, EmbeddedError, Home, abs_hash, make_folder, open_to_others, try_lock

START_SECONDS: Final = 120.0
# Commands that touch neither database nor broker; everything else gets both servers.
NEEDS_NO_SERVER: Final = frozenset(
    [
        "help",
        "version",
        "makemessages",
        "compilemessages",
        "collectstatic",
        "findstatic",
        "startapp",
        "diffsettings",
        "embedded",
        "doctor",
    ]
)
ROOT_NOTICE: Final = (
    "lapidary: PostgreSQL does not run as root, so the embedded servers run as another user; data: {home}"
)
OUTSIDE_NOTICE: Final = " (outside {var}: a folder above it is closed to other users, and stays closed)"
_used: dict[Path, int] = {}


def database_url(var: Path) -> str:
    """URL of the embedded database with its data under `var`; starts the servers if this command needs them."""
    home = locate(var)
    if servers_wanted(sys.argv):
        use(home, var)
    return f"postgresql://postgres@{quote(str(home.sockets), safe='')}/{DATABASE}"


def redis_url(var: Path, database: int = 0) -> str:
    """URL of the embedded Redis for redis-py; `database` 0 to 63. Celery wants `broker_url` of it."""
    home = locate(var)
    if servers_wanted(sys.argv):
        use(home, var)
    return f"unix://{home.redis_socket}?db={database}"


def broker_url(url: str) -> str:
    """The same Redis in the words of Celery, which knows a Unix socket only as redis+socket://."""
    if not url.startswith("unix://"):
        return url
    return url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=", 1)


def development_secret(var: Path) -> str:
    """A random SECRET_KEY kept in `var`, so that sessions outlive a restart. Raises ImproperlyConfigured."""
    path = var / "secret.key"
    try:
        return read_or_make_secret(path)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be written or read: {error.strerror}. Set LAPIDARY_VAR to a folder of your own, or "
            "set SECRET_KEY."
        ) from error


def read_or_make_secret(path: Path) -> str:
    if not path.exists():
        make_parents(path)
        new = path.with_suffix(f".{os.getpid()}")
        new.touch(mode=0o600)
        new.write_text(secrets.token_urlsafe(64))
        # A link is made whole or not at all, and the first of several processes wins.
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
        new.unlink()
    return path.read_text()


def servers_wanted(argv: list[str]) -> bool:
    """Whether a command line needs the servers: everything but a few commands, help texts and checkers."""
    program = Path(argv[0]) if argv else Path()
    name = program.parent.name if program.name == "__main__.py" else program.name
    if name in ("manage.py", "django-admin", "django"):
        return (
            len(argv) > 1
            and argv[1] not in NEEDS_NO_SERVER
            and not {"--help", "-h", "--version"} & set(argv[1:])
        )
    return name not in ("mypy", "dmypy", "lint-imports", "djlint")


def locate(var: Path) -> Home:
    """Where the servers' data are. Run by root below a folder closed to others, they go to /var/lib instead:

    PostgreSQL then runs as another user, who could not reach them, and opening the folders above is not ours to do.
    """
    var = var.absolute()
    inside = var / "embedded"
    pointer = var / "embedded.location"
    if pointer.exists():
        return Home(Path(pointer.read_text().strip()))
    if os.geteuid() != 0 or inside.exists() or open_to_others(var):
        return Home(inside)
    return Home(Path("/var/lib") / f"lapidary-{abs_hash(var)}")


def use(home: Home, var: Path) -> None:
    """Keep the servers running for as long as this process (and what it forks) lives; returns when they answer."""
    if home.root in _used:
        return
    prepare(home, var.absolute())
    users = home.lock("users")
    fcntl.flock(users, fcntl.LOCK_SH)
    _used[home.root] = users
    start = home.lock("start")
    try:
        fcntl.flock(start, fcntl.LOCK_EX)
        wait_until_answering(home)
    finally:
        os.close(start)


def prepare(home: Home, var: Path) -> None:
    """Make the home folder; report once to root where its data is and who owns it."""
    make_parents(home.root)
    root = os.geteuid() == 0
    if root and not home.root.exists():
        outside = home.root.parent != var
        notice = ROOT_NOTICE + (OUTSIDE_NOTICE if outside else "") + "\n"
        sys.stderr.write(notice.format(home=home.root, var=var))
        if outside:
            make_parents(var / "embedded.location")
            (var / "embedded.location").write_text(str(home.root))
    make_folder(home.root, 0o711 if root else 0o700)


def make_parents(path: Path) -> None:
    """Create the missing folders above `path`, passable by others; existing ones stay as they are."""
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)


def wait_until_answering(home: Home) -> None:
    deadline = time.monotonic() + START_SECONDS
    home.failure.unlink(missing_ok=True)
    # Also where the servers answer: a killed guard's servers need a new one.
    launch_guard_if_none(home)
    while not all(running(home).values()):
        if home.failure.exists():
            raise EmbeddedError(home.failure.read_text())
        if time.monotonic() > deadline:
            raise EmbeddedError(
                f"The embedded servers did not answer in {START_SECONDS:.0f} s; see {home.log}."
            )
        time.sleep(0.05)
        launch_guard_if_none(home)


def launch_guard_if_none(home: Home) -> None:
    """The lock is taken here and handed down, so two guards can never be alive at once."""
    lock = home.lock("guard")
    try:
        if try_lock(lock):
            os.set_inheritable(lock, True)
            command = [sys.executable, "-m", "embedded.guard", str(home.root)]
            checkout = Path(__file__).parent.parent
            subprocess.run(command, cwd=checkout, pass_fds=[lock], check=True, stdin=subprocess.DEVNULL)
    finally:
        os.close(lock)


def running(home: Home) -> dict[str, bool]:
    return {"PostgreSQL": servers.postgres_answers(home), "Redis": servers.redis_answers(home)}


def stop(var: Path) -> bool:
    """Stop the servers now, whoever uses them. False: they were not running."""
    home = locate(var)
    if not home.root.exists():
        return False
    stopped = False
    lock = home.lock("guard")
    try:
        while not try_lock(lock):
            stopped = end_guard(home) or stopped
            time.sleep(0.05)
        return stop_orphans(home) or stopped
    finally:
        os.close(lock)


def end_guard(home: Home) -> bool:
    """Ask the guard to stop, unless its pid file is old and the number somebody else's."""
    try:
        process = psutil.Process(int((home.root / "guard.pid").read_text()))
        if "embedded.guard" not in process.cmdline():
            return False
        process.terminate()
    except (OSError, ValueError, psutil.Error):
        return False
    return True


def stop_if_unused(var: Path) -> None:
    """Stop at once, rather than a few seconds after the last user has gone; leave them to others who use them."""
    home = locate(var)
    if not home.root.exists():
        return
    users = home.lock("users")
    try:
        unused = try_lock(users)
    finally:
        os.close(users)
    if unused:
        stop(var)


def stop_orphans(home: Home) -> bool:
    """Servers whose guard was killed."""
    if not (home.postgres / "PG_VERSION").exists():
        return False
    orphans = [server for server in servers.configure_servers(home) if server.is_alive()]
    for server in orphans:
        server.stop()
    return bool(orphans)
