"""Many at once, with real transactions: the last place, one link on two devices, one input sent twice."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.sessions.models.conversations import Session, Turn
from assessment.sessions.models.participants import Assignment, AssignmentState, Participant
from assessment.sessions.models.runs import Run
from assessment.sessions.services import chat, replies
from assessment.sessions.services.participants import consent, leave
from common.refusals import Refusal
from projects.models import Project
from tests.assessment.steps import add_systems, begin, enter, opened_run, start

pytestmark = pytest.mark.django_db(transaction=True)

CROWD = 8


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "request_reply", lambda turn: None)


@pytest.fixture
def study() -> Project:
    actor = User.objects.create(username="mara")
    project = create_project(slug="study", preset="live-assessment", actor=actor)
    project.assessment.signed_links = False
    project.assessment.save()
    add_systems(project)
    return project


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each call returns or the refusal that it raises; all begin together, each with its own connection."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        barrier.wait(10)
        try:
            return call()
        except Refusal as refusal:
            return refusal.code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_the_last_places_go_to_as_many_as_there_are(study: Project) -> None:
    run = opened_run(study, places=3)
    invited = [enter(study, f"p{n}") for n in range(CROWD)]
    answers = at_once(*(lambda one=one: consent(assignment=one).state for one in invited))
    assert sorted(answers) == ["active"] * 3 + ["run_full"] * (CROWD - 3)
    run.refresh_from_db()
    assert run.open_places == 0
    assert Session.objects.count() == 3 * 6


def test_systems_stay_balanced_when_everybody_comes_at_once(study: Project) -> None:
    study.assessment.ordinary_systems = 1
    study.assessment.save()
    opened_run(study, places=10)
    invited = [enter(study, f"p{n}") for n in range(10)]
    at_once(*(lambda one=one: consent(assignment=one) for one in invited))
    counts = [Session.objects.filter(system__name=name).count() for name in "abcde"]
    assert counts == [2] * 5


def test_a_link_opened_on_two_devices_at_once_is_one_participant(study: Project) -> None:
    run = opened_run(study)
    entered = at_once(*(lambda: enter(study, "ann").pk for _ in range(CROWD)))
    assert len(set(entered)) == Participant.objects.count() == 1
    [assignment] = Assignment.objects.all()
    at_once(*(lambda: consent(assignment=assignment) for _ in range(CROWD)))
    assert assignment.sessions.count() == 6
    run.refresh_from_db()
    assert run.open_places == 9


def test_an_input_sent_twice_at_once_is_stored_once(study: Project) -> None:
    opened_run(study)
    session = start(begin(study, "ann"))
    send = partial(chat.send_input, participant=session.assignment.participant, session_id=session.pk)
    turn_id = uuid4()
    answers = at_once(*(lambda: send(turn_id=turn_id, text="Hi", writing={}).number for _ in range(CROWD)))
    assert answers == [1] * CROWD
    assert Turn.objects.count() == 1


def test_two_devices_do_not_write_two_inputs_at_once(study: Project) -> None:
    opened_run(study)
    session = start(begin(study, "ann"))
    send = partial(chat.send_input, participant=session.assignment.participant, session_id=session.pk)
    answers = at_once(*(lambda: send(turn_id=uuid4(), text="Hi", writing={}).number for _ in range(4)))
    assert sorted(map(str, answers)) == ["1"] + ["reply_pending"] * 3


def test_places_are_exact_when_some_leave_while_others_come(study: Project) -> None:
    run = opened_run(study, places=CROWD)
    active = [begin(study, f"p{n}") for n in range(CROWD // 2)]
    invited = [enter(study, f"q{n}") for n in range(CROWD // 2)]
    at_once(
        *(lambda one=one: leave(assignment=one) for one in active),
        *(lambda one=one: consent(assignment=one) for one in invited),
    )
    held = Assignment.objects.filter(state=AssignmentState.ACTIVE).count()
    assert held == CROWD // 2
    assert Run.objects.get(pk=run.pk).open_places == CROWD - held
