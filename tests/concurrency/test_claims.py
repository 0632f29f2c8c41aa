"""Many annotators at once, through HTTP, on the real web server."""

import asyncio
from collections import Counter
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from django.db.models import F

from accounts.models import Scope, User
from accounts.services import create_token
from annotation.authoring.models import Turn
from annotation.authoring.services.planning import plan_dialogues
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, Task
from generation.models import BackendKind, Generator
from projects.models import Membership, Project, Role
from tests.concurrency.connections import post_with_retry
from tests.processes import Stack
from tests.sizes import ANNOTATORS
from tests.sizes import AUTHORED_TASKS as TASKS

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.soak,
    pytest.mark.alone,
]


@pytest.fixture
def crowd() -> tuple[Project, list[str]]:
    """A project with fewer tasks than its annotators want, and their tokens."""
    project = create_project(slug="crowd", preset="diamante", actor=None)
    project.authoring.generator = Generator.objects.create(slug="scripted", backend=BackendKind.SCRIPTED)
    project.authoring.open_tasks_per_person = TASKS  # nobody finishes a dialogue here
    project.authoring.save()
    plan_dialogues(project=project, actor=None, count=TASKS, plan_id=uuid4())
    tokens = []
    for number in range(ANNOTATORS):
        person = User.objects.create(username=f"annotator-{number}")
        Membership.objects.create(project=project, user=person, roles=[Role.ANNOTATOR])
        tokens.append(create_token(user=person, name="test", scopes=[Scope.READ, Scope.ANNOTATE])[1])
    return project, tokens


async def claim_and_write(client: httpx.AsyncClient, token: str) -> Counter[str]:
    """Claim until refused; send the opening of every dialogue twice, as a browser does after a lost reply."""
    headers = {"Authorization": f"Bearer {token}"}
    claims_by_dialogue: Counter[str] = Counter()
    while True:
        claim = {"claim_id": str(uuid4())}
        first, second = await asyncio.gather(
            *(
                post_with_retry(client, "/api/v1/projects/crowd/assignments/", json=claim, headers=headers)
                for _ in range(2)
            )
        )
        for answer in (first, second):
            if answer.status_code == 409:
                claims_by_dialogue[answer.json()["code"]] += 1
                return claims_by_dialogue
        assert first.status_code == second.status_code == 201, first.text + second.text
        assert first.json()["id"] == second.json()["id"]
        turn = {"id": str(uuid4()), "position": 0, "text": "Hello there"}
        address = f"/api/v1/assignments/{first.json()['id']}/turns/"
        sent = await asyncio.gather(
            *(post_with_retry(client, address, json=turn, headers=headers) for _ in range(2))
        )
        # Both are 200 if the connection broke after the turn was stored.
        assert sorted(answer.status_code for answer in sent) in ([200, 201], [200, 200]), [
            a.text for a in sent
        ]
        claims_by_dialogue["acknowledged"] += 1


async def everybody(url: str, tokens: list[str]) -> list[Counter[str]]:
    limits = httpx.Limits(max_connections=ANNOTATORS)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        return await asyncio.gather(*(claim_and_write(client, token) for token in tokens))


def test_annotators_never_share_a_task(crowd: tuple[Project, list[str]], tmp_path: Path) -> None:
    _project, tokens = crowd
    with Stack.on_this_database(tmp_path) as stack:
        stack.web(workers=2)
        claims_by_dialogue = sum(asyncio.run(everybody(stack.url, tokens)), Counter[str]())
    assert Assignment.objects.count() == TASKS
    assert not Assignment.objects.values("task").exclude(task__overlap=1).exists()
    assert Assignment.objects.values("task").distinct().count() == TASKS
    assert not Task.objects.exclude(open_slots=0).exists()
    assert Turn.objects.count() == TASKS == claims_by_dialogue["acknowledged"]
    assert not Assignment.objects.exclude(dialogue__utterance_count=F("task__overlap")).exists()
