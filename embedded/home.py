"""The folder of an embedded installation, its owner, and the locks that coordinate its users."""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

DATABASE: Final = "lapidary"
SERVER_USER: Final = "lapidary"
# sun_path holds 108 bytes with its terminator; PostgreSQL's socket name is the longest.
SOCKET_PATH_BYTES: Final = 107 - len("/.s.PGSQL.5432")


class EmbeddedError(RuntimeError):
    """An embedded server cannot run; the message names the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one embedded installation and the places inside it."""

    root: Path

    def lock(self, name: str) -> int:
        """An open descriptor of a lock file, close-on-exec."""
        return os.open(self.root / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def redis(self) -> Path:
        return self.root / "redis"

    @property
    def failure(self) -> Path:
        return self.root / "failure.txt"

    @property
    def log(self) -> Path:
        return self.root / "guard.log"

    @property
    def sockets(self) -> Path:
        """Folder of both sockets: inside the home, or under /tmp if that path is too long or has special characters."""
        inside = self.root / "run"
        plain = all(part.isalnum() or part in "/._-" for part in str(inside)) and str(inside).isascii()
        if plain and len(os.fsencode(inside)) <= SOCKET_PATH_BYTES:
            return inside
        # Made with mode 0700 and refused if another user owns it.
        return Path("/tmp") / f"lapidary-{os.geteuid()}-{abs_hash(self.root)}"  # noqa: S108

    @property
    def redis_socket(self) -> Path:
        return self.sockets / "redis.sock"


def abs_hash(path: Path) -> str:
    return sha256(os.fsencode(path.absolute())).hexdigest()[:10]


def try_lock(descriptor: int) -> bool:
    """Take the lock exclusively if nobody holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def server_account(home: Home) -> pwd.struct_passwd | None:
    """The account that runs the servers; None for the current user. PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    if home.postgres.exists() and (owner := home.postgres.stat().st_uid) != 0:
        return pwd.getpwuid(owner)
    for name in (SERVER_USER, "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            add = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
            if shutil.which("useradd") and subprocess.run(add, capture_output=True).returncode == 0:
                return pwd.getpwnam(name)
    raise EmbeddedError(
        "Root needs another account to run PostgreSQL as. Add one with: useradd --system lapidary"
    )


def open_to_others(path: Path) -> bool:
    """Whether other users may traverse every existing folder down to `path`."""
    return all(not p.exists() or p.stat().st_mode & 0o001 for p in (path, *path.parents))


def make_folder(path: Path, mode: int, account: pwd.struct_passwd | None = None) -> None:
    """Create a folder with exactly this mode. Raises EmbeddedError if it exists and belongs to another user."""
    try:
        path.mkdir()
    except FileExistsError:
        owner = account.pw_uid if account else os.geteuid()
        status = path.lstat()
        if path.is_symlink() or status.st_uid != owner:
            raise EmbeddedError(
                f"{path} belongs to user id {status.st_uid}, not {owner}. Run as that user, "
                f"or choose another folder with LAPIDARY_VAR."
            ) from None
        return
    path.chmod(mode)
    if account:
        os.chown(path, account.pw_uid, account.pw_gid)
