"""REST API of exports."""

import hashlib
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from dialogues.models import Split
from jobs.models import Job
from jobs.services import run_job
from preference.data.models.exports import Export
from projects.models import Project, Role
from tests.conftest import Joins
from tests.preference.conftest import diamante_file

Imports = Callable[..., Job]


@pytest.fixture
def api(client: Client, eric: User) -> Client:
    client.force_login(eric)
    return client


@pytest.fixture
def start(api: Client, project: Project) -> Callable[..., Any]:
    """start(format="sft", …) sends the request; the export is not carried out."""

    def start(**asked: Any) -> Any:
        body = {"id": str(uuid4()), "format": "sft", "include_unreviewed": True} | asked
        return api.post(f"/api/v1/projects/{project.slug}/exports/", body, content_type="application/json")

    return start


Start = Callable[..., Any]


def test_an_export_is_started_followed_and_fetched(start: Start, api: Client, imports: Imports) -> None:
    imports(diamante_file(3))
    answer = start()
    assert answer.status_code == 202
    export = answer.json()
    assert (export["state"], export["has_file"], export["manifest"]) == ("queued", False, None)
    run_job(job_id=export["id"])
    export = api.get(f"/api/v1/exports/{export['id']}/").json()
    assert (export["state"], export["done"], export["total"], export["started_by"]) == ("done", 3, 3, "eric")
    answer = api.get(f"/api/v1/exports/{export['id']}/file/")
    data = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert hashlib.sha256(data).hexdigest() == export["manifest"]["sha256"]
    assert answer["Content-Type"] == "application/jsonl"
    assert 'filename="chit-chat-sft-' in answer["Content-Disposition"]


def test_the_same_id_again_is_the_same_export(start: Start) -> None:
    export_id = str(uuid4())
    first, second = start(id=export_id), start(id=export_id)
    assert second.status_code == 202
    assert first.json()["created_at"] == second.json()["created_at"]
    other = start(id=export_id, format="diamante")
    assert (other.status_code, other.json()["code"]) == (409, "id_in_use")
    assert Export.objects.count() == Job.objects.count() == 1


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [({"format": "word"}, "format"), ({"splits": ["dev"]}, "splits"), ({"id": 7}, "id"), ({"split": "x"}, "split"),
     ({"leading_assistant": "shout"}, "leading_assistant")],
)  # fmt: skip
def test_wrong_fields_are_named(start: Start, asked: dict[str, Any], wrong: str) -> None:
    answer = start(**asked)
    assert (answer.status_code, list(answer.json()["errors"])) == (400, [wrong])
    assert not Job.objects.exists()


def test_an_unfinished_export_has_no_file_and_says_so(start: Start, api: Client) -> None:
    export = start().json()
    answer = api.get(f"/api/v1/exports/{export['id']}/file/")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_ready")


def test_an_export_is_stopped_as_the_job_of_its_id(start: Start, api: Client) -> None:
    export = start().json()
    assert api.post(f"/api/v1/jobs/{export['id']}/cancel/").json()["state"] == "cancelled"
    assert api.get(f"/api/v1/exports/{export['id']}/").json()["state"] == "cancelled"


def test_a_file_is_removed_and_the_manifest_stays(start: Start, api: Client, imports: Imports) -> None:
    export = start().json()
    address = f"/api/v1/exports/{export['id']}/file/"
    assert api.delete(address).json()["code"] == "not_ready"
    run_job(job_id=export["id"])
    for _twice in range(2):
        removed = api.delete(address).json()
        assert (removed["has_file"], removed["manifest"]["rows"]) == (False, 0)
    answer = api.get(address)
    assert (answer.status_code, answer.json()["code"]) == (410, "file_gone")


def test_the_preview_counts_before_anything_is_started(
    api: Client, project: Project, imports: Imports
) -> None:
    imports(diamante_file(4))
    address = f"/api/v1/projects/{project.slug}/exports/preview/"
    assert api.get(address).json() | {"total": 0} == {
        "leaving": 0,
        "writing": 0,
        "abandoned": 0,
        "vetoed": 0,
        "unreviewed": 4,
        "other_split": 0,
        "withheld": 0,
        "total": 0,
    }
    parts = [
        api.get(f"{address}?include_unreviewed=true&splits={split}").json()["leaving"] for split in Split
    ]
    both = api.get(f"{address}?include_unreviewed=true&splits=train&splits=test").json()["leaving"]
    assert sum(parts) == 4
    assert both == parts[0] + parts[2]
    assert api.get(f"{address}?splits=dev").status_code == 400


def test_exports_are_listed_newest_first_in_few_queries(
    start: Start, api: Client, project: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    made = [start().json()["id"] for _ in range(5)]
    with django_assert_max_num_queries(7):
        rows = api.get(f"/api/v1/projects/{project.slug}/exports/").json()["results"]
    assert [row["id"] for row in rows] == made[::-1]


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER, Role.TRAINER])
def test_a_role_that_may_not_export_learns_which_may(
    client: Client, joins: Joins, project: Project, role: Role
) -> None:
    client.force_login(joins("tom", project, role))
    answer = client.get(f"/api/v1/projects/{project.slug}/exports/")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    assert "ML engineer" in answer.json()["detail"]


def test_an_export_of_another_project_is_not_found(start: Start, client: Client, joins: Joins) -> None:
    export = start().json()
    client.force_login(joins("zoe"))
    for address in ("", "file/"):
        assert client.get(f"/api/v1/exports/{export['id']}/{address}").status_code == 404
