"""Settings of a project's candidates: their order, scores, and a second model."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from annotation.authoring.services.candidates import request_candidate_set
from annotation.authoring.services.settings import update_authoring
from annotation.authoring.services.turns import TurnResult
from annotation.tasks.models.work import Assignment
from common.refusals import Invalid
from dialogues.models import CandidateSet
from generation.models import CandidateRequest
from generation.worker import drain
from projects.models import Project, Role
from tests.candidate_requests import create_generator
from tests.conftest import Joins
from tests.generation.odd_backends import RECORDING, SCORED, Recording

OPENING = "My cat sheds all over the sofa."
PAGE = "/p/chit-chat/settings/"
API = "/api/v1/projects/chit-chat/authoring/"


@pytest.fixture
def maras(client: Client, mara: User) -> Client:
    client.force_login(mara)
    return client


def change_settings(project: Project, **changes: Any) -> None:
    update_authoring(project=project, actor=None, changes=changes)


def request_after_opening(writes: Any, assignment: Assignment) -> CandidateRequest:
    result: TurnResult = writes(assignment, OPENING, 0)
    assert result.request is not None
    return result.request


def test_a_request_follows_the_settings(project: Project, anns_assignment: Assignment, writes: Any) -> None:
    change_settings(project, candidate_order="best", show_scores=True)
    request = request_after_opening(writes, anns_assignment)
    assert (request.order, request.shows_scores, request.second_generator) == ("best", True, None)


@pytest.mark.parametrize(("is_on", "scripts"), [(True, ("LATIN",)), (False, ())])
def test_the_model_is_limited_to_the_script_of_the_dialogue_only_if_the_project_wants_it(
    project: Project, anns_assignment: Assignment, writes: Any, is_on: bool, scripts: tuple[str, ...]
) -> None:
    change_settings(project, generator=create_generator("recording", RECORDING), one_script=is_on)
    request = request_after_opening(writes, anns_assignment)
    assert request.one_script == is_on
    Recording.calls.clear()
    drain("w")
    [[asked]] = Recording.calls
    assert asked.scripts == scripts
    assert CandidateSet.objects.get().sampling.get("scripts", []) == list(scripts)


def test_switching_the_limit_to_one_script_off_makes_another_request(
    project: Project, anns_assignment: Assignment, writes: Any
) -> None:
    first = request_after_opening(writes, anns_assignment)
    change_settings(project, one_script=False)
    anns_assignment.refresh_from_db()
    second = request_candidate_set(
        annotator=anns_assignment.annotator, assignment_id=anns_assignment.pk, ordinal=0
    )
    assert (first.one_script, second.one_script) == (True, False)
    assert first.context_hash != second.context_hash


def test_with_two_models_the_order_is_random_and_scores_are_hidden(
    project: Project, anns_assignment: Assignment, writes: Any
) -> None:
    second = create_generator("second")
    change_settings(project, candidate_order="best", show_scores=True, second_generator=second)
    request = request_after_opening(writes, anns_assignment)
    assert (request.order, request.shows_scores, request.second_generator) == ("random", False, second)


def test_the_second_model_differs_from_the_first(project: Project) -> None:
    with pytest.raises(Invalid) as refused:
        change_settings(project, second_generator=project.authoring.generator)
    assert refused.value.details["field"] == "second_generator"
    with pytest.raises(Invalid) as refused:
        change_settings(project, second_generator=create_generator("second"), candidates=1)
    assert refused.value.details["field"] == "candidates"


def test_a_second_model_that_becomes_the_first_ends_the_comparison(project: Project) -> None:
    second = create_generator("second")
    change_settings(project, second_generator=second)
    change_settings(project, generator=second)
    project.authoring.refresh_from_db()
    assert (project.authoring.generator, project.authoring.second_generator) == (second, None)


def test_the_api_reads_and_changes_them(maras: Client, project: Project) -> None:
    create_generator("second")
    answer = maras.get(API).json()
    assert (answer["second_generator"], answer["candidate_order"], answer["show_scores"]) == (
        None,
        "random",
        False,
    )
    sent = {"second_generator": "second", "candidate_order": "best", "show_scores": True}
    assert maras.patch(API, sent, "application/json").json() == answer | sent
    repeated = maras.patch(API, {"second_generator": "scripted"}, "application/json")
    assert repeated.status_code == 400


def test_the_page_says_when_the_order_stays_random(
    maras: Client, project: Project, writes: Any, anns_assignment: Assignment
) -> None:
    assert b"their order was random" not in maras.get(PAGE).content
    change_settings(project, candidate_order="best")
    assert b"their order was random" not in maras.get(PAGE).content  # nothing was shown yet
    request_after_opening(writes, anns_assignment)
    drain("w")
    assert b"had no scores, so their order was random" in maras.get(PAGE).content
    change_settings(project, second_generator=create_generator("second"))
    assert b"random as long as there is a second model" in maras.get(PAGE).content


@pytest.mark.parametrize("shown", [True, False])
def test_annotators_get_scores_only_if_the_project_shows_them(
    client: Client, project: Project, ann: User, anns_assignment: Assignment, writes: Any, shown: bool
) -> None:
    change_settings(project, generator=create_generator("scored", SCORED), show_scores=shown)
    request = request_after_opening(writes, anns_assignment)
    drain("w")
    client.force_login(ann)
    for address in (
        f"/p/chit-chat/a/{anns_assignment.pk}/",
        f"/api/v1/assignments/{anns_assignment.pk}/",
        f"/api/v1/candidate-requests/{request.pk}/",
    ):
        page = client.get(address).content.decode()
        assert "scripted@" in page, address
        assert ('"score"' in page) == shown, address
    assert all(candidate["score"] is not None for candidate in CandidateSet.objects.get().candidates)


def test_annotators_do_not_learn_which_model_wrote_what(
    client: Client, project: Project, ann: User, anns_assignment: Assignment, writes: Any
) -> None:
    second = create_generator("second", replies=[f"Reply {n}" for n in range(9)])
    change_settings(project, second_generator=second)
    request = request_after_opening(writes, anns_assignment)
    drain("w")
    client.force_login(ann)
    for address in (f"/p/chit-chat/a/{anns_assignment.pk}/", f"/api/v1/candidate-requests/{request.pk}/"):
        page = client.get(address).content.decode()
        assert "Reply " in page
        assert "scripted@" not in page
    assert len(json.loads(page)["candidates"]) == 7


def test_engineers_see_the_model_of_each_candidate(
    client: Client, project: Project, joins: Joins, anns_assignment: Assignment, writes: Any
) -> None:
    change_settings(
        project, second_generator=create_generator("second", replies=[f"Reply {n}" for n in range(9)])
    )
    request_after_opening(writes, anns_assignment)
    drain("w")
    candidate_set = CandidateSet.objects.get()
    writes(anns_assignment, candidate_set.candidates[2]["text"], 1, candidate_set=candidate_set.pk, source=2)
    client.force_login(joins("eric", project, Role.ENGINEER))
    dialogue = anns_assignment.dialogue_id
    page = client.get(f"/p/chit-chat/dialogues/{dialogue}/").content.decode()
    assert all(page.count(version) >= 3 for version in candidate_set.sampling["models"])
    answer = client.get(f"/api/v1/dialogues/{dialogue}/").json()["utterances"][1]
    assert answer["model_version"] == candidate_set.candidates[2]["model_version"]
    assert {candidate["model_version"] for candidate in answer["candidates"]} == set(
        candidate_set.sampling["models"]
    )
