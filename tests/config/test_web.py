"""The web server: slow clients, locks and a lost Redis stall nobody else; processes, limits, and how it ends."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import httpx
import psutil
import pytest
import redis
from django.conf import settings
from django.core.cache import BaseCache, caches
from django.db import connection, transaction

from accounts.models import Scope, User
from accounts.services import create_token
from annotation.tasks.models.work import Assignment
from benchmarks.labelling import ANSWERS, create_project_with_people, fill
from jobs.models import Job, JobState
from preference.data.models.exports import Export
from projects.models import Membership, Project, Role
from tests.processes import PATIENCE, ROOT, Stack, wait_until

CONNECTIONS, REQUESTS = 60, 40
DOWNLOADS, UPLOADS, WAITING = 20, 4, 8
ENDLESS = 15  # clients that leave their connection open
FILE_BYTES = 64 * 1024**2  # more than the kernel takes for a client that reads nothing
# Seconds for one request while others are slow. Alone it takes some hundredths.
PROMPT = 5 * PATIENCE
COMMAND = [sys.executable, "-m", "gunicorn", "-c", "python:config.gunicorn"]


class Site:
    """A running server with a labelling project; `tokens` are its annotators'."""

    def __init__(self, stack: Stack, tokens: list[str]) -> None:
        self.stack, self.tokens = stack, tokens
        self.project = Project.objects.get(slug="bench")

    def client(self, token: str, timeout: float = PROMPT) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.stack.url, headers=headers, timeout=timeout, trust_env=False)

    def engineer(self) -> str:
        """The token of a person who may import and export."""
        person, _ = User.objects.get_or_create(username="engineer")
        roles = {"roles": [Role.ENGINEER]}
        Membership.objects.get_or_create(project=self.project, user=person, defaults=roles)
        return create_token(user=person, name="test", scopes=list(Scope))[1]

    def labels(self, token: str, dialogues: int = 3) -> None:
        """An annotator labels some dialogues, each of them promptly."""
        with self.client(token) as client:
            claimed = client.post("/api/v1/projects/bench/labelling/claim/", json={"claim_id": str(uuid4())})
            assert claimed.status_code == 201, claimed.text
            held = claimed.json()
            for _ in range(dialogues):
                sent = {"id": str(uuid4()), "schema": 1, "answers": ANSWERS, "next_claim": str(uuid4())}
                stored = client.post(f"/api/v1/labelling/{held['id']}/submissions/", json=sent)
                assert stored.status_code == 201, stored.text
                held = stored.json()["next"]
            client.post(f"/api/v1/assignments/{held['id']}/release/", json={}).raise_for_status()

    def is_well(self) -> None:
        """Both health checks answer, each on a new connection."""
        for page in ("/healthz", "/readyz"):
            assert httpx.get(self.stack.url + page, timeout=PROMPT).status_code == 200

    def export(self) -> str:
        """The address of a large file."""
        job = Job.objects.create(project=self.project, kind="export", state=JobState.DONE)
        path = f"{job.pk}/large.jsonl"
        Export.objects.create(id=job.pk, job=job, project=self.project, format="sft", path=path)
        file = self.stack.folder / "files" / "exports" / path
        file.parent.mkdir(parents=True)
        with file.open("wb") as made:
            made.truncate(FILE_BYTES)
        return f"/api/v1/exports/{job.pk}/file/"


@pytest.fixture
def site(transactional_db: None, tmp_path: Path) -> Iterator[Site]:
    """One web process, as in the demo."""
    tokens = create_project_with_people(WAITING + 1)
    fill(100)
    # On a busy machine the tests hold locks and downloads for longer than the defaults.
    patient = dict.fromkeys(
        ("DATABASE_LOCK_TIMEOUT", "DATABASE_STATEMENT_TIMEOUT", "WEB_STALLED_SECONDS"), "600"
    )
    with Stack.on_this_database(tmp_path, GUNICORN_CMD_ARGS="--graceful-timeout 50", **patient) as stack:
        stack.web()
        yield Site(stack, tokens)


def connected(site: Site, head: str, received: int = 0) -> socket.socket:
    """A connection on which `head` was sent. received: the size of its receive buffer in bytes."""
    made = socket.socket()
    if received:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, received)
    made.settimeout(PROMPT)
    made.connect(("127.0.0.1", site.stack.port))
    made.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    return made


