"""Expert review over the REST API."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from annotation.authoring.services.completion import finish_dialogue
from annotation.expert_review.models import ExpertReview
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from dialogues.models import Dialogue, ReviewState
from projects.models import Project, Role
from tests.annotation.conftest import imported

REVIEWS = "/api/v1/projects/chit-chat/reviews/"


@pytest.fixture
def finished(anns_assignment: Assignment, writes: Callable[..., object]) -> Dialogue:
    """Ann's dialogue of seven rounds."""
    for position in range(14):
        writes(anns_assignment, f"utterance {position}", position)
    return finish_dialogue(annotator=anns_assignment.annotator, assignment_id=anns_assignment.pk).dialogue


@pytest.fixture
def api(client: Client, carlos: User) -> Client:
    """Carlos is signed in."""
    client.force_login(carlos)
    return client


def send(api: Client, address: str, **body: Any) -> Any:
    return api.post(address, body, content_type="application/json")


def verdict_on(dialogue: Dialogue) -> str:
    return f"/api/v1/dialogues/{dialogue.pk}/review/"


def test_a_claim_shows_the_text_and_nothing_about_the_author(api: Client, finished: Dialogue) -> None:
    answer = send(api, REVIEWS, claim_id=str(uuid4()))
    assert answer.status_code == 201
    claimed = answer.json()
    assert [utterance["text"] for utterance in claimed["utterances"]][:2] == ["utterance 0", "utterance 1"]
    assert claimed["review"]["verdict"] == ""
    assert "ann" not in str(claimed).replace("annot", "")


def test_a_claim_sent_twice_is_one(api: Client, finished: Dialogue) -> None:
    claim = str(uuid4())
    first, second = (send(api, REVIEWS, claim_id=claim).json() for _ in range(2))
    assert first == second
    assert ExpertReview.objects.count() == 1


def test_an_empty_queue_is_a_problem_with_a_reason(api: Client, project: Project) -> None:
    answer = send(api, REVIEWS, claim_id=str(uuid4()))
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_review")


def test_a_dialogue_can_be_left_for_later(api: Client, finished: Dialogue) -> None:
    send(api, REVIEWS, claim_id=str(uuid4()))
    next_claim = send(api, REVIEWS, claim_id=str(uuid4()), skip=finished.pk)
    assert next_claim.json()["id"] == finished.pk  # it is the only one
    assert ExpertReview.objects.filter(superseded_at=None).count() == 1


def test_a_verdict_is_stored_once(api: Client, finished: Dialogue) -> None:
    body = {"id": str(uuid4()), "verdict": "veto", "remarks": [{"position": 3, "text": "Rude."}]}
    answers = [send(api, verdict_on(finished), **body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert Dialogue.objects.get(pk=finished.pk).review_state == ReviewState.VETOED


def test_a_veto_without_a_reason_names_the_field(api: Client, finished: Dialogue) -> None:
    answer = send(api, verdict_on(finished), id=str(uuid4()), verdict="veto", reason=" ")
    assert answer.status_code == 400
    assert answer.json()["field"] == "reason"
    assert "A veto needs a reason" in answer.json()["detail"]


@pytest.mark.parametrize(
    "wrong",
    [{"verdict": "perhaps"}, {"remarks": [{"position": -1, "text": "x"}]}, {"verdictt": "pass"}, {"id": 7}],
)
def test_malformed_input_is_refused(api: Client, finished: Dialogue, wrong: dict[str, object]) -> None:
    body = {"id": str(uuid4()), "verdict": "pass", **wrong}
    assert send(api, verdict_on(finished), **body).status_code == 400
    assert not ExpertReview.objects.exists()


def test_a_verdict_is_withdrawn(api: Client, finished: Dialogue) -> None:
    send(api, verdict_on(finished), id=str(uuid4()), verdict="pass")
    assert api.delete(verdict_on(finished)).json()["review_state"] == "unreviewed"
    assert api.get(REVIEWS).json()["results"] == []


def test_own_verdicts_are_listed(api: Client, finished: Dialogue) -> None:
    send(api, verdict_on(finished), id=str(uuid4()), verdict="veto", reason="Rude.")
    (row,) = api.get(REVIEWS).json()["results"]
    assert (row["dialogue"], row["verdict"], row["reason"]) == (finished.pk, "veto", "Rude.")


def test_the_author_can_neither_read_nor_judge_the_dialogue(
    client: Client, ann: User, finished: Dialogue, project: Project
) -> None:
    project.memberships.filter(user=ann).update(roles=[Role.ANNOTATOR, Role.CONTROLLER])
    client.force_login(ann)
    assert client.get(verdict_on(finished)).status_code == 403
    assert send(client, verdict_on(finished), id=str(uuid4()), verdict="pass").status_code == 403


@pytest.mark.parametrize("call", ["list", "claim", "read", "decide", "withdraw"])
def test_annotators_cannot_review(client: Client, bob: User, finished: Dialogue, call: str) -> None:
    client.force_login(bob)
    answers: dict[str, Callable[[], Any]] = {
        "list": lambda: client.get(REVIEWS),
        "claim": lambda: send(client, REVIEWS, claim_id=str(uuid4())),
        "read": lambda: client.get(verdict_on(finished)),
        "decide": lambda: send(client, verdict_on(finished), id=str(uuid4()), verdict="pass"),
        "withdraw": lambda: client.delete(verdict_on(finished)),
    }
    assert answers[call]().status_code == 403


@pytest.mark.parametrize("call", ["claim", "read", "decide", "withdraw"])
def test_labelling_projects_have_no_expert_review(
    client: Client, joins: Callable[..., User], call: str
) -> None:
    labelled = create_project(slug="quality", preset="diqad", actor=None)
    [dialogue] = imported(labelled, 1)
    client.force_login(joins("carla", labelled, Role.CONTROLLER))
    answers: dict[str, Callable[[], Any]] = {
        "claim": lambda: send(client, "/api/v1/projects/quality/reviews/", claim_id=str(uuid4())),
        "read": lambda: client.get(verdict_on(dialogue)),
        "decide": lambda: send(client, verdict_on(dialogue), id=str(uuid4()), verdict="veto", reason="No."),
        "withdraw": lambda: client.delete(verdict_on(dialogue)),
    }
    answer = answers[call]()
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "authoring" in answer.json()["detail"]
    assert not ExpertReview.objects.exists()


def test_a_claim_id_of_another_expert_is_refused(
    api: Client, client: Client, joins: Callable[..., User], finished: Dialogue, project: Project
) -> None:
    claim = str(uuid4())
    assert send(api, REVIEWS, claim_id=claim).status_code == 201
    client.force_login(joins("cora", project, Role.CONTROLLER))
    answer = send(client, REVIEWS, claim_id=claim)
    assert (answer.status_code, answer.json()["code"]) == (409, "id_in_use")


def test_strangers_get_not_found(client: Client, joins: Callable[..., User], finished: Dialogue) -> None:
    client.force_login(joins("stranger"))
    assert client.get(verdict_on(finished)).status_code == 404
    assert client.get(REVIEWS).status_code == 404
