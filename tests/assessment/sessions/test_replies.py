"""Replies of real servers: what is asked, what is stored, when the participant sees it."""

import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from assessment.sessions.models.conversations import SessionState, Turn, TurnState
from assessment.sessions.models.participants import AssignmentState
from assessment.sessions.selectors.turns import turn_status
from assessment.sessions.services import calls, closing, recovery
from assessment.sessions.services.calls import claim_turn
from assessment.sessions.services.failures import handle_failure, void_session
from assessment.sessions.services.replies import store_reply
from assessment.systems.connectors.degraded import DegradedConnector
from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from assessment.systems.models import System
from dialogues.models import DialogueState
from generation.protocol import BackendError, Message
from projects.models import Project
from tests.assessment.steps import current_session, send, start
from tests.assessment.talk import (
    begin_with,
    calls_of,
    degraded_system,
    fetch,
    fresh,
    http_system,
    import_dialogues,
    openai_system,
)

pytestmark = pytest.mark.django_db
REAL = pytest.mark.django_db(transaction=True)


def ask(project: Project, *systems: System, text: str = "Do you like tea?") -> Turn:
    """The first turn of a conversation with the first of these systems."""
    # The project needs a system of each kind before a run opens.
    if not System.objects.filter(project=project, connector="degraded").exists():
        degraded_system(project)
    return send(start(begin_with(project, *systems)), text)


def due(turn: Turn) -> Turn:
    """The turn, as if its pause were over."""
    Turn.objects.filter(pk=turn.pk).update(not_before=None)
    return turn


def status(turn: Turn) -> str:
    token: UUID = turn.session.assignment.participant.token
    return turn_status(slug="talks", token=token, turn_id=turn.pk).state


def test_an_openai_server_gets_prompt_persona_and_conversation(talks: Project, server: str) -> None:
    options = {"base_url": f"{server}/good/v1", "model": "m", "system_prompt": "Be kind."}
    system = openai_system(talks, server, options=options, persona=["I have a dog."], sampling={"top_k": 3})
    turn = ask(talks, system, text="first words")
    assert fetch(turn).state == TurnState.REPLIED
    fetch(send(current_session(turn.session.assignment), "second words"))
    (body,) = [
        call["body"]
        for call in calls_of(server, "good")
        if call["body"]["messages"][-1]["content"] == "second words"
    ]
    assert body["messages"] == [
        {"role": "system", "content": "Be kind.\nYour persona:\nI have a dog."},
        {"role": "user", "content": "first words"},
        {"role": "assistant", "content": "You said: first words"},
        {"role": "user", "content": "second words"},
    ]
    assert (body["top_k"], body["model"]) == (3, "m")


def test_a_service_is_opened_once_and_asked_turn_by_turn(talks: Project, server: str) -> None:
    turn = ask(talks, http_system(talks, server, "slow-0", persona=["I have a dog."]), text="one")
    fetch(turn)
    fetch(send(current_session(turn.session.assignment), "two"))
    made = calls_of(server, "slow-0")
    assert [call["action"] for call in made] == ["init", "next", "next"]
    assert made[0]["body"]["persona"] == ["I have a dog."]
    assert [(call["body"]["text"], call["body"]["turn"]) for call in made[1:]] == [("one", 1), ("two", 2)]
    assert len({call["body"]["session_id"] for call in made[1:]}) == 1


def test_a_service_learns_once_that_a_conversation_is_over(talks: Project, server: str) -> None:
    turn = fetch(ask(talks, http_system(talks, server, "slow-0.00")))
    assert closing.close_ended_conversations() == 0
    void_session(session=turn.session, reason="The participant left.")
    assert [closing.close_ended_conversations() for _ in range(2)] == [1, 0]
    assert [call["action"] for call in calls_of(server, "slow-0.00")] == ["init", "next", "end"]


def test_the_reply_is_stored_once_with_what_it_took(talks: Project, server: str) -> None:
    turn = fetch(ask(talks, openai_system(talks, server)))
    assert turn.reply is not None
    assert (turn.reply.text, turn.reply.position, turn.reply.speaker) == (
        "You said: Do you like tea?",
        1,
        "B",
    )
    assert turn.session.dialogue is not None
    assert turn.session.dialogue.utterance_count == 2
    assert turn.latency_ms is not None
    assert fetch(turn, "worker-2").reply == turn.reply
    assert turn.session.dialogue.utterances.count() == 2