def slow_download(site: Site, address: str, token: str) -> socket.socket:
    """Has the head of the answer, and reads nothing more."""
    head = f"GET {address} HTTP/1.1\nHost: localhost\nAuthorization: Bearer {token}\nConnection: close"
    made = connected(site, head, received=4096)
    assert made.recv(12) == b"HTTP/1.1 200"
    return made


def slow_upload(site: Site, token: str) -> socket.socket:
    """Has sent the head and a first byte of a file."""
    head = f"POST /api/v1/projects/bench/imports/?id={uuid4()}&format=messages&on_error=stop HTTP/1.1"
    head += f"\nHost: localhost\nAuthorization: Bearer {token}\nContent-Type: application/octet-stream"
    made = connected(site, head + "\nContent-Length: 1000")
    made.sendall(b"{")
    return made


def rest_of(download: socket.socket) -> int:
    """Reads it to the end; how many bytes there were."""
    download.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024**2)  # it reads quickly now
    size = 0
    while part := download.recv(1024**2):
        size += len(part)
    return size


@contextlib.contextmanager
def locked(rows: list[int]) -> Iterator[None]:
    """Another transaction holds these assignments, as a promotion or a review may."""
    with transaction.atomic():
        list(Assignment.objects.select_for_update().filter(pk__in=rows))
        yield


def claim(site: Site, token: str) -> int:
    with site.client(token) as client:
        claimed = client.post("/api/v1/projects/bench/labelling/claim/", json={"claim_id": str(uuid4())})
        held: int = claimed.json()["id"]
        return held


def release(site: Site, token: str, assignment: int) -> int:
    with site.client(token, timeout=120) as client:
        return client.post(f"/api/v1/assignments/{assignment}/release/", json={}).status_code


def waiting_for_locks() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # a transaction sees the first answer for ever
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(cursor.fetchone()[0])


@pytest.mark.slow
def test_slow_clients_and_held_locks_stall_nobody_else(site: Site) -> None:
    """Twenty slow downloads, four slow uploads and eight requests that wait for a lock, in one process."""
    engineer, address = site.engineer(), site.export()
    held = {token: claim(site, token) for token in site.tokens[:WAITING]}
    with contextlib.ExitStack() as opened:
        downloads = [opened.enter_context(slow_download(site, address, engineer)) for _ in range(DOWNLOADS)]
        for _ in range(UPLOADS):
            opened.enter_context(slow_upload(site, engineer))
        threads = opened.enter_context(ThreadPoolExecutor(WAITING))
        with locked(list(held.values())):
            released = [threads.submit(release, site, *one) for one in held.items()]
            wait_until(lambda: waiting_for_locks() == WAITING, 30, "requests that wait for the lock")
            site.is_well()
            site.labels(site.tokens[WAITING])
            assert not any(one.done() for one in released)
        assert [one.result() for one in released] == [200] * WAITING
        assert rest_of(downloads[0]) > FILE_BYTES


@pytest.mark.slow
def test_clients_that_do_not_close_stall_nobody_else(site: Site) -> None:
    """gunicorn alone would wait two seconds for each of them, in the thread that hands out the requests."""
    head = "GET /healthz HTTP/1.1\nHost: localhost\nConnection: close"
    with contextlib.ExitStack() as opened:
        for _ in range(ENDLESS):
            client = opened.enter_context(connected(site, head))
            assert client.recv(12) == b"HTTP/1.1 200"
        site.is_well()


@pytest.mark.slow
def test_the_answer_arrives_though_the_client_still_sends(site: Site) -> None:
    """A refused body is not read; the connection is closed without a reset that would destroy the answer."""
    head = "POST /api/v1/projects/bench/imports/ HTTP/1.1\nHost: localhost\nContent-Length: 100000"
    with connected(site, head) as client:
        client.sendall(b"x" * 20_000)
        answer = b""
        while part := client.recv(4096):
            answer += part
        assert answer.startswith(b"HTTP/1.1 401")
        assert b"Connection: close" in answer
        assert b"not_authenticated" in answer


