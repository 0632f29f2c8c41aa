"""Annotators work on while uploads stall, a lock is stuck, Redis is away and the mail server does not answer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.db import transaction

from accounts.models import Scope, User
from accounts.services import create_token, create_user
from annotation.labelling.models.labels import Submission
from annotation.tasks.models.work import Assignment
from benchmarks.labelling import ANSWERS, create_project_with_people, fill
from projects.models import Membership, Project, Role
from tests.processes import Stack, wait_until
from tests.redis_server import RedisServer, redis_server
from tests.sizes import LONGEST_WAIT_SECONDS, REDIS_AWAY_SECONDS, STALLED_UPLOADS

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.soak,
    pytest.mark.alone,
]
PEOPLE = 20
READING_SECONDS = 0.5  # between two submissions of a person
QUIET_SECONDS = 5  # that people work before anything fails
# At full size, on a machine where requests take longer before anything fails.
TIMES_AS_LONG = 3


@dataclass
class Annotator:
    """Labels until `stop` is set. waits: seconds of each request. stored: ids that the server acknowledged."""

    url: str
    token: str
    stop: threading.Event
    waits: list[float] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)

    def work(self) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False) as client:
            claimed = self._post(
                client, "/api/v1/projects/bench/labelling/claim/", {"claim_id": str(uuid4())}
            )
            while not self.stop.wait(READING_SECONDS):
                label_id = str(uuid4())
                sent = {"id": label_id, "schema": 1, "answers": ANSWERS, "next_claim": str(uuid4())}
                answer = self._post(client, f"/api/v1/labelling/{claimed['id']}/submissions/", sent)
                self.stored.append(label_id)
                claimed = answer["next"]

    def _post(self, client: httpx.Client, address: str, body: dict[str, Any]) -> dict[str, Any]:
        begun = time.monotonic()
        answer = client.post(address, json=body)
        self.waits.append(time.monotonic() - begun)
        assert answer.status_code == 201, answer.text
        received: dict[str, Any] = answer.json()
        return received


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path / "redis") as server:
        yield server


@pytest.fixture
def tokens(transactional_db: None) -> list[str]:
    made = create_project_with_people(PEOPLE + 1)
    fill(5000)
    return made


@pytest.fixture
def site(tokens: list[str], tmp_path: Path, own_redis: RedisServer) -> Iterator[Stack]:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(100)  # a mail server that takes connections and never says a word
        mail = f"smtp://127.0.0.1:{silent.getsockname()[1]}"
        with Stack.on_this_database(tmp_path, REDIS_URL=own_redis.url, EMAIL_URL=mail) as stack:
            stack.web(workers=2)
            stack.worker("default")
            yield stack


def stalled_upload(site: Stack, token: str) -> socket.socket:
    """Has sent the head and a first byte of a file."""
    head = (
        f"POST /api/v1/projects/bench/imports/?id={uuid4()}&format=messages&on_error=stop HTTP/1.1\r\n"
        f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/octet-stream\r\nContent-Length: 1000\r\n\r\n{"
    )
    made = socket.create_connection(("127.0.0.1", site.port), timeout=60)
    made.sendall(head.encode())
    return made


def engineers_token() -> str:
    person = User.objects.create(username="engineer")
    project = Project.objects.get(slug="bench")
    Membership.objects.create(project=project, user=person, roles=[Role.ENGINEER])
    return create_token(user=person, name="test", scopes=list(Scope))[1]


def release_while_locked(site: Stack, token: str) -> httpx.Response:
    """Another transaction holds the person's assignment, longer than a request waits for a lock."""
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=site.url, headers=headers, timeout=120, trust_env=False) as client:
        claimed = client.post("/api/v1/projects/bench/labelling/claim/", json={"claim_id": str(uuid4())})
        held = claimed.json()["id"]
        with transaction.atomic():
            list(Assignment.objects.select_for_update().filter(pk=held))
            return client.post(f"/api/v1/assignments/{held}/release/", json={})


def ask_for_a_new_password(site: Stack) -> httpx.Response:
    with httpx.Client(base_url=site.url, timeout=120, trust_env=False, follow_redirects=True) as client:
        client.get("/accounts/password/reset/").raise_for_status()
        form = {"email": "rita@example.org", "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        return client.post("/accounts/password/reset/", data=form)


def test_annotators_wait_for_nothing_that_fails(
    site: Stack, own_redis: RedisServer, tokens: list[str]
) -> None:
    create_user(username="rita", email="rita@example.org", password="correct horse battery")
    engineer, stop = engineers_token(), threading.Event()
    people = [Annotator(site.url, token, stop) for token in tokens[:PEOPLE]]
    with ThreadPoolExecutor(PEOPLE) as threads:
        working = [threads.submit(person.work) for person in people]
        try:
            time.sleep(QUIET_SECONDS)
            wait_until(lambda: all(person.stored for person in people), 60, "a label of everybody")
            quiet = max(wait for person in people for wait in person.waits)
            with contextlib.ExitStack() as opened:
                for _number in range(STALLED_UPLOADS):
                    opened.enter_context(stalled_upload(site, engineer))
                refused = release_while_locked(site, tokens[PEOPLE])
                assert (refused.status_code, refused.headers["Retry-After"].isdecimal()) == (503, True)
                assert ask_for_a_new_password(site).status_code < 500
            own_redis.stop()
            time.sleep(REDIS_AWAY_SECONDS)
            own_redis.start()
            time.sleep(2)
        finally:
            stop.set()
        for one in working:
            one.result()
    stored = {label for person in people for label in person.stored}
    kept = {str(pk) for pk in Submission.objects.values_list("pk", flat=True)}
    assert stored <= kept
    assert len(stored) >= PEOPLE
    longest = max(wait for person in people for wait in person.waits)
    assert longest < max(LONGEST_WAIT_SECONDS, TIMES_AS_LONG * quiet), (longest, quiet)
