"""Writing a dialogue turn by turn: send, undo, reset, restore."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.db import IntegrityError

from accounts.models import User
from annotation.authoring.models import Draft, Turn
from annotation.authoring.services.candidates import request_candidate_set
from annotation.authoring.services.turns import (
    SentTurn,
    TurnResult,
    reset_dialogue,
    restore_turns,
    submit_turn,
    undo_turn,
)
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Invalid, NotFound, Refusal
from generation.models import CandidateRequest, Priority
from tests.annotation.authoring.steps import store_candidates, stored_texts, write_rounds

Writes = Callable[..., TurnResult]


def test_an_opening_asks_for_candidates_of_the_next_turn(anns_assignment: Assignment, writes: Writes) -> None:
    outcome = writes(anns_assignment, "My cat sheds everywhere.", 0)
    assert (outcome.turn.provenance.action, outcome.turn.position) == ("rewrite", 0)
    assert outcome.request is not None
    assert (outcome.request.position, outcome.request.priority) == (1, Priority.NOW)


def test_speakers_take_turns(anns_assignment: Assignment, writes: Writes) -> None:
    write_rounds(writes, anns_assignment, 2)
    assert [u.speaker for u in anns_assignment.dialogue.utterances.all()] == ["A", "B", "A", "B"]


def test_a_revised_candidate_is_stored_with_its_source(anns_assignment: Assignment, writes: Writes) -> None:
    candidate_set = store_candidates(
        writes(anns_assignment, "My cat sheds.", 0).request, "Mine too.", "Buy a comb."
    )
    provenance = writes(
        anns_assignment, "Buy a good comb.", 1, candidate_set=candidate_set.pk, source=1
    ).turn.provenance
    assert (provenance.action, provenance.source, provenance.edit_distance) == ("revise", 1, 5)
    utterance = anns_assignment.dialogue.utterances.get(position=1)
    assert (utterance.candidate_set, utterance.action) == (candidate_set, "revise")


def test_a_turn_sent_twice_is_stored_once(anns_assignment: Assignment, ann: User) -> None:
    sent = SentTurn(id=uuid4(), position=0, text="Hello there")
    first = submit_turn(annotator=ann, assignment_id=anns_assignment.pk, sent=sent)
    second = submit_turn(annotator=ann, assignment_id=anns_assignment.pk, sent=sent)
    assert (first.repeated, second.repeated) == (False, True)
    assert second.turn == first.turn
    assert second.request == first.request
    assert stored_texts(anns_assignment.dialogue) == ["Hello there"]


def test_a_turn_before_its_time_is_refused(anns_assignment: Assignment, writes: Writes) -> None:
    with pytest.raises(Refusal) as refused:
        writes(anns_assignment, "second", 1)
    assert (refused.value.code, refused.value.details) == ("out_of_order", {"expected": 0})
    assert stored_texts(anns_assignment.dialogue) == []


def test_a_second_tab_gets_the_stored_text(anns_assignment: Assignment, writes: Writes) -> None:
    writes(anns_assignment, "from the first tab", 0)
    with pytest.raises(Refusal) as refused:
        writes(anns_assignment, "from the second tab", 0)
    assert refused.value.code == "written_elsewhere"
    assert refused.value.details["stored"] == "from the first tab"


def test_bob_cannot_write_into_anns_dialogue(anns_assignment: Assignment, bob: User) -> None:
    with pytest.raises(NotFound):
        submit_turn(
            annotator=bob, assignment_id=anns_assignment.pk, sent=SentTurn(id=uuid4(), position=0, text="Boo")
        )
    assert Turn.objects.count() == 0


def test_a_used_id_of_another_dialogue_is_refused(
    anns_assignment: Assignment, bob: User, writes: Writes
) -> None:
    turn = writes(anns_assignment, "Hello", 0).turn
    bobs = claim_next_task(annotator=bob, project=anns_assignment.project, claim_id=uuid4())
    with pytest.raises(Refusal) as refused:
        writes(bobs, "Hello", 0, id=turn.pk)
    assert (refused.value.code, refused.value.status) == ("id_in_use", 409)
    assert stored_texts(bobs.dialogue) == []


def test_candidates_of_another_dialogue_are_refused(
    anns_assignment: Assignment, bob: User, writes: Writes
) -> None:
    bobs = claim_next_task(annotator=bob, project=anns_assignment.project, claim_id=uuid4())
    others_candidates = store_candidates(writes(bobs, "Hello", 0).request, "Hi")
    writes(anns_assignment, "Hello", 0)
    with pytest.raises(Invalid) as refused:
        writes(anns_assignment, "Hi", 1, candidate_set=others_candidates.pk, source=0)
    assert refused.value.details["reason"] == "candidate_set"


def test_candidates_for_a_wording_that_was_undone_were_not_shown(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    first = writes(anns_assignment, "My cat sheds.", 0)
    store_candidates(first.request, "Mine too.")
    undo_turn(annotator=ann, assignment_id=anns_assignment.pk, turn_id=first.turn.pk)
    shown = store_candidates(writes(anns_assignment, "My dog sheds.", 0).request, "Brush him.")
    turn = writes(anns_assignment, "Mine too.", 1, candidate_set=shown.pk).turn
    assert (turn.provenance.action, turn.provenance.candidate_set) == ("rewrite", shown)


def test_candidates_that_nobody_asked_for_were_not_shown(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    ahead = store_candidates(writes(anns_assignment, "My cat sheds.", 0).request, "Mine too.")
    CandidateRequest.objects.filter(candidate_set=ahead).update(wanted_at=None)
    second = request_candidate_set(annotator=ann, assignment_id=anns_assignment.pk, ordinal=1)
    shown = store_candidates(second, "Brush him.")
    turn = writes(anns_assignment, "Mine too.", 1, candidate_set=shown.pk).turn
    assert (turn.provenance.action, turn.provenance.candidate_set) == ("rewrite", shown)


def test_undo_returns_the_text_to_the_draft(anns_assignment: Assignment, ann: User, writes: Writes) -> None:
    writes(anns_assignment, "one", 0)
    last = writes(anns_assignment, "two", 1).turn
    for _ in range(2):  # safe to repeat
        outcome = undo_turn(annotator=ann, assignment_id=anns_assignment.pk, turn_id=last.pk)
    assert outcome.request is not None
    assert outcome.request.position == 1
    assert stored_texts(anns_assignment.dialogue) == ["one"]
    assert Draft.objects.get(assignment=anns_assignment).text == "two"
    assert Turn.objects.get(pk=last.pk).undone_at is not None


def test_an_undone_turn_keeps_its_provenance(anns_assignment: Assignment, ann: User, writes: Writes) -> None:
    candidate_set = store_candidates(
        writes(anns_assignment, "My cat sheds.", 0).request, "Mine too.", "Buy a comb."
    )
    turn = writes(anns_assignment, "Buy a good comb.", 1, candidate_set=candidate_set.pk, source=1).turn
    undo_turn(annotator=ann, assignment_id=anns_assignment.pk, turn_id=turn.pk)
    turn = Turn.objects.get(pk=turn.pk)
    assert turn.utterance is None
    assert (turn.action, turn.candidate_set, turn.source, turn.edit_distance) == (
        "revise",
        candidate_set,
        1,
        5,
    )
    draft = Draft.objects.get(assignment=anns_assignment)
    assert (draft.text, draft.candidate_set, draft.source) == ("Buy a good comb.", candidate_set, 1)


def test_a_restored_turn_gives_its_provenance_back(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    candidate_set = store_candidates(
        writes(anns_assignment, "My cat sheds.", 0).request, "Mine too.", "Buy a comb."
    )
    turn = writes(anns_assignment, "Buy a comb.", 1, candidate_set=candidate_set.pk, source=1).turn
    ids = reset_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    restore_turns(annotator=ann, assignment_id=anns_assignment.pk, turn_ids=ids)
    utterance = anns_assignment.dialogue.utterances.get(position=1)
    assert (utterance.action, utterance.candidate_set, utterance.source) == ("select", candidate_set, 1)
    turn = Turn.objects.get(pk=turn.pk)
    assert (turn.utterance, turn.undone_at, turn.candidate_set) == (utterance, None, None)
    assert turn.provenance == utterance


def test_provenance_cannot_be_stored_twice(anns_assignment: Assignment, writes: Writes) -> None:
    turn = writes(anns_assignment, "My cat sheds.", 0).turn
    with pytest.raises(IntegrityError):
        Turn.objects.filter(pk=turn.pk).update(action="rewrite")


def test_only_the_last_turn_can_be_undone(anns_assignment: Assignment, ann: User, writes: Writes) -> None:
    first = writes(anns_assignment, "one", 0).turn
    writes(anns_assignment, "two", 1)
    with pytest.raises(Refusal) as refused:
        undo_turn(annotator=ann, assignment_id=anns_assignment.pk, turn_id=first.pk)
    assert refused.value.code == "not_last"


def test_undo_finds_the_same_candidates_again(anns_assignment: Assignment, ann: User, writes: Writes) -> None:
    before = writes(anns_assignment, "one", 0).request
    turn = writes(anns_assignment, "two", 1).turn
    assert undo_turn(annotator=ann, assignment_id=anns_assignment.pk, turn_id=turn.pk).request == before


def test_a_reset_can_be_restored(anns_assignment: Assignment, ann: User, writes: Writes) -> None:
    write_rounds(writes, anns_assignment, 1)
    ids = reset_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    assert stored_texts(anns_assignment.dialogue) == []
    for _ in range(2):  # safe to repeat
        restore_turns(annotator=ann, assignment_id=anns_assignment.pk, turn_ids=ids)
    assert stored_texts(anns_assignment.dialogue) == ["utterance 0", "utterance 1"]


def test_a_reset_is_not_restored_over_new_text(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    write_rounds(writes, anns_assignment, 1)
    ids = reset_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    writes(anns_assignment, "a new start", 0)
    with pytest.raises(Refusal) as refused:
        restore_turns(annotator=ann, assignment_id=anns_assignment.pk, turn_ids=ids)
    assert refused.value.code == "written_since"


@pytest.mark.parametrize(("text", "position", "field"), [("Goodbye", 0, "text"), ("Hello", 1, "position")])
def test_a_used_id_is_refused_with_another_turn(
    anns_assignment: Assignment, writes: Writes, text: str, position: int, field: str
) -> None:
    turn = writes(anns_assignment, "Hello", 0).turn
    with pytest.raises(Refusal) as refused:
        writes(anns_assignment, text, position, id=turn.pk)
    assert (refused.value.code, refused.value.details) == ("id_in_use", {"field": field})
    assert stored_texts(anns_assignment.dialogue) == ["Hello"]