@pytest.mark.slow
@pytest.mark.parametrize("hangs", [False, True], ids=["refuses", "hangs"])
def test_a_lost_redis_stalls_no_annotator(transactional_db: None, tmp_path: Path, hangs: bool) -> None:
    """hangs: it accepts connections and never answers."""
    tokens = create_project_with_people(1)
    fill(10)
    with socket.socket() as dead, Stack.on_this_database(tmp_path) as stack:
        dead.bind(("127.0.0.1", 0))
        if hangs:
            dead.listen(100)
        stack.redis = f"redis://127.0.0.1:{dead.getsockname()[1]}/0"
        stack.web()
        site = Site(stack, tokens)
        site.labels(tokens[0])
        assert httpx.get(f"{stack.url}/healthz", timeout=PROMPT).status_code == 200
        ready = httpx.get(f"{stack.url}/readyz", timeout=PROMPT)
        assert (ready.status_code, ready.json()["broker"]) == (200, "failed")


@pytest.mark.slow
def test_open_requests_are_finished_at_the_end(site: Site) -> None:
    """An upload, a download and a request that waits for a lock, while the server refuses new connections."""
    engineer, address = site.engineer(), site.export()
    held = claim(site, site.tokens[0])
    web = site.stack.running["web"].process
    assert web is not None
    with (
        slow_download(site, address, engineer) as download,
        slow_upload(site, engineer) as upload,
        ThreadPoolExecutor(2) as threads,
    ):
        with locked([held]):
            released = threads.submit(release, site, site.tokens[0], held)
            wait_until(lambda: waiting_for_locks() == 1, 30, "a request that waits for the lock")
            web.send_signal(signal.SIGTERM)
            wait_until(lambda: not site.stack.answers(), 10, "refused connections")
        whole: Future[int] = threads.submit(rest_of, download)
        upload.sendall(b" " * 999)
        assert upload.recv(9) == b"HTTP/1.1 "
        assert released.result() == 200
        assert whole.result() > FILE_BYTES
        assert web.wait(60) == 0


def test_a_lock_that_is_held_ends_the_wait(transactional_db: None, tmp_path: Path) -> None:
    """The request is refused and nothing of it is stored; later it is done."""
    (token,) = create_project_with_people(1)
    fill(3)
    with Stack.on_this_database(tmp_path, DATABASE_LOCK_TIMEOUT="1") as stack:
        stack.web()
        site = Site(stack, [token])
        held = claim(site, token)
        with site.client(token, timeout=30) as client:
            address = f"/api/v1/assignments/{held}/release/"
            with locked([held]):
                refused = client.post(address, json={})
            assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
            assert int(refused.headers["Retry-After"]) > 0
            assert client.post(address, json={}).status_code == 200


def test_a_body_that_comes_too_slowly_is_given_up(transactional_db: None, tmp_path: Path) -> None:
    """A byte every half second keeps the connection alive, and its thread would wait for a day."""
    (token,) = create_project_with_people(1)
    with Stack.on_this_database(tmp_path, BODY_SECONDS="2", UPLOAD_SECONDS="2") as stack:
        stack.web()
        site = Site(stack, [token])
        slow_form = "POST /accounts/login/ HTTP/1.1\nHost: localhost\nContent-Length: 100000"
        slow_form += f"\nCookie: csrftoken={'a' * 32}\nContent-Type: application/x-www-form-urlencoded"
        for made in (slow_upload(site, site.engineer()), connected(site, slow_form)):
            with made:
                made.settimeout(0.5)
                answer = b""
                for _ in range(40 * PATIENCE):
                    with contextlib.suppress(OSError):
                        made.sendall(b"x")
                    with contextlib.suppress(TimeoutError):
                        answer = made.recv(12)
                        break
                assert answer.startswith(b"HTTP/1.1 4"), answer
        site.is_well()


def test_the_next_request_finds_the_connection_of_the_one_before(
    transactional_db: None, tmp_path: Path
) -> None:
    (token,) = create_project_with_people(1)
    with Stack.on_this_database(tmp_path, PGAPPNAME="kept") as stack:
        stack.web()
        with Site(stack, [token]).client(token) as client:
            for _ in range(REQUESTS):
                client.get("/api/v1/me/").raise_for_status()
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'kept'")
            # A thread is started where none counts as idle yet, a moment after its last request.
            assert cursor.fetchone()[0] < REQUESTS / 2


