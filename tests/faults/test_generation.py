"""What dies while candidates are generated: workers, connections, model servers, the broker."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from threading import Thread

import psycopg
import pytest
from django.db import connection

from dialogues.models import CandidateSet
from generation import worker
from generation.models import BackendKind, CandidateRequest, Generator, RequestState
from generation.services import retry_request, take_over_lost_requests
from projects.models import Project
from tests.candidate_requests import (
    create_dialogue,
    create_generator,
    create_request,
    flush_redis,
    state_of,
    wait_for_state,
)
from tests.conftest import Starts
from tests.generation.misbehaving_server import Handler
from tests.processes import ROOT, database_url, free_port, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults, pytest.mark.slow]
KILLS = 5


@dataclass(frozen=True, slots=True)
class ModelServer:
    process: subprocess.Popen[str]
    port: int


@contextmanager
def serving_again(port: int) -> Iterator[None]:
    """The same server at once: a new process might be there only after the last of three tries."""
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


@contextmanager
def serving(port: int = 0) -> Iterator[ModelServer]:
    """A model server that behaves as its address says; 0 = any free port."""
    command = [sys.executable, "-m", "tests.generation.misbehaving_server", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield ModelServer(server, int(server.stdout.readline()))
        finally:
            server.kill()


def served_by(server: ModelServer, behaviour: str, **options: object) -> Generator:
    address = f"http://127.0.0.1:{server.port}/{behaviour}/v1"
    return create_generator(behaviour, BackendKind.OPENAI, base_url=address, model="m", **options)


def break_connections() -> None:
    """What a restart of PostgreSQL does to everybody who is connected, this process apart."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_workers_killed_again_and_again_answer_everything_once(project: Project, starts: Starts) -> None:
    """A worker is killed at random moments of its work and started again, while requests keep coming."""
    slow = create_generator("slow", delay=0.3)
    chance = random.Random(7)
    requests: list[CandidateRequest] = []
    for kill in range(KILLS):
        running = starts(f"worker-{kill}")
        requests += [
            create_request(create_dialogue(project, f"Hello {kill} {number}"), slow) for number in range(3)
        ]
        time.sleep(chance.uniform(0.0, 0.7))
        running.kill()
    starts("worker-last")
    take_over_lost_requests()
    ended = [wait_for_state(request, seconds=60) for request in requests]
    given_up = [request for request in ended if request.state == RequestState.FAILED]
    assert all(request.error and request.remedy for request in given_up)
    for request in given_up:
        retry_request(request=request)
        wait_for_state(request)
    assert {state_of(request) for request in requests} == {RequestState.DONE}
    assert CandidateSet.objects.count() == len(requests)


def test_an_answer_survives_a_database_that_breaks_off(project: Project, starts: Starts) -> None:
    starts()
    request = create_request(create_dialogue(project, "Hello"), create_generator("slow", delay=5))
    wait_for_state(request, RequestState.RUNNING)
    break_connections()
    assert wait_for_state(request).state == RequestState.DONE
    assert (request.attempts, CandidateSet.objects.count()) == (1, 1)


def break_this_connection() -> None:
    """What a restart of PostgreSQL does to this process; returns when the server's side is gone."""
    with psycopg.connect(database_url()) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [connection.connection.info.backend_pid])


@pytest.mark.parametrize("step", ["claim_batch", "wake"])
def test_a_database_that_breaks_off_after_a_claim_leaves_nothing_held(
    project: Project, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The worker lives on, so that nobody would look for its requests until their lease ends."""
    take, breaks = getattr(worker, step), iter([True])

    def taken(*args: object) -> object:
        done = take(*args)
        if next(breaks, False):
            break_this_connection()
        return done

    monkeypatch.setattr(worker, step, taken)
    requests = [
        create_request(create_dialogue(project, "Hello"), create_generator(slug))
        for slug in ("one", "another")
    ]
    assert worker.drain("w") == 2
    assert [(state_of(request), request.attempts) for request in requests] == [(RequestState.DONE, 1)] * 2


def test_a_broker_that_forgets_everything_loses_no_request(project: Project, starts: Starts) -> None:
    starts()
    first = create_request(create_dialogue(project, "Hello"), create_generator("slow", delay=5))
    wait_for_state(first, RequestState.RUNNING)
    second = create_request(create_dialogue(project, "Hello again"))
    flush_redis()
    assert wait_for_state(first).state == RequestState.DONE
    take_over_lost_requests()
    assert wait_for_state(second).state == RequestState.DONE


def test_a_request_is_stored_while_the_broker_is_away(project: Project) -> None:
    """The annotator's turn is not held up either."""
    dialogue = create_dialogue(project, "Hello")
    code = (
        "import django; django.setup(); from time import monotonic;"
        "from tests.candidate_requests import create_request;"
        "from dialogues.models import Dialogue; begun = monotonic();"
        f"create_request(Dialogue.objects.get(pk={dialogue.pk})); print(monotonic() - begun)"
    )
    away = {"REDIS_URL": "redis://127.0.0.1:1/0", "DATABASE_URL": database_url()}
    environment = {**os.environ, **away, "DJANGO_SETTINGS_MODULE": "config.settings"}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert float(run.stdout.splitlines()[-1]) < 5
    assert CandidateRequest.objects.get(dialogue=dialogue).state == RequestState.QUEUED


@pytest.mark.parametrize("behaviour", ["hangs", "speaks_html", "dies_half_way", "nests", "is_down"])
def test_a_bad_model_server_ends_in_cause_and_remedy(
    project: Project, starts: Starts, behaviour: str
) -> None:
    with serving() as server:
        bad = served_by(server, behaviour, timeout=0.3, retries=0)
        request = create_request(create_dialogue(project, "Hello"), bad)
        fine = create_request(create_dialogue(project, "Hello"))
        worker = starts()
        assert wait_for_state(fine).state == RequestState.DONE
        assert wait_for_state(request).state == RequestState.FAILED
    assert request.error
    assert request.remedy
    assert worker.alive


def test_candidates_come_when_the_model_server_is_back(project: Project, starts: Starts) -> None:
    starts()
    with serving(free_port()) as server:
        good = served_by(server, "good", timeout=20, retries=0)
        assert (
            wait_for_state(create_request(create_dialogue(project, "Hello"), good)).state == RequestState.DONE
        )
    request = create_request(create_dialogue(project, "Hello again"), good)
    wait_until(lambda: state_of(request) == RequestState.QUEUED and request.attempts >= 1, 20, "a second try")
    with serving_again(server.port):
        assert wait_for_state(request).state == RequestState.DONE
    assert request.attempts > 1
