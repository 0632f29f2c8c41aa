"""In which order candidates are displayed, and what of their scores leaves the server."""

from typing import Any

import pytest

from generation.models import CandidateOrder, CandidateRequest
from generation.selectors import describe_request
from generation.worker import drain
from projects.models import Project
from tests.candidate_requests import create_dialogue, create_generator, create_request
from tests.generation.odd_backends import SCORED

BEST, RANDOM = CandidateOrder.BEST, CandidateOrder.RANDOM


def answered(project: Project, backend: str = SCORED, **wish: Any) -> CandidateRequest:
    options = wish.pop("options", {})
    made = create_request(
        create_dialogue(project, "Hello"), create_generator(f"g-{backend[-6:]}", backend, **options), **wish
    )
    drain("w")
    return CandidateRequest.objects.get(pk=made.pk)


def shown(request: CandidateRequest) -> list[dict[str, Any]]:
    assert request.candidate_set is not None
    return list(request.candidate_set.candidates)


def order_of(request: CandidateRequest) -> str:
    assert request.candidate_set is not None
    return str(request.candidate_set.sampling["order"])


def test_best_first_goes_by_the_score_and_says_so(project: Project) -> None:
    request = answered(project, order=BEST)
    scores = [one["score"] for one in shown(request)]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 1
    assert order_of(request) == "best"


def test_the_order_is_random_unless_asked_for(project: Project) -> None:
    orders = [[one["score"] for one in shown(answered(project))] for _ in range(4)]
    assert any(scores != sorted(scores, reverse=True) for scores in orders)
    assert order_of(answered(project)) == "random"


def test_equal_scores_are_in_random_order(project: Project) -> None:
    firsts = {
        shown(answered(project, order=BEST, options={"scores": "all the same"}))[0]["seed"] for _ in range(6)
    }
    requests = CandidateRequest.objects.all()
    own = [
        request.seed for request in requests
    ]  # the reply that the model wrote first has the request's own seed
    assert len(firsts - set(own)) > 0


@pytest.mark.parametrize("scores", ["none", "one missing", "not a number"])
def test_without_all_scores_the_order_is_random(project: Project, scores: str) -> None:
    request = answered(project, order=BEST, options={"scores": scores})
    assert order_of(request) == "random"
    assert len(shown(request)) == 7


def test_scores_are_logged_and_leave_the_server_only_where_the_project_shows_them(project: Project) -> None:
    hidden, open_ = answered(project), answered(project, shows_scores=True)
    assert all(isinstance(one["score"], float) for one in shown(hidden))
    assert [one.keys() for one in describe_request(hidden)["candidates"]] == [{"text"}] * 7
    assert [one["score"] for one in describe_request(open_)["candidates"]] == [
        one["score"] for one in shown(open_)
    ]


def test_a_model_without_scores_has_none_to_show(project: Project) -> None:
    request = answered(project, shows_scores=True, options={"scores": "none"})
    assert [one.keys() for one in describe_request(request)["candidates"]] == [{"text"}] * 7
