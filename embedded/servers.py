"""The two server processes: configure, start, find, check and stop them."""

from __future__ import annotations

import contextlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from embedded.home import DATABASE, EmbeddedError, Home, make_folder, server_account
from embedded.programs import programs

STOP_SECONDS: Final = 30.0
SETTLED_SECONDS: Final = 3.0
MAX_FAILURES: Final = 5
POSTGRES_SETTINGS: Final = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "500",
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
    started_at: float = 0.0
    retry_at: float = 0.0
    failures: int = 0

    def owns(self, process: psutil.Process) -> bool:
        """Whether this is our server: it works in our data folder. Another process may have a reused id."""
        try:
            return process.name().startswith(self.name) and Path(process.cwd()) == self.folder.resolve()
        except psutil.Error:
            return False

    def find_running(self) -> psutil.Process | None:
        """The running server, from its pid file."""
        try:
            process = psutil.Process(int(self.pid_file.read_text().split()[0]))
        except (OSError, ValueError, IndexError, psutil.Error):
            return None
        return process if self.owns(process) and process.status() != psutil.STATUS_ZOMBIE else None

    def is_alive(self) -> bool:
        if self.child:
            return self.child.poll() is None
        return self.find_running() is not None

    def keep_alive(self) -> None:
        """Start the server if it is down, with longer delays if it keeps failing. Raises EmbeddedError in the end."""
        now = time.monotonic()
        if self.is_alive():
            return
        if self.child:
            log(f"{self.name} ended with status {self.child.returncode}")
            self.child = None
            self.failures = 1 if now - self.started_at > SETTLED_SECONDS else self.failures + 1
            self.retry_at = now + min(5.0, 0.1 * 2**self.failures)
        if self.failures >= MAX_FAILURES:
            logs = f"{self.folder.parent / 'guard.log'} and the newest log in {self.folder}"
            raise EmbeddedError(f"{self.name} does not start. The reason is at the end of {logs}.")
        if now >= self.retry_at:
            self.start()

    def start(self) -> None:
        self.clear_leftovers()
        self.child = subprocess.Popen(
            self.command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            **run_as(self.account),
        )
        self.started_at = time.monotonic()
        log(f"{self.name} started, process {self.child.pid}")

    def clear_leftovers(self) -> None:
        """After a kill: end the children of a dead postmaster, which hold its shared memory, and delete its pid file.

        Another process may have the id in that file by now, and PostgreSQL would take that for itself.
        """
        leftovers = [process for process in psutil.process_iter() if self.owns(process)]
        for process in leftovers:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        for process in psutil.wait_procs(leftovers, timeout=3)[1]:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(leftovers, timeout=3)
        self.pid_file.unlink(missing_ok=True)

    def stop(self) -> None:
        process = psutil.Process(self.child.pid) if self.child and self.is_alive() else self.find_running()
        if process is None:
            return
        try:
            process.send_signal(self.stop_signal)
            process.wait(STOP_SECONDS)
        except psutil.TimeoutExpired:
            log(f"{self.name} did not stop in {STOP_SECONDS:.0f} s and is killed")
            process.kill()
        except psutil.NoSuchProcess:
            pass
        log(f"{self.name} stopped")


def run_as(account: pwd.struct_passwd | None) -> dict[str, Any]:
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}


def log(text: str) -> None:
    sys.stdout.write(time.strftime("%Y-%m-%d %H:%M:%S ") + text + "\n")
    sys.stdout.flush()


def create_cluster(home: Home, binaries: Path, account: pwd.struct_passwd | None) -> None:
    """Create the database cluster once. An unfinished one, after a killed initdb, is created again."""
    if (home.postgres / "PG_VERSION").exists() and not (home.root / "initdb.unfinished").exists():
        return
    (home.root / "initdb.unfinished").touch()
    shutil.rmtree(home.postgres, ignore_errors=True)
    make_folder(home.postgres, 0o700, account)
    command = [str(binaries / "initdb"), "-D", str(home.postgres), "-U", "postgres", "--encoding=UTF8"]
    command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    command += ["--auth-local=trust", "--auth-host=reject"]
    result = subprocess.run(command, cwd=home.postgres, capture_output=True, text=True, **run_as(account))
    if result.returncode != 0:
        raise EmbeddedError(
            f"PostgreSQL could not create its data folder {home.postgres}: {result.stderr.strip()}"
        )
    (home.root / "initdb.unfinished").unlink()


def configure_servers(home: Home) -> list[Server]:
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
    """Whether PostgreSQL accepts connections; creates our database the first time."""
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
