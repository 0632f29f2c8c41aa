"""Unsent texts."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from annotation.authoring.models import Draft
from annotation.authoring.services.drafts import save_draft
from annotation.authoring.services.turns import (
    TurnResult,
)
from annotation.tasks.models.work import Assignment
from common.refusals import Refusal

Writes = Callable[..., TurnResult]


def test_a_draft_of_another_device_is_not_overwritten(anns_assignment: Assignment, ann: User) -> None:
    draft: dict[str, Any] = {
        "annotator": ann,
        "assignment_id": anns_assignment.pk,
        "position": 0,
        "candidate_set": None,
        "source": None,
    }
    first = save_draft(**draft, text="on the phone", version=0)
    with pytest.raises(Refusal) as refused:
        save_draft(**draft, text="on the desk", version=0)
    assert refused.value.details["draft"]["text"] == "on the phone"
    assert save_draft(**draft, text="on the desk", version=first.version).text == "on the desk"


def test_sending_a_turn_empties_the_draft(anns_assignment: Assignment, ann: User, writes: Writes) -> None:
    save_draft(
        annotator=ann,
        assignment_id=anns_assignment.pk,
        position=0,
        text="Hel",
        candidate_set=None,
        source=None,
        version=0,
    )
    writes(anns_assignment, "Hello", 0)
    assert Draft.objects.get(assignment=anns_assignment).text == ""


def test_a_draft_for_a_turn_that_was_sent_is_refused(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    """The draft of the next turn stays as it is, and the page learns what is stored."""
    writes(anns_assignment, "Hello", 0)
    draft: dict[str, Any] = {"annotator": ann, "assignment_id": anns_assignment.pk}
    draft |= {"candidate_set": None, "source": None}
    kept = save_draft(**draft, position=1, text="For B", version=0)
    for version in (0, kept.version):
        with pytest.raises(Refusal) as refused:
            save_draft(**draft, position=0, text="For A", version=version)
        assert refused.value.code == "written_elsewhere"
        assert refused.value.details == {"expected": 1, "stored": "Hello"}
    assert Draft.objects.get(assignment=anns_assignment).text == "For B"
