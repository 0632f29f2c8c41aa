"""Requesting candidates while a dialogue is written."""

from collections.abc import Callable

import pytest

from accounts.models import User
from annotation.authoring.services.candidates import generate_ahead, request_candidate_set
from annotation.authoring.services.turns import (
    TurnResult,
)
from annotation.tasks.models.work import Assignment, AssignmentState
from annotation.tasks.services.assignment import save_for_later
from common.refusals import Refusal
from generation.models import Priority

Writes = Callable[..., TurnResult]


def test_a_new_candidate_set_is_another_request_of_the_turn(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    first = writes(anns_assignment, "one", 0).request
    second = request_candidate_set(annotator=ann, assignment_id=anns_assignment.pk, ordinal=1)
    assert first is not None
    assert second.pk != first.pk
    assert second.context_hash == first.context_hash
    assert request_candidate_set(annotator=ann, assignment_id=anns_assignment.pk, ordinal=1) == second


def test_looking_at_the_sets_of_a_saved_dialogue_keeps_it_saved(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    first = writes(anns_assignment, "one", 0).request
    second = request_candidate_set(annotator=ann, assignment_id=anns_assignment.pk, ordinal=1)
    saved = save_for_later(annotator=ann, assignment_id=anns_assignment.pk)
    for ordinal, made in enumerate([first, second]):
        assert request_candidate_set(annotator=ann, assignment_id=saved.pk, ordinal=ordinal) == made
    anns_assignment.refresh_from_db()
    assert (anns_assignment.state, anns_assignment.lease_until) == (AssignmentState.SAVED, saved.lease_until)
    request_candidate_set(annotator=ann, assignment_id=saved.pk, ordinal=2)
    anns_assignment.refresh_from_db()
    assert anns_assignment.state == AssignmentState.ACTIVE  # a new set is work


def test_new_candidate_sets_have_a_limit(anns_assignment: Assignment, ann: User, writes: Writes) -> None:
    writes(anns_assignment, "one", 0)
    with pytest.raises(Refusal) as refused:
        request_candidate_set(annotator=ann, assignment_id=anns_assignment.pk, ordinal=6)
    assert refused.value.code == "too_many_sets"


def test_candidates_generated_ahead_are_used_when_the_draft_is_sent(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    ahead = generate_ahead(annotator=ann, assignment_id=anns_assignment.pk, text="My cat sheds.")
    assert ahead is not None
    assert ahead.priority == Priority.AHEAD
    request = writes(anns_assignment, "My cat sheds.", 0).request
    assert request is not None
    assert (request.pk, request.priority) == (ahead.pk, Priority.NOW)
