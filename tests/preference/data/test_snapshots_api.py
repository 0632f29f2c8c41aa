"""REST API of snapshots."""

import hashlib
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from jobs.models import Job
from jobs.services import run_job
from preference.data.models.snapshots import Snapshot
from preference.data.services.hub_tokens import set_hub_token
from projects.models import Project
from tests.preference.conftest import PASS, Written, diamante_file

Imports = Callable[..., Job]


@pytest.fixture
def api(client: Client, eric: User) -> Client:
    client.force_login(eric)
    return client


@pytest.fixture
def take(api: Client, project: Project) -> Callable[..., Any]:
    """take(name="May", …) sends the request; the snapshot is not carried out."""

    def take(**asked: Any) -> Any:
        body = {"id": str(uuid4())} | asked
        return api.post(f"/api/v1/projects/{project.slug}/snapshots/", body, content_type="application/json")

    return take


Take = Callable[..., Any]


def test_a_snapshot_is_taken_followed_and_fetched(take: Take, api: Client, written: Written) -> None:
    written(PASS)
    answer = take(name="May")
    assert answer.status_code == 202
    made = answer.json()
    assert (made["state"], made["has_files"], made["card"]) == ("queued", False, None)
    run_job(job_id=made["id"])
    made = api.get(f"/api/v1/snapshots/{made['id']}/").json()
    assert (made["state"], made["has_files"], made["taken_by"], made["name"]) == ("done", True, "eric", "May")
    assert made["card"]["splits"][-1]["dialogues"] == 1
    assert made["warnings"]
    answer = api.get(f"/api/v1/snapshots/{made['id']}/files/dialogues.jsonl/")
    data = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert (hashlib.sha256(data).hexdigest(), len(data)) == (made["sha256"], made["bytes"])
    assert api.get(f"/api/v1/snapshots/{made['id']}/files/settings.py/").status_code == 404


def test_an_export_is_made_from_it(take: Take, api: Client, written: Written, project: Project) -> None:
    written(PASS)
    made = take().json()
    run_job(job_id=made["id"])
    body = {"id": str(uuid4()), "format": "kto", "file_type": "parquet", "snapshot": made["id"], "seed": 3}
    answer = api.post(f"/api/v1/projects/{project.slug}/exports/", body, content_type="application/json")
    assert (answer.status_code, answer.json()["snapshot"]) == (202, made["id"])
    run_job(job_id=answer.json()["id"])
    manifest = api.get(f"/api/v1/exports/{answer.json()['id']}/").json()["manifest"]
    assert (manifest["snapshot"]["id"], manifest["file_type"], manifest["seed"]) == (made["id"], "parquet", 3)


def test_nothing_is_refused_with_cause_and_remedy(take: Take, imports: Imports) -> None:
    imports(diamante_file(1))
    problem = take().json()
    assert (problem["status"], problem["code"], bool(problem["remedy"])) == (409, "nothing_to_take", True)


def test_its_files_can_be_removed(take: Take, api: Client, written: Written) -> None:
    written(PASS)
    made = take().json()
    address = f"/api/v1/snapshots/{made['id']}/files/"
    assert api.delete(address).json()["code"] == "not_ready"
    run_job(job_id=made["id"])
    assert api.delete(address).json()["has_files"] is False
    assert api.get(f"{address}README.md/").status_code == 410


def test_a_push_needs_a_repository_and_a_token(
    take: Take, api: Client, written: Written, mara: User, project: Project
) -> None:
    written(PASS)
    made = take().json()
    run_job(job_id=made["id"])
    address = f"/api/v1/snapshots/{made['id']}/push/"
    bad = api.post(address, {"id": str(uuid4()), "repo_id": "../x"}, content_type="application/json")
    assert (bad.status_code, bad.json()["errors"][0]["field"] if "errors" in bad.json() else "") != (202, "")
    without = api.post(address, {"id": str(uuid4()), "repo_id": "us/may"}, content_type="application/json")
    assert (without.status_code, without.json()["code"]) == (409, "no_token")
    set_hub_token(project=project, actor=mara, token="hf_some_secret")
    good = api.post(address, {"id": str(uuid4()), "repo_id": "us/may"}, content_type="application/json")
    assert (good.status_code, good.json()["state"]) == (202, "queued")
    assert Job.objects.get(kind="push").parameters == {
        "snapshot": made["id"], "repo_id": "us/may", "private": True,
    }  # fmt: skip


def test_a_person_who_may_not_export_finds_none(
    take: Take, client: Client, written: Written, ann: User
) -> None:
    written(PASS)
    made = take().json()
    client.force_login(ann)
    assert client.get(f"/api/v1/snapshots/{made['id']}/").status_code == 404
    assert take().status_code == 403


def test_the_list_costs_the_same_however_long_it_is(
    take: Take,
    api: Client,
    written: Written,
    project: Project,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    written(PASS)
    for _number in range(6):
        take()
    with django_assert_max_num_queries(8):
        answer = api.get(f"/api/v1/projects/{project.slug}/snapshots/")
    assert len(answer.json()["results"]) == Snapshot.objects.count() == 6