def test_every_system_takes_the_same_time(talks: Project, server: str) -> None:
    settings = talks.assessment
    settings.delay_ms, settings.delay_per_character_ms = 5000, 100
    settings.save()
    turn = fetch(ask(talks, openai_system(talks, server)))
    assert turn.visible_at is not None
    assert turn.reply is not None
    assert turn.visible_at - turn.sent_at == timedelta(milliseconds=5000 + 100 * len(turn.reply.text))
    assert status(turn) == "waiting"


def test_a_reply_that_names_the_system_is_kept_and_flagged(talks: Project, server: str) -> None:
    system = openai_system(talks, server, "leaks", identity_words=["mega corp", "egab"])
    turn = fetch(ask(talks, system))
    assert turn.state == TurnState.REPLIED
    assert turn.trace["identity_words"] == ["mega corp", "MegaBot"]


@pytest.mark.parametrize("mode", ["empty", "long", "garbage", "number", "dies", "breaks", "hangs"])
@pytest.mark.parametrize("kind", [openai_system, http_system])
def test_a_failing_system_is_asked_again_and_then_replaced(
    talks: Project, server: str, mode: str, kind: type
) -> None:
    talks.assessment.reply_retries = 1
    talks.assessment.reply_timeout_seconds = 1 if mode == "hangs" else 10
    talks.assessment.save()
    good = openai_system(talks, server)
    turn = ask(talks, kind(talks, server, mode))
    begun = timezone.now()
    first = fetch(turn)
    assert (first.state, first.attempts) == (TurnState.WAITING, 1)
    assert first.error
    assert first.not_before is not None
    assert first.not_before > begun + timedelta(seconds=0.5)  # the pause is a second
    assert fetch(due(turn)).state == TurnState.FAILED
    session = fresh(turn).session
    assert session.state == SessionState.VOIDED
    assert session.dialogue is not None
    assert session.dialogue.state == DialogueState.ABANDONED
    assert session.dialogue.utterances.get().text == "Do you like tea?"
    replacement = current_session(session.assignment)
    assert (replacement.place, replacement.attempt, replacement.system) == (1, 1, good)
    assert (replacement.topic, replacement.state) == (session.topic, SessionState.TOPIC)
    assert status(turn) == "voided"


def test_a_service_that_forgot_the_conversation_has_failed(talks: Project, server: str) -> None:
    talks.assessment.reply_retries = 0
    talks.assessment.save()
    turn = fetch(ask(talks, http_system(talks, server, "forgets")))
    assert (turn.state, turn.attempts) == (TurnState.FAILED, 1)
    assert "forgot the conversation" in turn.session.void_reason


def test_a_system_that_recovers_in_time_goes_on(talks: Project, server: str) -> None:
    turn = ask(talks, openai_system(talks, server, "recovers-2"))
    fetch(turn)
    fetch(due(turn))
    turn = fetch(due(turn))
    assert (turn.state, turn.attempts, turn.session.state) == (TurnState.REPLIED, 3, SessionState.CHATTING)


def test_the_same_system_comes_back_if_it_answered_somebody_since(talks: Project, server: str) -> None:
    system, other = openai_system(talks, server), openai_system(talks, server, "leaks")
    bob = ask(talks, system)
    ann = send(start(begin_with(talks, system, name="anna")))
    failing = claim_turn(bob.pk, "worker-1")
    assert failing is not None
    fetch(ann)
    handle_failure(turn=failing, error=BackendError("Too busy.", "Wait."), is_final=True)
    assert current_session(bob.session.assignment).system == system
    failing = claim_turn(send(start(bob.session.assignment)).pk, "worker-1")
    assert failing is not None
    handle_failure(turn=failing, error=BackendError("Too busy.", "Wait."), is_final=True)
    assert current_session(bob.session.assignment).system == other


def test_all_systems_dead_ends_the_assignment_and_reopens_its_place(talks: Project, server: str) -> None:
    talks.assessment.reply_retries = 0
    talks.assessment.save()
    turn = ask(talks, openai_system(talks, server, "breaks"), openai_system(talks, server, "garbage"))
    assignment = turn.session.assignment
    before = assignment.run.open_places
    while True:
        fetch(turn)
        assignment.refresh_from_db()
        if assignment.state != AssignmentState.ACTIVE:
            break
        assert assignment.sessions.count() < 10
        turn = send(start(assignment))
    assert assignment.state == AssignmentState.SYSTEM_FAILURE
    assignment.run.refresh_from_db()
    assert assignment.run.open_places == before + 1
    assert status(turn) in ("voided", "ended")


