"""Runs are created once, opened with enough systems, closed, and never hold fewer places than have entered."""

from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.models import User
from assessment.sessions.models.runs import Run, RunState
from assessment.sessions.services.runs import change_places, close_run, create_run, open_run
from assessment.systems.models import Connector, System, TrialState, TrialTurn
from assessment.systems.services.trials import fail_trial, send_trial_input
from common.refusals import Invalid, Refusal
from generation.protocol import BackendError
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


def check_system(system: System, user: User) -> TrialTurn:
    """Somebody tries the system out, and it answers."""
    turn = send_trial_input(system=system, user=user, turn_id=uuid4(), text="Hello!")
    TrialTurn.objects.filter(pk=turn.pk).update(state=TrialState.REPLIED, ended_at=timezone.now())
    return turn


def new_run(study: Project) -> Run:
    return create_run(project=study, actor=None, creation_id=uuid4(), places=3, topic_mode="free")


def test_a_run_opens_when_every_system_has_answered_a_check(study: Project, mara: User) -> None:
    systems = list(System.objects.filter(project=study, retired_at=None).order_by("name"))
    for system in systems[1:]:
        check_system(system, mara)
    run = new_run(study)
    with pytest.raises(Refusal, match="never checked: a\\.") as refused:
        open_run(run=run, actor=mara)
    assert refused.value.code == "unproven_systems"
    assert refused.value.details == {"systems": ["a"]}
    check_system(systems[0], mara)
    assert open_run(run=run, actor=mara).state == RunState.OPEN


def test_a_failed_check_is_accepted_on_purpose_only(study: Project, mara: User) -> None:
    for system in System.objects.filter(project=study):
        check_system(system, mara)
    failed = send_trial_input(
        system=System.objects.get(name="a"), user=mara, turn_id=uuid4(), text="Are you there?"
    )
    fail_trial(failed, BackendError("It is away.", "Start it."))
    run = new_run(study)
    with pytest.raises(Refusal, match="failed its last check"):
        open_run(run=run, actor=mara)
    assert open_run(run=run, actor=mara, accepts_unproven=True).state == RunState.OPEN


def test_a_system_that_answered_participants_needs_no_check(run: Run, mara: User) -> None:
    complete(begin(run.project, "ann"))
    close_run(run=run, actor=mara)
    assert open_run(run=run, actor=mara).state == RunState.OPEN


def test_opening_and_closing_twice_change_nothing(run: Run) -> None:
    assert open_run(run=run, actor=None).state == RunState.OPEN
    assert close_run(run=close_run(run=run, actor=None), actor=None).state == RunState.CLOSED
    assert open_run(run=run, actor=None, accepts_unproven=True).state == RunState.OPEN


def test_places_follow_the_wish_but_not_below_those_who_entered(run: Run) -> None:
    begin(run.project, "ann")
    complete(begin(run.project, "bob"))
    run = change_places(run=run, actor=None, places=4)
    assert (run.places, run.open_places) == (4, 2)
    with pytest.raises(Invalid):
        change_places(run=run, actor=None, places=1)
