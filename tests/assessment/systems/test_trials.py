"""Trying a system out: who is asked, what is stored, and what a failure says."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.models import User
from assessment.systems.models import Connector, System, Trial, TrialState, TrialTurn
from assessment.systems.selectors.trials import last_checks, present_turns
from assessment.systems.services import trials
from assessment.systems.services.trials import (
    answer_trial,
    close_trial,
    end_trial,
    refresh_trial,
    send_trial_input,
)
from common.refusals import Invalid, Refusal
from dialogues.models import DialogueState
from generation import worker
from projects.models import Project
from tests.assessment.talk import (
    calls_of,
    degraded_system,
    http_system,
    import_dialogues,
    openai_system,
)
from tests.candidate_requests import create_generator

pytestmark = pytest.mark.django_db


def say(system: System, user: User, text: str = "Hello!") -> TrialTurn:
    """One message, answered as a worker does it."""
    turn = send_trial_input(system=system, user=user, turn_id=uuid4(), text=text)
    answer_trial(turn.pk)
    return present_turns(system, user)[-1]


def test_a_message_is_answered_and_timed(talks: Project, mara: User, server: str) -> None:
    system = openai_system(talks, server)
    first, second = say(system, mara), say(system, mara, "And tea?")
    assert first.reply is not None
    assert second.reply is not None
    assert (first.reply.text, second.reply.text) == ("You said: Hello!", "You said: And tea?")
    assert second.latency_ms is not None
    assert calls_of(server, "good")[-1]["body"]["messages"][-3:] == [
        {"role": "user", "content": "Hello!"},
        {"role": "assistant", "content": "You said: Hello!"},
        {"role": "user", "content": "And tea?"},
    ]


def test_a_message_that_comes_again_is_one_message(talks: Project, mara: User, server: str) -> None:
    system, key = openai_system(talks, server), uuid4()
    for _ in range(2):
        send_trial_input(system=system, user=mara, turn_id=key, text="Hello!")
        answer_trial(key)
    assert TrialTurn.objects.get().state == TrialState.REPLIED


def test_a_reply_is_waited_for(talks: Project, mara: User, server: str) -> None:
    system = openai_system(talks, server)
    send_trial_input(system=system, user=mara, turn_id=uuid4(), text="Hello!")
    with pytest.raises(Refusal, match="has not answered"):
        send_trial_input(system=system, user=mara, turn_id=uuid4(), text="Hello?")
    with pytest.raises(Invalid):
        send_trial_input(system=system, user=mara, turn_id=uuid4(), text="  ")


@pytest.mark.parametrize("mode", ["empty", "garbage", "dies", "breaks", "hangs"])
def test_a_failure_says_why_and_is_replaced_by_the_next_message(
    talks: Project, mara: User, server: str, mode: str
) -> None:
    talks.assessment.reply_timeout_seconds = 1 if mode == "hangs" else 10
    talks.assessment.save()
    system = openai_system(talks, server, mode)
    failed = say(system, mara)
    assert (failed.state, bool(failed.error), bool(failed.remedy)) == (TrialState.FAILED, True, True)
    assert last_checks([system])[system.pk] == failed
    System.objects.filter(pk=system.pk).update(options=openai_system(talks, server).options)
    talks.assessment.reply_timeout_seconds = 10
    talks.assessment.save()
    assert say(System.objects.get(pk=system.pk), mara).state == TrialState.REPLIED
    assert len(present_turns(system, mara)) == 1


def test_a_service_keeps_one_conversation_until_a_new_one_is_begun(
    talks: Project, mara: User, server: str
) -> None:
    system = http_system(talks, server, "slow-0.0")
    say(system, mara)
    say(system, mara, "two")
    end_trial(system=system, user=mara)
    trial = Trial.objects.get()
    close_trial(trial.pk)
    assert [call["action"] for call in calls_of(server, "slow-0.0")] == ["init", "next", "next", "end"]
    assert trial.dialogue.state == DialogueState.ABANDONED
    assert present_turns(system, mara) == []
    say(system, mara)
    assert Trial.objects.filter(ended_at=None).count() == 1


def test_a_model_of_this_server_answers_through_its_queue(talks: Project, mara: User) -> None:
    generator = create_generator("replies", replies=["I am MegaBot."])
    system = System.objects.create(
        project=talks, name="MegaBot", connector=Connector.GENERATOR, generator=generator
    )
    for number in (1, 2):
        turn = send_trial_input(system=system, user=mara, turn_id=uuid4(), text=f"Message {number}")
        assert refresh_trial(turn).state == TrialState.WAITING
        worker.drain("worker-1")
        turn = refresh_trial(present_turns(system, mara)[-1])
        assert turn.reply is not None
        assert (turn.number, turn.reply.text) == (number, "I am MegaBot.")
    assert turn.trace["identity_words"] == ["MegaBot"]


def test_a_message_that_the_broker_lost_is_sent_again(
    talks: Project, mara: User, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(trials, "send_task", lambda name, *, args, **_: sent.append(args))
    turn = send_trial_input(system=openai_system(talks, server), user=mara, turn_id=uuid4(), text="Hello!")
    refresh_trial(turn)
    assert sent == []  # it may be on its way
    TrialTurn.objects.update(sent_at=timezone.now() - timedelta(seconds=6))
    for _look in range(3):
        refresh_trial(TrialTurn.objects.get())
    assert sent == [(str(turn.pk),)]


def test_a_message_that_nobody_takes_fails_in_the_end(talks: Project, mara: User, server: str) -> None:
    system = openai_system(talks, server)
    turn = send_trial_input(system=system, user=mara, turn_id=uuid4(), text="Hello!")
    TrialTurn.objects.update(sent_at=timezone.now() - timedelta(minutes=2))
    turn = refresh_trial(present_turns(system, mara)[-1])
    assert (turn.state, turn.error) == (TrialState.FAILED, "No worker took the message in time.")
    answer_trial(turn.pk)  # the message comes after all
    assert present_turns(system, mara)[-1].state == TrialState.FAILED


def test_the_degraded_system_says_what_it_did(talks: Project, mara: User) -> None:
    import_dialogues(talks)
    turn = say(degraded_system(talks), mara)
    assert turn.reply is not None
    assert turn.trace["inserted"] in turn.reply.text
    assert turn.trace["removed"] in turn.trace["source_text"]
