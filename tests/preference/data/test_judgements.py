"""Format `judgements`: who judged what, under a pseudonym."""

import json
from uuid import uuid4

from pytest_django import Settings

from accounts.models import User
from annotation.expert_review.services import submit_verdict
from preference.data.formats.judgements import pseudonym
from preference.data.selectors.selection import Filters
from projects.models import Project
from tests.preference.conftest import PASS, VETO, Rows, Written


def test_every_turn_is_a_row_and_undone_ones_are_marked(rows: Rows, written: Written) -> None:
    dialogue = written(PASS)
    actions = [row for row in rows("judgements") if row["question"] == "action"]
    assert [(row["position"], row["value"], row["status"]) for row in actions] == [
        (0, "rewrite", "live"),
        (1, "select", "live"),
        (2, "revise", "live"),
        (3, "rewrite", "live"),
        (4, "rewrite", "undone"),
    ]
    assert {row["dialogue"] for row in actions} == {dialogue.external_id}
    assert (actions[2]["source"], actions[2]["edit_distance"]) == (3, 2)
    assert (actions[2]["active_seconds"], actions[2]["idle_seconds"]) == (12.4, 1.5)
    assert {row["schema_version"] for row in actions} == {"diamante/1"}


def test_a_changed_verdict_keeps_the_earlier_one_as_superseded(
    rows: Rows, written: Written, carlos: User
) -> None:
    dialogue = written(VETO)
    submit_verdict(reviewer=carlos, dialogue_id=dialogue.pk, review_id=uuid4(), verdict=PASS)
    verdicts = [row for row in rows("judgements", Filters()) if row["question"] == "expert_review"]
    assert [(row["value"], row["status"]) for row in verdicts] == [("veto", "superseded"), ("pass", "live")]


def test_a_person_is_the_same_pseudonym_in_every_row_and_export(
    rows: Rows, written: Written, project: Project, ann: User, carlos: User
) -> None:
    written(PASS)
    written(PASS)
    first, second = rows("judgements"), rows("judgements")
    assert first == second
    by_question = {
        question: {row["annotator"] for row in first if row["question"] == question}
        for question in ("action", "expert_review")
    }
    assert by_question == {
        "action": {pseudonym(project.pk, ann.pk)},
        "expert_review": {pseudonym(project.pk, carlos.pk)},
    }


def test_a_pseudonym_names_nobody(
    rows: Rows, written: Written, project: Project, ann: User, settings: Settings
) -> None:
    written(PASS)
    text = json.dumps(rows("judgements"))
    assert not {name for name in ("ann", "carlos", ann.email) if f'"{name}"' in text}
    known = pseudonym(project.pk, ann.pk)
    assert pseudonym(project.pk + 1, ann.pk) != known, "two projects cannot be joined by it"
    settings.SECRET_KEY = "another" * 10
    assert pseudonym(project.pk, ann.pk) != known, "without the key nobody can try all ids"
