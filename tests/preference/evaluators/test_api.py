"""Scoring runs over the REST API."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from accounts.models import User
from jobs.services import run_job
from preference.evaluators.models import ScoringRun
from projects.models import Project
from tests.api.conftest import program as program
from tests.preference.conftest import Written
from tests.preference.evaluators.test_scoring import scored

pytestmark = pytest.mark.django_db
RUNS = "/api/v1/projects/chit-chat/scoring-runs/"
Programs = Callable[..., APIClient]


def post(client: APIClient, status: int, **body: Any) -> dict[str, Any]:
    answer: Any = client.post(RUNS, {"id": str(uuid4()), "evaluator": "length", **body}, format="json")
    assert answer.status_code == status, answer.content
    return dict(answer.json())


def test_start_follow_and_read(program: Programs, eric: User, written: Written) -> None:
    written()
    client = program(eric)
    begun = post(client, 202, evaluator="distinct", settings={"n": 1})
    assert (begun["state"], begun["settings"], begun["target"]) == ("queued", {"n": 1}, "replies")
    run_job(job_id=ScoringRun.objects.get().job_id)
    address = f"/api/v1/scoring-runs/{begun['id']}/"
    read = client.get(address).json()
    assert (read["state"], read["scored"], read["unscored"]) == ("done", 3, 0)
    assert read["description"] == {"evaluator": "distinct", "n": 1}
    page = client.get(f"{address}scores/", {"page_size": 2}).json()
    assert [row["position"] for row in page["results"]] == [1, 2]
    assert client.get(page["next"]).json()["results"][0]["text"] == "All my own words"
    assert client.get(f"{address}scores/", {"unscored": "true"}).json()["results"] == []
    file: Any = client.get(f"{address}file/")
    rows = [json.loads(line) for line in b"".join(file.streaming_content).splitlines()]
    assert [row["score"] for row in rows] == [
        row.value for row in ScoringRun.objects.get().scores.order_by("id")
    ]
    assert [run["id"] for run in client.get(RUNS).json()["results"]] == [begun["id"]]


def test_wrong_input_is_named(program: Programs, eric: User, written: Written) -> None:
    written()
    client = program(eric)
    assert "evaluator" in str(post(client, 400, evaluator="praise"))
    assert post(client, 400, settings={"unit": "pages"})["code"] == "invalid"
    assert post(client, 404, evaluator="likelihood", model="/etc")["code"] == "not_found"
    assert "speed" in str(post(client, 400, speed=3))


def test_annotators_and_strangers_get_nothing(
    program: Programs, project: Project, ann: User, carlos: User, written: Written, joins: Any
) -> None:
    written()
    run = scored(project)
    for person, status in ((ann, 403), (carlos, 403), (joins("zoe"), 404)):
        client = program(person)
        post(client, status)
        assert client.get(RUNS).status_code == status
        for end in ("", "scores/", "file/"):
            assert client.get(f"/api/v1/scoring-runs/{run.pk}/{end}").status_code == 404


def test_a_page_of_scores_takes_the_same_queries_however_long(
    program: Programs,
    project: Project,
    eric: User,
    written: Written,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for _number in range(3):
        written()
    run = scored(project, target="candidates")
    client = program(eric)
    with django_assert_max_num_queries(9):
        assert len(client.get(f"/api/v1/scoring-runs/{run.pk}/scores/").json()["results"]) > 20
