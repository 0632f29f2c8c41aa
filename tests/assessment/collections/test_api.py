"""The REST API of collections: started once, readable by those who read statistics, stopped and tried again."""

import csv
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts.models import Scope, User
from accounts.services import create_token
from assessment.collections.models import CollectedDialogue, CollectedState, Collection
from assessment.collections.selectors.collections import CollectionProgress, progress_of
from dialogues.models import Dialogue, DialogueState, Origin
from jobs.models import Job, JobState
from projects.models import Project, Role
from tests.assessment.collections.conftest import Collects
from tests.conftest import Joins

ADDRESS = "/api/v1/projects/study/collections/"


def program(user: User) -> APIClient:
    _token, plain = create_token(user=user, name="test", scopes=list(Scope))
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {plain}")
    return client


def sent(**changes: Any) -> dict[str, Any]:
    plan = {"kind": "static", "target": "rating", "source": "source", "systems": ["a", "b"], "count": 2}
    return {"id": str(uuid4()), **plan, **changes}


@pytest.fixture
def maras(mara: User, study: Project, source: Project, rating: Project) -> APIClient:
    return program(mara)


def test_a_collection_is_started_once(maras: APIClient) -> None:
    body = sent()
    first, second = (maras.post(ADDRESS, body, format="json") for _ in range(2))
    assert first.status_code == second.status_code == 201, first.content
    assert first.json() == second.json()
    collection = first.json()
    assert (collection["state"], collection["dialogues"], collection["systems"]) == ("queued", 6, ["a", "b"])
    assert maras.post(ADDRESS, {**body, "count": 3}, format="json").json()["code"] == "id_in_use"
    assert maras.get(f"{ADDRESS}{body['id']}/").json() == collection
    assert [row["id"] for row in maras.get(ADDRESS).json()["results"]] == [body["id"]]


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"systems": ["nobody"]}, 404, "not_found"),
        ({"target": "nowhere"}, 404, "not_found"),
        ({"target": "source"}, 400, "invalid"),
        ({"source": ""}, 400, "invalid"),
        ({"kind": "human_bot", "run": 9, "source": "", "systems": []}, 404, "not_found"),
        ({"count": 0}, 400, "invalid"),
        ({"colour": "red"}, 400, "invalid"),
    ],
)
def test_an_impossible_collection_is_refused(
    maras: APIClient, changes: dict[str, Any], status: int, code: str
) -> None:
    answer = maras.post(ADDRESS, sent(**changes), format="json")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not Collection.objects.exists()


def test_readers_of_statistics_see_collections_and_start_none(
    joins: Joins, study: Project, collects: Collects
) -> None:
    collection = collects()
    engineer = program(joins("eric", study, Role.ENGINEER))
    annotator = program(joins("ann", study, Role.ANNOTATOR))
    stranger = program(joins("sam"))
    for path in ("", f"{collection.pk}/", f"{collection.pk}/report/", f"{collection.pk}/report.csv"):
        answers = [each.get(f"{ADDRESS}{path}").status_code for each in (engineer, annotator, stranger)]
        assert answers == [200, 403, 404], path
    for path in ("", f"{collection.pk}/cancel/", f"{collection.pk}/retry/"):
        answers = [
            each.post(f"{ADDRESS}{path}", {}, format="json").status_code for each in (annotator, stranger)
        ]
        assert answers == [403, 404], path


def test_a_collection_belongs_to_its_project(maras: APIClient, mara: User, collects: Collects) -> None:
    from annotation.project_setup.services import create_project

    create_project(slug="other", preset="live-assessment", actor=mara, title="Other")
    assert maras.get(f"/api/v1/projects/other/collections/{collects().pk}/").status_code == 404


def test_a_collection_is_cancelled_and_tried_again(maras: APIClient, collects: Collects) -> None:
    collection = collects()
    address = f"{ADDRESS}{collection.pk}/"
    for _ in range(2):
        assert maras.post(f"{address}cancel/").json()["state"] == "cancelled"
    assert maras.post(f"{address}retry/").json()["state"] == "queued"
    assert maras.post(f"{address}retry/").json()["state"] == "queued"
    Job.objects.update(state=JobState.DONE)
    answer = maras.post(f"{address}retry/")
    assert (answer.status_code, answer.json()["code"]) == (409, "complete")
    CollectedDialogue.objects.filter(system__name="b").update(state=CollectedState.MISSING)
    answer = maras.post(f"{address}retry/").json()
    assert (answer["state"], answer["missing"]) == ("queued", 2)
    assert answer["job"] != str(collection.job_id)


def test_the_report_of_a_collection_without_ratings(maras: APIClient, collects: Collects) -> None:
    address = f"{ADDRESS}{collects().pk}/"
    report = maras.get(f"{address}report/").json()
    assert report["verdict"] == ["Raters have no dialogues yet."]
    assert [row["system"] for row in report["systems"]] == [None, "a", "b"]
    lines = list(csv.reader(maras.get(f"{address}report.csv").content.decode().splitlines()))
    assert lines == [["system", "criterion", "mean", "low", "high", "items", "made", "missing", "rated"]]


def test_the_list_costs_the_same_with_many_collections(maras: APIClient, collects: Collects) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert maras.get(ADDRESS).status_code == 200
        return len(captured)

    collects()
    queries()
    few = queries()
    for _ in range(20):
        collects()
    assert queries() == few <= 12
    seen, address = [], f"{ADDRESS}?page_size=5"
    while address:
        page = maras.get(address).json()
        seen += [row["id"] for row in page["results"]]
        address = page["next"]
    assert len(set(seen)) == len(seen) == 21


def test_progress_counts_dialogues_and_ratings(collects: Collects, rating: Project) -> None:
    from annotation.tasks.models.work import Task, TaskState

    one, other = collects("static", count=2), collects("static", count=1)
    rows = list(CollectedDialogue.objects.filter(collection=one))
    for place, row in enumerate(rows[:3]):
        row.dialogue = Dialogue.objects.create(
            project=rating, origin=Origin.COLLECTED, state=DialogueState.FINISHED
        )
        row.state = CollectedState.DONE
        row.save()
        state = TaskState.FINAL if place == 0 else TaskState.OPEN
        Task.objects.create(project=rating, dialogue=row.dialogue, state=state)
    CollectedDialogue.objects.filter(pk=rows[3].pk).update(state=CollectedState.MISSING)
    assert progress_of([one, other]) == {
        one.pk: CollectionProgress(dialogues=6, made=3, missing=1, planned=3, rated=1),
        other.pk: CollectionProgress(dialogues=3),
    }
