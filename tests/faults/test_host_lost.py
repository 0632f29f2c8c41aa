"""Two hosts with one PostgreSQL and one Redis; one of them is lost while people label on both."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.db.models import Count

from accounts.models import Scope
from accounts.services import create_token
from annotation.labelling.models.labels import Submission
from annotation.tasks.models.work import Assignment, Task, TaskState
from tests.concurrency.test_labels import ANSWERS, OVERLAP, helpdesk, people
from tests.processes import Stack
from tests.sizes import FULL

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.soak,
    pytest.mark.alone,
]
PEOPLE = 20 if FULL else 8
DIALOGUES = 700 if FULL else 30  # labelled by OVERLAP people each
SENDS = 200  # of one request, until a host answers
AGAIN_SECONDS = 0.2


class Labeller:
    """Labels until all is done; sends a request again, to the other host if this one does not answer."""

    def __init__(self, hosts: list[str], token: str) -> None:
        self.hosts, self.acknowledged = hosts, list[str]()
        headers = {"Authorization": f"Bearer {token}"}
        self.client = httpx.AsyncClient(headers=headers, timeout=30, trust_env=False)

    async def work(self) -> None:
        async with self.client:
            while claimed := await self.claim():
                label_id = str(uuid4())
                labels = {"id": label_id, "schema": 1, "answers": ANSWERS}
                stored = await self.post(f"/api/v1/labelling/{claimed}/submissions/", labels)
                assert stored.status_code in (200, 201), stored.text
                self.acknowledged.append(label_id)

    async def claim(self) -> int:
        """The id of an assignment; 0 when all is done."""
        for _try in range(SENDS):
            body = {"claim_id": str(uuid4())}
            answer = await self.post("/api/v1/projects/helpdesk/labelling/claim/", body)
            if answer.status_code in (200, 201):
                return int(answer.json()["id"])
            assert answer.status_code == 409, answer.text
            if answer.json()["code"] == "all_done":
                return 0
            await asyncio.sleep(AGAIN_SECONDS)
        raise AssertionError(answer.text)

    async def post(self, address: str, body: dict[str, Any]) -> httpx.Response:
        for _send in range(SENDS):
            try:
                answer = await self.client.post(self.hosts[0] + address, json=body)
            except httpx.TransportError:
                self.hosts = self.hosts[::-1]
            else:
                if answer.status_code < 500:
                    return answer
            await asyncio.sleep(AGAIN_SECONDS)
        raise AssertionError(f"neither host answered {address}")


async def label_and_lose(labellers: list[Labeller], host: Stack) -> int:
    """Kill every process of the host after a third of the labels. Returns how many were acknowledged then."""
    working = [asyncio.create_task(labeller.work()) for labeller in labellers]

    def acknowledged() -> int:
        return sum(len(labeller.acknowledged) for labeller in labellers)

    while acknowledged() < DIALOGUES * OVERLAP // 3 and not any(work.done() for work in working):
        await asyncio.sleep(0.05)
    for process in host.running.values():
        process.kill()
    then = acknowledged()
    await asyncio.gather(*working)
    return then


def test_a_lost_host_costs_no_label_and_assigns_nothing_twice(tmp_path: Path) -> None:
    labellers = people(helpdesk(DIALOGUES), PEOPLE)
    scopes = [Scope.READ, Scope.ANNOTATE]
    tokens = [create_token(user=person, name="test", scopes=scopes)[1] for person in labellers]
    first, second = (Stack.on_this_database(tmp_path / name) for name in ("first", "second"))
    with first, second:
        for host in (first, second):
            host.web()
            host.worker("default", f"default-{host.folder.name}")
        hosts = [first.url, second.url]
        crowd = [Labeller(hosts[:: 1 if number % 2 else -1], token) for number, token in enumerate(tokens)]
        then = asyncio.run(label_and_lose(crowd, second))

    acknowledged = [label for labeller in crowd for label in labeller.acknowledged]
    assert 0 < then < len(acknowledged) == len(set(acknowledged)) == DIALOGUES * OVERLAP
    stored = Submission.objects.filter(superseded_at=None)
    assert {str(pk) for pk in stored.values_list("pk", flat=True)} == set(acknowledged)
    assert not Task.objects.exclude(open_slots=0, state=TaskState.FINAL).exists()
    by_task = Assignment.objects.values("task").annotate(people=Count("annotator", distinct=True))
    assert {row["people"] for row in by_task} == {OVERLAP}