def test_a_degraded_system_replies_from_its_corpus_and_says_how(talks: Project, server: str) -> None:
    openai_system(talks, server)
    import_dialogues(talks)
    turn = fetch(ask(talks, degraded_system(talks)))
    assert turn.reply is not None
    trace = turn.trace
    words, source = turn.reply.text.split(), trace["source_text"].split()
    changed = [n for n in range(10) if words[n] != source[n]]
    assert changed == list(range(trace["start"], trace["start"] + 4))
    assert trace["inserted"].split() == [words[n] for n in changed]
    assert len({trace["source_dialogue"], trace["donor_dialogue"], turn.session.dialogue_id}) == 3


@pytest.mark.parametrize(
    ("text", "is_chinese"), [("Hello, do you like cats?", False), ("你喜欢猫吗？", True)]
)
def test_a_degraded_system_replies_in_the_language_of_the_conversation(
    talks: Project, text: str, is_chinese: bool
) -> None:
    for dialogue in import_dialogues(talks, 12)[::2]:
        dialogue.utterances.update(text="我从来没有见过这样的大海，真想去看看")
    conversation = Conversation(dialogue_id=0)
    for seed in range(20):
        context = (Message("A", text),)
        reply = DegradedConnector(talks.pk).reply(Question(conversation, context, seed, deadline=0.0))
        assert bool(re.search("[\u4e00-\u9fff]", reply.text)) == is_chinese
        assert bool(re.search("[a-z]", reply.text)) != is_chinese


def test_a_corpus_that_is_gone_ends_the_assignment(talks: Project, server: str) -> None:
    talks.assessment.reply_retries = 0
    talks.assessment.save()
    openai_system(talks, server)
    turn = fetch(ask(talks, degraded_system(talks)))
    assert turn.state == TurnState.FAILED
    assert turn.session.assignment.state == AssignmentState.SYSTEM_FAILURE


# ---- lost workers ----------------------------------------------------------------------------------------------------


def lapse(turn: Turn) -> None:
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_a_turn_is_claimed_once(talks: Project, server: str) -> None:
    turn = ask(talks, openai_system(talks, server))
    assert claim_turn(turn.pk, "worker-1") is not None
    assert claim_turn(turn.pk, "worker-2") is None


def test_a_lost_workers_turn_is_taken_over_and_its_late_reply_is_ignored(talks: Project, server: str) -> None:
    turn = ask(talks, openai_system(talks, server))
    slow = claim_turn(turn.pk, "worker-1")
    assert slow is not None
    lapse(turn)
    assert recovery.take_over_lost_turns() == 1
    assert fresh(turn).state == TurnState.WAITING
    taken = fetch(turn, "worker-2")
    assert (taken.state, taken.attempts, taken.losses) == (TurnState.REPLIED, 2, 1)
    assert not store_reply(turn=slow, reply=SystemReply("Too late."))
    assert taken.session.dialogue is not None
    assert taken.session.dialogue.utterances.count() == 2


def test_a_turn_whose_lease_is_kept_is_left_alone(talks: Project, server: str) -> None:
    turn = ask(talks, openai_system(talks, server))
    claim_turn(turn.pk, "worker-1")
    assert recovery.take_over_lost_turns() == 0
    recovery.recover(turn.pk)
    assert fresh(turn).state == TurnState.CALLING


def test_a_worker_lost_again_and_again_voids_the_session(talks: Project, server: str) -> None:
    turn = ask(talks, openai_system(talks, server))
    for _ in range(recovery.MAX_LOSSES + 1):
        assert claim_turn(turn.pk, "worker-1") is not None
        lapse(turn)
        recovery.recover(turn.pk)
    assert fresh(turn).state == TurnState.FAILED
    assert fresh(turn).session.state == SessionState.VOIDED


def test_a_turn_that_no_worker_takes_ends_after_all_its_time(talks: Project, server: str) -> None:
    turn = ask(talks, openai_system(talks, server))
    Turn.objects.filter(pk=turn.pk).update(sent_at=timezone.now() - timedelta(seconds=20))
    assert recovery.take_over_lost_turns() == 1
    assert fresh(turn).state == TurnState.WAITING  # its message was lost; another one is sent
    Turn.objects.filter(pk=turn.pk).update(sent_at=timezone.now() - timedelta(minutes=2))
    recovery.recover(turn.pk)
    assert fresh(turn).session.state == SessionState.VOIDED


@REAL
def test_no_connection_is_held_while_the_system_is_asked(
    talks: Project, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import connection

    held = []

    def ask_it(*_: object) -> SystemReply:
        held.append(connection.connection is not None)
        return SystemReply("Yes.")

    monkeypatch.setattr(calls, "ask", ask_it)
    assert fetch(ask(talks, openai_system(talks, server))).state == TurnState.REPLIED
    assert held == [False]
