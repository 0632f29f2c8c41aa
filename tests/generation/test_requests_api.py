"""The candidates that an annotator waits for, over the REST API."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from annotation.authoring.services.turns import TurnResult
from annotation.tasks.models.work import Assignment
from generation.models import CandidateRequest, RequestState
from generation.worker import drain
from jobs.services import record_heartbeat
from tests.candidate_requests import flush_redis

Writes = Callable[..., TurnResult]


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """The number of live workers is cached for two seconds."""
    flush_redis()


@pytest.fixture
def request_of_ann(anns_assignment: Assignment, writes: Writes) -> CandidateRequest:
    request = writes(anns_assignment, "My cat sheds everywhere.", 0).request
    assert request is not None
    return request


def read(client: Client, request: CandidateRequest) -> dict[str, Any]:
    answer = client.get(f"/api/v1/candidate-requests/{request.pk}/")
    return {"http": answer.status_code, **answer.json()}


def test_ann_sees_that_nobody_generates(client: Client, ann: User, request_of_ann: CandidateRequest) -> None:
    client.force_login(ann)
    told = read(client, request_of_ann)
    assert (told["state"], told["workers_alive"], told["candidates"]) == ("queued", 0, [])
    assert told["waited_ms"] >= 0


def test_ann_sees_her_candidates(client: Client, ann: User, request_of_ann: CandidateRequest) -> None:
    record_heartbeat(name="worker-1", queues=["gpu"], details={})
    drain("worker-1")
    client.force_login(ann)
    told = read(client, request_of_ann)
    assert (told["state"], told["position"], told["ordinal"]) == ("done", 1, 0)
    assert len(told["candidates"]) == 7
    assert told["candidate_set"]
    assert told["failures"] == []


def test_bob_sees_nothing_of_ann(client: Client, bob: User, request_of_ann: CandidateRequest) -> None:
    client.force_login(bob)
    assert read(client, request_of_ann)["http"] == 404
    assert client.post(f"/api/v1/candidate-requests/{request_of_ann.pk}/retry/").status_code == 404


def test_ann_tries_a_failed_one_again(client: Client, ann: User, request_of_ann: CandidateRequest) -> None:
    CandidateRequest.objects.filter(pk=request_of_ann.pk).update(
        state=RequestState.FAILED, error="The model failed.", remedy="Try again."
    )
    client.force_login(ann)
    assert read(client, request_of_ann)["error"] == "The model failed."
    answer = client.post(f"/api/v1/candidate-requests/{request_of_ann.pk}/retry/")
    assert (answer.status_code, answer.json()["state"], answer.json()["error"]) == (200, "queued", "")


def test_retrying_an_answered_request_is_refused(
    client: Client, ann: User, request_of_ann: CandidateRequest
) -> None:
    drain("worker-1")
    client.force_login(ann)
    answer = client.post(f"/api/v1/candidate-requests/{request_of_ann.pk}/retry/")
    assert (answer.status_code, answer.json()["code"]) == (409, "already_done")


def test_asking_how_it_goes_is_cheap(
    client: Client,
    ann: User,
    request_of_ann: CandidateRequest,
    django_assert_max_num_queries: Callable[[int], Any],
) -> None:
    """The page asks eight times a second: session, person, request; the workers are counted every other second."""
    drain("worker-1")
    client.force_login(ann)
    read(client, request_of_ann)
    with django_assert_max_num_queries(4):
        read(client, request_of_ann)
