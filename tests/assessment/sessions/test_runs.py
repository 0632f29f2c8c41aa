"""Runs are created once, opened with enough systems, closed, and never hold fewer places than have entered."""

from typing import Any
from uuid import uuid4

import pytest

from assessment.sessions.models.runs import Run, RunState
from assessment.sessions.services.runs import change_places, close_run, create_run, open_run
from assessment.systems.models import Connector, System
from common.refusals import Invalid, Refusal
from projects.models import Project
from tests.assessment.steps import begin, complete, opened_run


def test_a_run_sent_twice_is_one(study: Project) -> None:
    key = uuid4()
    sent: dict[str, Any] = {
        "project": study,
        "actor": None,
        "creation_id": key,
        "places": 3,
        "topic_mode": "free",
    }
    first, second = create_run(**sent), create_run(**sent)
    assert first == second
    assert Run.objects.count() == 1
    with pytest.raises(Refusal, match="already used"):
        create_run(**{**sent, "places": 4})


def test_runs_are_numbered_and_have_their_own_seed(study: Project) -> None:
    first, second = opened_run(study), opened_run(study)
    assert [first.number, second.number] == [1, 2]
    assert first.seed != second.seed


@pytest.mark.parametrize("gone", [[Connector.DEGRADED], [Connector.OPENAI]])
def test_a_run_without_both_kinds_of_system_does_not_open(study: Project, gone: list[str]) -> None:
    System.objects.filter(connector__in=gone).delete()
    with pytest.raises(Refusal) as refused:
        opened_run(study)
    assert refused.value.code == "no_systems"


def test_a_run_without_places_does_not_open(study: Project) -> None:
    with pytest.raises(Refusal) as refused:
        opened_run(study, places=0)
    assert refused.value.code == "no_places"


def test_opening_and_closing_twice_change_nothing(run: Run) -> None:
    assert open_run(run=run, actor=None).state == RunState.OPEN
    assert close_run(run=close_run(run=run, actor=None), actor=None).state == RunState.CLOSED
    assert open_run(run=run, actor=None).state == RunState.OPEN


def test_places_follow_the_wish_but_not_below_those_who_entered(run: Run) -> None:
    begin(run.project, "ann")
    complete(begin(run.project, "bob"))
    run = change_places(run=run, actor=None, places=4)
    assert (run.places, run.open_places) == (4, 2)
    with pytest.raises(Invalid):
        change_places(run=run, actor=None, places=1)
