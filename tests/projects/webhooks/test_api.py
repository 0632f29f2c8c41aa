"""Webhooks over the API."""

from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from projects.models import Event, Project, Webhook, WebhookDelivery
from projects.webhooks.services import MOST
from tests.api.conftest import Program
from tests.api.conftest import program as program
from tests.projects.webhooks.conftest import Happens, added, deliver
from tests.projects.webhooks.receiver import Inbox

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/projects/chit-chat/webhooks/"
BODY: dict[str, Any] = {"url": "https://hooks.example.org/", "events": ["job.ended"]}


@pytest.fixture
def api(program: Program, mara: User, project: Project) -> APIClient:
    return program(mara)


def post(api: APIClient, path: str = "", **body: Any) -> Any:
    return api.post(f"{ADDRESS}{path}", body, format="json")


def test_the_secret_is_in_the_first_answer_only(api: APIClient) -> None:
    request = {**BODY, "id": str(uuid4())}
    first, second = post(api, **request), post(api, **request)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["secret"].startswith("whsec_")
    assert second.json() == {**first.json(), "secret": None}
    secret = first.json()["secret"]
    for address in (ADDRESS, f"{ADDRESS}{request['id']}/"):
        assert "secret" not in set(api.get(address).json())
        assert secret not in api.get(address).content.decode()
    row = Webhook.objects.get()
    assert secret not in row.secret
    assert not any(secret in str(event.data) for event in Event.objects.all())


def test_a_webhook_from_its_creation_to_its_end(api: APIClient, inbox: Inbox, happens: Happens) -> None:
    made = post(api, id=str(uuid4()), url=inbox.url, events=["job.ended"], description="Lake").json()
    one = f"{made['id']}/"
    changed = api.patch(f"{ADDRESS}{one}", {"events": ["job.ended", "label.final"]}, format="json").json()
    assert (changed["events"], changed["description"]) == (["label.final", "job.ended"], "Lake")
    test = {"id": str(uuid4())}
    assert [post(api, f"{one}test/", **test).status_code for _ in range(2)] == [202, 202]
    event = happens("5")
    assert deliver() == 2
    log = api.get(f"{ADDRESS}{one}deliveries/").json()["results"]
    assert [(row["type"], row["state"], row["status"]) for row in log] == [
        ("job.ended", "delivered", 200),
        ("webhook.test", "delivered", 200),
    ]
    assert log[0]["payload"] == inbox.got[1].json
    assert log[0]["webhook_id"] == inbox.got[1].headers["webhook-id"]
    tests_only = api.get(f"{ADDRESS}{one}deliveries/?type=webhook.test&state=delivered").json()["results"]
    assert [row["id"] for row in tests_only] == [log[1]["id"]]
    replay = {"id": str(uuid4()), "deliveries": [log[0]["id"]]}
    assert [post(api, f"{one}replays/", **replay).json() for _ in range(2)] == [{"count": 1}] * 2
    assert deliver() == 1
    assert inbox.events.count(event.pk) == 2
    assert api.patch(f"{ADDRESS}{one}", {"on": False}, format="json").json()["state"] == "off"
    assert api.delete(f"{ADDRESS}{one}").status_code == 204
    assert api.delete(f"{ADDRESS}{one}").status_code == 404
    assert api.get(ADDRESS).json()["results"] == []
    assert not WebhookDelivery.objects.exists()
    row = Webhook.objects.get()
    assert (row.secret, row.previous_secret) == ("", "")


def test_a_secret_is_replaced_by_its_version(api: APIClient) -> None:
    made = post(api, id=str(uuid4()), **BODY).json()
    address = f"{made['id']}/secret/"
    first, again = post(api, address, version=1).json(), post(api, address, version=1).json()
    assert first["secret"] not in (None, made["secret"])
    assert (again["secret"], again["secret_version"]) == (None, 2)
    assert post(api, address, version=2).json()["secret_version"] == 3
    assert post(api, address, version=1).json()["code"] == "changed_meanwhile"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"url": "https://127.0.0.1.example@10.0.0.1/"}, "url"),
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"events": []}, "events"),
        ({"events": ["dialogue.eaten"]}, "events"),
        ({"events": ["webhook.test"]}, "events"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_bad_input_names_the_field(api: APIClient, wrong: dict[str, Any], field: str) -> None:
    answer = post(api, id=str(uuid4()), **{**BODY, **wrong})
    assert answer.status_code == 400
    assert field in answer.content.decode()
    assert not Webhook.objects.exists()


def test_a_replay_of_somebody_elses_delivery_is_refused(
    api: APIClient, project: Project, mara: User, happens: Happens
) -> None:
    own, _ = added(project, mara, BODY["url"], events=["label.final"])
    added(project, mara, BODY["url"])
    happens()
    theirs = WebhookDelivery.objects.get().pk
    for body, status in (({"deliveries": [theirs]}, 404), ({}, 400), ({"deliveries": []}, 400)):
        assert post(api, f"{own.pk}/replays/", id=str(uuid4()), **body).status_code == status


def test_a_project_has_a_limited_number_of_webhooks(api: APIClient, project: Project, mara: User) -> None:
    for _ in range(MOST):
        added(project, mara, BODY["url"])
    assert post(api, id=str(uuid4()), **BODY).json()["code"] == "too_many"


def test_the_log_costs_the_same_whatever_its_length(
    api: APIClient, webhook: Webhook, happens: Happens, django_assert_max_num_queries: Any
) -> None:
    for job in range(30):
        happens(str(job))
    with django_assert_max_num_queries(8):
        assert len(api.get(f"{ADDRESS}{webhook.pk}/deliveries/").json()["results"]) == 30
