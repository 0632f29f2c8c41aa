"""Threads: who may ask and read, their states, and no names for annotators."""

from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.onboarding.models import Thread, ThreadState
from annotation.onboarding.selectors.threads import (
    count_open_threads,
    count_unread_answers,
    faq_entries,
    messages_by_thread,
    sees_thread_names,
    visible_threads,
)
from annotation.onboarding.serializers import serialize_threads
from annotation.onboarding.services.threads import (
    MAX_TEXT,
    ask_question,
    mark_seen,
    reply_to_thread,
    show_in_guidelines,
)
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from projects.models import Project, Role
from tests.annotation.conftest import Joins


@pytest.fixture
def question(anna: User, quality: Project) -> Thread:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    return ask_question(
        asker=anna, project=quality, dialogue_id=held.dialogue_id, thread_id=uuid4(), text="Is this a 1?"
    )


def reply(author: User, thread: Thread, kind: str, text: str = "Yes.", **more: bool) -> Thread:
    return reply_to_thread(
        author=author, thread_id=thread.pk, message_id=uuid4(), kind=kind, text=text, **more
    )


def test_a_question_is_answered_decided_and_reopened(anna: User, tina: User, question: Thread) -> None:
    assert reply(tina, question, "answer").state == ThreadState.ANSWERED
    assert reply(tina, question, "decision").state == ThreadState.DECIDED
    assert reply(anna, question, "question", "And 2?").state == ThreadState.OPEN


def test_a_message_is_stored_once(tina: User, question: Thread) -> None:
    id_ = uuid4()
    for _send in range(2):
        reply_to_thread(author=tina, thread_id=question.pk, message_id=id_, kind="answer", text="Yes.")
    assert question.messages.count() == 2
    ask_question(
        asker=question.asker,
        project=question.project,
        dialogue_id=question.dialogue_id,
        thread_id=question.pk,
        text="Is this a 1?",
    )
    assert Thread.objects.count() == 1


def test_an_id_belongs_to_one_message(tina: User, question: Thread) -> None:
    sent: dict[str, Any] = {"thread_id": question.pk, "message_id": uuid4(), "kind": "answer", "text": "Yes."}
    reply_to_thread(author=tina, **sent)
    for other in ({"text": "No."}, {"kind": "decision"}):
        with pytest.raises(Refusal) as refused:
            reply_to_thread(author=tina, **(sent | other))
        assert refused.value.code == "id_in_use"


def test_an_id_belongs_to_one_thread(anna: User, tina: User, question: Thread, quality: Project) -> None:
    sent: dict[str, Any] = {
        "dialogue_id": question.dialogue_id,
        "thread_id": question.pk,
        "text": "Is this a 1?",
    }
    for asker, other in ((anna, {"text": "Is this a 2?"}), (anna, {"position": 1}), (tina, {})):
        with pytest.raises(Refusal) as refused:
            ask_question(asker=asker, project=quality, **(sent | other))
        assert refused.value.code == "id_in_use"


def test_annotators_do_not_decide(anna: User, question: Thread) -> None:
    with pytest.raises(Refusal, match="Only trainers decide"):
        reply(anna, question, "decision")


def test_bela_sees_no_threads_on_a_dialogue_that_she_does_not_hold(
    bela: User, quality: Project, question: Thread
) -> None:
    assert not visible_threads(bela, quality).exists()
    with pytest.raises(Refusal) as refused:
        reply(bela, question, "answer")
    assert refused.value.status == 404


def test_annotators_read_roles_and_trainers_read_names(
    anna: User, bela: User, tina: User, quality: Project, question: Thread
) -> None:
    claim_next_task(annotator=bela, project=quality, claim_id=uuid4())
    reply(tina, question, "answer")
    threads = list(visible_threads(bela, quality))
    assert [message.by for message in messages_by_thread(bela, threads, names=False)[question.pk]] == [
        "Annotator",
        "Trainer",
    ]
    assert [message.by for message in messages_by_thread(anna, threads, names=False)[question.pk]] == [
        "You",
        "Trainer",
    ]
    assert [message.by for message in messages_by_thread(tina, threads, names=True)[question.pk]] == [
        "anna",
        "You",
    ]


def test_new_messages_are_counted_until_they_are_read(
    anna: User, tina: User, quality: Project, question: Thread
) -> None:
    assert (count_open_threads(quality), count_unread_answers(anna, quality)) == (1, 0)
    reply(tina, question, "answer")
    assert (count_open_threads(quality), count_unread_answers(anna, quality)) == (0, 1)
    mark_seen(user=anna, threads=[question])
    assert count_unread_answers(anna, quality) == 0


def test_a_trainer_shows_a_decision_in_the_guidelines(tina: User, quality: Project, question: Thread) -> None:
    reply(tina, question, "decision", "It is a 1.")
    assert faq_entries(quality) == []
    show_in_guidelines(trainer=tina, thread_id=question.pk, faq=True)
    assert [(entry["question"], entry["decision"]) for entry in faq_entries(quality)] == [
        ("Is this a 1?", "It is a 1.")
    ]


@pytest.mark.parametrize("text", ["", "  \n", "\0", "x" * (MAX_TEXT + 1)])
def test_bad_text_is_refused(tina: User, question: Thread, text: str) -> None:
    with pytest.raises(Refusal) as refused:
        reply(tina, question, "answer", text)
    assert refused.value.details["field"] == "text"


def test_an_unknown_utterance_is_refused(tina: User, question: Thread, quality: Project) -> None:
    with pytest.raises(Refusal, match="no utterance 10"):
        ask_question(
            asker=tina,
            project=quality,
            dialogue_id=question.dialogue_id,
            thread_id=uuid4(),
            text="Why?",
            position=9,
        )


def test_controllers_read_threads_without_names(joins: Joins, anna: User, question: Thread) -> None:
    carla = joins("carla", question.project, Role.CONTROLLER)
    assert list(visible_threads(carla, question.project)) == [question]
    assert not sees_thread_names(carla, question.project)
    (shown,) = serialize_threads(carla, question.project, [question])
    assert [message["by"] for message in shown["messages"]] == ["Annotator"]
