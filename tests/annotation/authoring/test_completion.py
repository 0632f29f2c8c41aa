"""Finishing a dialogue, and taking it back."""

from collections.abc import Callable

import pytest

from accounts.models import User
from annotation.authoring.services.completion import finish_dialogue, take_back_dialogue
from annotation.authoring.services.turns import (
    TurnResult,
)
from annotation.tasks.models.work import Assignment, AssignmentState, Task
from annotation.tasks.services.assignment import release
from common.refusals import Refusal
from dialogues.models import DialogueState
from tests.annotation.authoring.steps import write_rounds

Writes = Callable[..., TurnResult]


def test_a_dialogue_of_seven_rounds_can_be_finished(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    write_rounds(writes, anns_assignment, 7)
    for _ in range(2):  # safe to repeat
        done = finish_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    assert done.state == AssignmentState.SUBMITTED
    assert done.dialogue.state == DialogueState.FINISHED


def test_a_dialogue_of_six_rounds_cannot_be_finished(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    write_rounds(writes, anns_assignment, 6)
    with pytest.raises(Refusal) as refused:
        finish_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    assert refused.value.details == {"rounds": 6, "needed": 7}


def test_a_finished_dialogue_accepts_turns_only_after_it_is_taken_back(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    write_rounds(writes, anns_assignment, 7)
    finish_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    with pytest.raises(Refusal) as refused:
        writes(anns_assignment, "more", 14)
    assert refused.value.code == "not_writable"
    take_back_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    assert writes(anns_assignment, "more", 14).turn.position == 14


def test_only_a_finished_dialogue_can_be_taken_back(anns_assignment: Assignment, ann: User) -> None:
    release(annotator=ann, assignment_id=anns_assignment.pk)
    with pytest.raises(Refusal) as refused:
        take_back_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    assert refused.value.code == "not_finished"
    assert Task.objects.get(pk=anns_assignment.task_id).open_slots == 1
