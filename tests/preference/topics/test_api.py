"""Topics over the REST API."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from dialogues.models import Dialogue
from jobs.services import run_job
from projects.models import Project, Role
from tests.api.conftest import program as program
from tests.preference.evaluators.conftest import quality as quality
from tests.preference.topics.test_tagging import AT
from tests.preference.topics.test_tagging import tea as tea
from tests.preference.training.evaluators.conftest import judge_server as judge_server

pytestmark = pytest.mark.django_db
Programs = Callable[..., APIClient]
PROJECT = "/api/v1/projects/quality/"
BANK = [{"id": "card", "en": "Cards", "zh": "银行卡"}, {"id": "loan", "en": "Loans", "zh": "贷款"}]


@pytest.fixture
def client(program: Programs, mara: User, tea: Project) -> APIClient:
    return program(mara)


def test_the_list_of_topics(client: APIClient) -> None:
    assert len(client.get(f"{PROJECT}topics/").json()["categories"]) == 26
    answer = client.put(f"{PROJECT}topics/", {"categories": BANK}, format="json")
    assert answer.json() == client.get(f"{PROJECT}topics/").json() == {"categories": BANK}
    wrong: Any = client.put(f"{PROJECT}topics/", {"categories": BANK[:1]}, format="json")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid")


def test_the_topic_of_a_dialogue(client: APIClient) -> None:
    dialogue = Dialogue.objects.earliest("id")
    answer = client.put(f"/api/v1/dialogues/{dialogue.pk}/topic/", {"topic": "food"}, format="json").json()
    assert (answer["topic"], answer["topic_source"], answer["topic_probability"]) == ("food", "person", None)
    listed = client.get(f"{PROJECT}dialogues/", {"topic": "food"}).json()["results"]
    assert [row["id"] for row in listed] == [dialogue.pk]
    assert len(client.get(f"{PROJECT}dialogues/", {"topic": "none"}).json()["results"]) == 2
    wrong = client.put(f"/api/v1/dialogues/{dialogue.pk}/topic/", {"topic": "weather"}, format="json")
    assert wrong.status_code == 400
    counts = client.get(f"{PROJECT}topics/counts/").json()["counts"]
    assert {row["topic"]: row["dialogues"] for row in counts} == {"food": 1, "": 2}


def test_start_follow_and_undo(client: APIClient, judge_server: str) -> None:
    body = {
        "id": str(uuid4()),
        "tagger": "judge",
        "settings": {**AT, "server": f"{judge_server}/topics/v1"},
    }
    for _twice in range(2):
        begun: Any = client.post(f"{PROJECT}tagging-runs/", body, format="json")
        assert (begun.status_code, begun.json()["state"]) == (202, "queued")
    address = f"/api/v1/tagging-runs/{body['id']}/"
    assert client.post(f"{address}undo/").json()["code"] == "not_finished"
    run_job(job_id=begun.json()["id"])
    read = client.get(address).json()
    assert (read["state"], read["tagged"], read["unanswered"], read["removed"]) == ("done", 2, 1, None)
    assert client.post(f"{address}undo/").json()["removed"] == 2
    assert [run["id"] for run in client.get(f"{PROJECT}tagging-runs/").json()["results"]] == [body["id"]]


@pytest.mark.parametrize(("role", "status"), [(Role.ANNOTATOR, 403), (Role.CONTROLLER, 403), (None, 404)])
def test_others_change_nothing(
    program: Programs, tea: Project, joins: Any, role: Role | None, status: int
) -> None:
    client = program(joins("zoe", tea, role) if role else joins("zoe"))
    dialogue = Dialogue.objects.earliest("id")
    answers: list[Any] = [
        client.put(f"{PROJECT}topics/", {"categories": BANK}, format="json"),
        client.put(f"/api/v1/dialogues/{dialogue.pk}/topic/", {"topic": "food"}, format="json"),
        client.post(f"{PROJECT}tagging-runs/", {"id": str(uuid4()), "tagger": "judge"}, format="json"),
        client.get(f"{PROJECT}tagging-runs/"),
        client.get(f"{PROJECT}topics/counts/"),
    ]
    codes = [answer.status_code for answer in answers]
    assert codes == [status, 404 if role != Role.CONTROLLER else 403, status, status, status]