def test_a_body_that_is_too_long_is_refused_unread(site: Site) -> None:
    with site.client(site.engineer()) as client:
        address = "/api/v1/projects/bench/imports/"
        too_long = {"Content-Length": str(settings.IMPORT_MAX_BYTES + 1024**2)}
        head = f"POST {address} HTTP/1.1\nHost: localhost\nContent-Length: {too_long['Content-Length']}"
        with connected(site, head) as announced:
            assert announced.recv(12) == b"HTTP/1.1 413"
        # Sent whole before the answer is read, as most clients do.
        assert client.post("/api/v1/me/", content=b"x" * 20 * 1024**2).status_code == 413
        assert client.post(address, content=iter([b"in", b"chunks"])).json()["code"] == "length_required"
        assert client.get("/api/v1/me/").status_code == 200


def connections_of(process: psutil.Process, port: int) -> int:
    """How many clients have a connection to it."""
    found = process.net_connections("tcp4")
    return sum(one.status == psutil.CONN_ESTABLISHED and one.laddr.port == port for one in found)


def processes_of(stack: Stack) -> list[psutil.Process]:
    """Those that answer requests."""
    web = stack.running["web"].process
    assert web is not None
    return list(psutil.Process(web.pid).children())


@pytest.mark.django_db(transaction=True)
def test_connections_that_come_at_once_are_spread_over_the_processes(tmp_path: Path) -> None:
    """And they stay there: a process that has all of them does all the work."""
    with Stack.on_this_database(tmp_path) as stack, contextlib.ExitStack() as opened:
        stack.web(workers=2)

        made: list[socket.socket] = []

        def connect() -> socket.socket:
            made.append(opened.enter_context(socket.create_connection(("127.0.0.1", stack.port), 30)))
            return made[-1]

        def shares() -> list[int]:
            return [connections_of(one, stack.port) for one in processes_of(stack)]

        def both_accept() -> bool:
            connect()
            return all(shares())

        wait_until(both_accept, 60, "a second process")
        # On an idle machine each has half of them; on a busy one a process may come too late for some.
        for _round in range(5):
            wait_until(lambda: sum(shares()) == len(made), 30, "all connections to be accepted")
            at_once = [connect() for _ in range(CONNECTIONS)]
            for one in at_once:
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert all(one.recv(4096).startswith(b"HTTP/1.1 200") for one in at_once)
            after = shares()
            assert sum(after) == len(made)
            if min(after) > 0.2 * sum(after):
                break
        assert min(after) > 0.2 * sum(after), after


@pytest.mark.slow
def test_clients_that_stall_are_dropped(transactional_db: None, tmp_path: Path) -> None:
    """Each would hold a thread until the server ends."""
    create_project_with_people(1)
    with Stack.on_this_database(tmp_path, WEB_STALLED_SECONDS="2") as stack:
        stack.web()
        site = Site(stack, [])
        engineer, address = site.engineer(), site.export()
        (process,) = processes_of(stack)
        with slow_download(site, address, engineer) as download, slow_upload(site, engineer) as upload:
            assert upload.recv(12) == b"HTTP/1.1 400"
            wait_until(lambda: connections_of(process, stack.port) == 0, 20, "dropped clients")
            with contextlib.suppress(ConnectionError):
                assert rest_of(download) < FILE_BYTES


@pytest.mark.parametrize("workers", [1, 2])
def test_a_taken_port_is_named(workers: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        bind = f"127.0.0.1:{other.getsockname()[1]}"
        command = [*COMMAND, "--bind", bind, "--workers", str(workers)]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 1
    assert "address already in use" in ended.stderr.lower()


def test_a_process_that_is_lost_is_replaced(site: Site) -> None:
    (lost,) = processes_of(site.stack)
    lost.kill()
    wait_until(
        lambda: bool({one.pid for one in processes_of(site.stack)} - {lost.pid}), 30, "another process"
    )
    site.stack.wait_for_web()
    site.labels(site.tokens[0], dialogues=1)


def test_threads_share_the_connections_of_the_cache() -> None:
    """Django makes a cache for each thread."""
    kept: list[BaseCache] = []  # as long as they live, so do connections of their own
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        database = str(client.connection_pool.connection_kwargs["db"])

        def connections() -> int:
            return sum(one["db"] == database for one in client.client_list())

        caches["default"].get("nothing")
        before = connections()
        for _ in range(20):
            with ThreadPoolExecutor(1) as thread:
                kept.append(thread.submit(asked).result())
        assert len({id(one) for one in kept}) == 20
        assert connections() <= before + 1


def asked() -> BaseCache:
    cache = caches["default"]
    cache.get("nothing")
    return cache
