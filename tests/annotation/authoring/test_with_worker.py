"""A turn's candidates, from the queue to the log, with the worker's own code in this process."""

from collections.abc import Callable

from annotation.authoring.services.candidates import generate_ahead
from annotation.authoring.services.turns import TurnResult
from annotation.tasks.models.work import Assignment
from generation.models import CandidateRequest, RequestState
from generation.worker import drain


def test_a_turn_gets_seven_different_candidates(
    anns_assignment: Assignment, writes: Callable[..., TurnResult]
) -> None:
    request = writes(anns_assignment, "My cat sheds everywhere.", 0).request
    assert drain("worker-1") == 1
    assert request is not None
    request.refresh_from_db()
    assert request.state == RequestState.DONE
    assert request.candidate_set is not None
    texts = [candidate["text"] for candidate in request.candidate_set.candidates]
    assert len(set(texts)) == 7
    assert all(texts)


def test_a_sent_draft_shows_the_candidates_made_ahead(
    anns_assignment: Assignment, writes: Callable[..., TurnResult]
) -> None:
    ahead = generate_ahead(
        annotator=anns_assignment.annotator, assignment_id=anns_assignment.pk, text="My cat sheds."
    )
    drain("worker-1")
    request = writes(anns_assignment, "My cat sheds.", 0).request
    assert (request, request and request.state) == (ahead, RequestState.DONE)
    assert CandidateRequest.objects.count() == 1
    assert request is not None
    candidate_set = request.candidate_set
    assert candidate_set is not None
    turn = writes(
        anns_assignment, candidate_set.candidates[2]["text"], 1, candidate_set=candidate_set.pk, source=2
    ).turn
    assert (turn.provenance.action, turn.provenance.source) == ("select", 2)
