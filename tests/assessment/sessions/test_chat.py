"""A conversation: topic, inputs that are stored once, replies that wait for their time, ratings, the code."""

from typing import Any
from uuid import uuid4

import pytest

from assessment.sessions.models.conversations import Rating, Session, SessionState, Turn
from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.sessions.models.runs import Run
from assessment.sessions.selectors.assignments import (
    Step,
    completion_code,
    current_position,
    return_address,
)
from assessment.sessions.selectors.turns import messages_of, turn_status
from assessment.sessions.services import chat
from assessment.sessions.services.participants import leave
from assessment.sessions.services.ratings import submit_feedback
from common.refusals import Invalid, NotFound, Refusal
from dialogues.models import DialogueState, Origin
from projects.models import Project
from tests.assessment.steps import (
    HALF,
    STATEMENTS,
    answer,
    begin,
    complete,
    converse,
    rate,
    send,
    start,
    talk,
)


@pytest.fixture
def session(anns: Assignment) -> Session:
    return start(anns)


def code_of(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(Refusal) as refused:
        call(*args, **kwargs)
    return refused.value.code


def finish(session: Session) -> Session:
    return chat.finish_chat(participant=session.assignment.participant, session_id=session.pk)


def test_a_chat_becomes_a_dialogue(session: Session) -> None:
    talk(session, 2)
    session.refresh_from_db()
    dialogue = session.dialogue
    assert dialogue is not None
    assert (dialogue.origin, dialogue.state, dialogue.utterance_count) == (
        Origin.CHATTED,
        DialogueState.WRITING,
        4,
    )
    assert list(dialogue.utterances.values_list("position", "speaker", "text")) == [
        (0, "A", "Message 0"),
        (1, "B", "I see."),
        (2, "A", "Message 1"),
        (3, "B", "I see."),
    ]


def test_starting_twice_is_starting_once(anns: Assignment, session: Session) -> None:
    again: dict[str, Any] = {"participant": anns.participant, "session_id": session.pk}
    assert chat.start_session(**again, topic=" cats ", opinion="like").dialogue_id == session.dialogue_id
    assert code_of(chat.start_session, **again, topic="dogs", opinion="like") == "already_started"


@pytest.mark.parametrize(
    "topic, opinion", [("", "like"), ("  ", "like"), ("x" * 501, "like"), ("cats", "love")]
)
def test_a_chat_needs_a_topic_and_an_opinion(anns: Assignment, topic: str, opinion: str) -> None:
    with pytest.raises(Invalid):
        start(anns, topic, opinion)


def test_an_input_sent_twice_is_stored_once(session: Session) -> None:
    key = uuid4()
    first, second = send(session, "Hi", key), send(session, " Hi ", key)
    assert first == second
    assert Turn.objects.count() == 1
    assert code_of(send, session, "Ho", key) == "id_in_use"


def test_the_repeat_of_a_stored_input_is_answered_even_after_the_end(session: Session) -> None:
    key = uuid4()
    turn = send(session, "Hi", key)
    leave(assignment=session.assignment)
    assert send(session, "Hi", key) == turn
    assert code_of(send, session, "Ho") == "assignment_over"


@pytest.mark.parametrize("text", ["", " \n ", "\0", "x" * 2001, "x" * 100_000])
def test_blank_and_endless_inputs_are_refused(session: Session, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        send(session, text)
    assert refused.value.details == {"field": "text"}
    assert not Turn.objects.exists()


def test_the_next_input_waits_for_the_reply(session: Session) -> None:
    turn = send(session)
    assert code_of(send, session) == "reply_pending"
    answer(turn, visible_in=30)
    assert code_of(send, session) == "reply_pending"


def test_a_reply_is_not_handed_out_before_its_time(session: Session) -> None:
    turn = send(session)
    own: dict[str, Any] = {"slug": "study", "token": session.assignment.participant.token, "turn_id": turn.pk}
    assert turn_status(**own).as_json() == {"state": "waiting", "retry_after_ms": 300}
    answer(turn, "Secret", visible_in=60)
    waiting = turn_status(**own).as_json()
    assert waiting["state"] == "waiting"
    assert 30_000 < waiting["retry_after_ms"] <= 60_100
    assert "Secret" not in str(messages_of(session))
    Turn.objects.update(visible_at=turn.sent_at)
    assert turn_status(**own).as_json() == {"state": "replied", "reply": "Secret"}


def test_polling_costs_one_query(session: Session, django_assert_num_queries: Any) -> None:
    turn = send(session)
    token = session.assignment.participant.token
    with django_assert_num_queries(1):
        turn_status(slug="study", token=token, turn_id=turn.pk)


def test_nobody_reads_or_writes_in_anothers_chat(study: Project, session: Session) -> None:
    turn, bob = send(session), begin(study, "bob").participant
    with pytest.raises(NotFound):
        turn_status(slug="study", token=bob.token, turn_id=turn.pk)
    with pytest.raises(NotFound):
        chat.send_input(participant=bob, session_id=session.pk, turn_id=uuid4(), text="Hi", writing={})


def test_each_turn_keeps_the_topic_of_its_time(session: Session) -> None:
    talk(session, 1)
    key = uuid4()
    change: dict[str, Any] = {
        "participant": session.assignment.participant,
        "session_id": session.pk,
        "change_id": key,
    }
    chat.change_topic(**change, topic="dogs", opinion="dislike")
    chat.change_topic(**change, topic="dogs", opinion="dislike")
    talk(session, 1)
    stored = Turn.objects.order_by("number").values_list("topic", "opinion")
    assert list(stored) == [("cats", "like"), ("dogs", "dislike")]
    assert code_of(chat.change_topic, **change, topic="birds", opinion="like") == "id_in_use"


def test_how_it_was_written_is_kept_as_numbers(session: Session) -> None:
    turn = send(session, typing_ms=1234.5, pasted=-3, left_page=True, more="x")
    assert turn.writing == {"typing_ms": 1234, "pasted": 0}


def test_the_statements_open_after_enough_inputs(session: Session) -> None:
    talk(session, 1)
    assert code_of(finish, session) == "too_few_inputs"
    turn = send(session)
    assert code_of(finish, session) == "reply_pending"
    answer(turn)
    assert finish(session).state == finish(session).state == SessionState.RATING
    assert code_of(send, session) == "not_chatting"
    back = chat.return_to_chat(participant=session.assignment.participant, session_id=session.pk)
    assert back.state == SessionState.CHATTING


@pytest.fixture
def finished(session: Session) -> Session:
    talk(session, 2)
    return finish(session)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_needs_an_answer(finished: Session, statement: str) -> None:
    with pytest.raises(Invalid) as refused:
        rate(finished, {name: value for name, value in HALF.items() if name != statement})
    assert refused.value.details == {"field": statement}
    assert not Rating.objects.exists()


@pytest.mark.parametrize("value", [-1, 101, float("nan"), float("inf"), None, True, "50"])
def test_an_answer_is_a_number_from_0_to_100(finished: Session, value: Any) -> None:
    with pytest.raises(Invalid):
        rate(finished, {**HALF, "fun": value})


def test_both_questions_about_the_topic_are_asked(finished: Session) -> None:
    for question, invalid in (("bot_opinion", ""), ("topic_change", "never")):
        with pytest.raises(Invalid):
            rate(finished, values=None, **{question: invalid})


def test_ratings_sent_twice_are_stored_once(finished: Session) -> None:
    assert rate(finished).state == rate(finished).state == SessionState.RATED
    assert Rating.objects.count() == 7
    assert code_of(rate, finished, {**HALF, "fun": 1}) == "already_rated"
    finished.refresh_from_db()
    assert finished.dialogue is not None
    assert finished.dialogue.state == DialogueState.FINISHED


def test_a_conversation_cannot_be_rated_before_its_end(session: Session) -> None:
    assert code_of(rate, session) == "not_rating"


def test_the_code_comes_after_the_feedback(study: Project, anns: Assignment) -> None:
    assert code_of(submit_feedback, assignment=anns, feedback="") == "not_rated"
    done = complete(anns, "Nice.")
    assert submit_feedback(assignment=done, feedback="Other.").feedback == "Nice."
    assert current_position(done).step == Step.COMPLETED
    code = completion_code(done, study.assessment)
    assert code == study.assessment.completion_codes["completed"]
    assert return_address(study.assessment, code) == f"https://panel.example/complete?cc={code}"


def test_outcomes_have_their_own_codes(study: Project, run: Run) -> None:
    codes = {completion_code(Assignment(state=state), study.assessment) for state in AssignmentState}
    assert len(codes - {""}) == 4


def test_a_voided_session_takes_no_message_and_says_why(session: Session) -> None:
    Session.objects.filter(pk=session.pk).update(state=SessionState.VOIDED)
    assert code_of(send, session) == "session_voided"


def test_a_replacement_is_known_as_one(anns: Assignment, session: Session) -> None:
    Session.objects.filter(pk=session.pk).update(state=SessionState.VOIDED)
    Session.objects.create(assignment=anns, system=session.system, place=1, attempt=1)
    position = current_position(anns)
    assert position.is_replacement
    assert (position.step, position.place, position.places) == (Step.TOPIC, 1, 6)


def test_each_conversation_has_its_own_seeds(anns: Assignment) -> None:
    converse(anns)
    converse(anns)
    seeds = Turn.objects.values_list("seed", flat=True)
    assert len(set(seeds)) == len(seeds) == 4
