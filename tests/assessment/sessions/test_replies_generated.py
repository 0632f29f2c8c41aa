"""Replies of models of this server, through the generation's queue."""

from datetime import timedelta

import pytest
from django.utils import timezone

from assessment.sessions.models.conversations import SessionState, Turn, TurnState
from assessment.sessions.services import recovery, replies
from assessment.systems.models import Connector, System
from generation import worker
from generation.models import CandidateRequest, RequestState
from projects.models import Project
from tests.assessment.steps import send, start
from tests.assessment.talk import begin_with, degraded_system, fresh, openai_system
from tests.candidate_requests import create_generator

pytestmark = pytest.mark.django_db


@pytest.fixture
def scripted(talks: Project) -> System:
    degraded_system(talks)
    generator = create_generator("replies", replies=["I am MegaBot."])
    return System.objects.create(
        project=talks,
        name="MegaBot",
        connector=Connector.GENERATOR,
        generator=generator,
        persona=["I have a dog."],
    )


def ask(system: System) -> Turn:
    turn = send(start(begin_with(system.project, system)))
    replies.request_reply(turn)
    return fresh(turn)


def test_the_queue_answers_and_the_turn_gets_the_reply(scripted: System) -> None:
    turn = ask(scripted)
    assert turn.request is not None
    assert (turn.state, turn.request.count, turn.request.persona) == (TurnState.CALLING, 1, ["I have a dog."])
    worker.drain("worker-1")
    turn = fresh(turn)
    assert turn.reply is not None
    assert (turn.state, turn.reply.text) == (TurnState.REPLIED, "I am MegaBot.")
    assert turn.trace["identity_words"] == ["MegaBot"]


def test_requested_twice_is_asked_once(scripted: System) -> None:
    turn = ask(scripted)
    replies.request_reply(turn)
    assert CandidateRequest.objects.count() == 1


def test_a_worker_killed_before_it_passed_the_answer_on_loses_nothing(
    scripted: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = ask(scripted)
    monkeypatch.setattr(worker, "AFTER_ANSWER", [])
    worker.drain("worker-1")
    assert fresh(turn).state == TurnState.CALLING
    assert recovery.take_over_lost_turns() == 1
    assert fresh(turn).state == TurnState.REPLIED


def test_a_model_that_fails_is_asked_again_and_then_replaced(scripted: System, server: str) -> None:
    scripted.project.assessment.reply_retries = 1
    scripted.project.assessment.save()
    openai_system(scripted.project, server)
    generator = create_generator("replies", unavailable=True)
    assert generator == scripted.generator
    turn = ask(scripted)
    for _ in range(2):
        CandidateRequest.objects.update(state=RequestState.FAILED, error="The model fails.")
        recovery.recover(turn.pk)
        Turn.objects.update(not_before=None)
        replies.request_reply(fresh(turn))
    assert CandidateRequest.objects.count() == 2
    assert fresh(turn).session.state == SessionState.VOIDED


def test_a_model_that_nobody_runs_is_given_up_after_its_time(scripted: System) -> None:
    turn = ask(scripted)
    Turn.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    recovery.recover(turn.pk)
    turn = fresh(turn)
    assert (turn.state, turn.attempts) == (TurnState.WAITING, 1)
    assert "No worker of the queue gpu" in turn.error
    assert CandidateRequest.objects.get().state == RequestState.CANCELLED
