"""What can go wrong in a participant's hands: a clear answer each time, nobody stuck, nothing lost."""

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from accounts.models import User
from assessment.sessions.models.conversations import Rating, Session, SessionState, Turn
from assessment.sessions.models.participants import Assignment, AssignmentState, Participant
from assessment.sessions.models.runs import Run
from assessment.sessions.services import replies
from assessment.sessions.services.expiry import reap_expired_assignments
from assessment.sessions.services.links import link_query
from assessment.systems.models import System
from projects.models import Project
from tests.assessment import steps

LINK = "/join/study/?PROLIFIC_PID=ann&STUDY_ID=s1&SESSION_ID=x1"
CHAT_ABOUT_CATS = ">cats</strong>"
ASKED_FOR_A_TOPIC = "What do you want to talk about?"
ASKED_FOR_RATINGS = "How much do you agree?"
LONGEST_WAIT = timedelta(hours=3)


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "request_reply", lambda turn: None)


@pytest.fixture
def ann(run: Run) -> Client:
    """Ann's browser; she has consented."""
    browser = open_link(LINK)
    browser.post("/join/study/consent/")
    return browser


def open_link(address: str) -> Client:
    browser = Client()
    browser.get(address)
    return browser


def page(browser: Client, address: str = "/join/study/") -> str:
    return browser.get(address, follow=True).content.decode()


def current(browser: Client) -> Session:
    return steps.current_session(Assignment.objects.get())


def start(browser: Client, topic: str = "cats", opinion: str = "like") -> HttpResponse:
    sent = {"session": current(browser).pk, "topic": topic, "opinion": opinion}
    return browser.post("/join/study/start/", sent, follow=True)  # type: ignore[return-value]


def send(browser: Client, text: Any, **more: Any) -> Any:
    body = {"id": str(uuid4()), "session": current(browser).pk, "text": text, "writing": {}, **more}
    return post_json(browser, "turns/", body)


def post_json(browser: Client, address: str, body: Any) -> Any:
    content = body if isinstance(body, str) else json.dumps(body)
    return browser.post(
        f"/join/study/{address}",
        content,
        content_type="application/json",
        headers={"Accept": "application/json"},
    )


def chat(browser: Client) -> Session:
    """One whole conversation, up to its statements."""
    start(browser)
    session = current(browser)
    steps.talk(session, 2)
    browser.post("/join/study/finish/", {"session": session.pk})
    return session


def rate(browser: Client, session: Session, **changes: Any) -> str:
    values = {f"statement_{name}": "50" for name in steps.STATEMENTS}
    sent = {"session": session.pk, "bot_opinion": "like", "topic_change": "none", **values, **changes}
    return browser.post("/join/study/ratings/", sent, follow=True).content.decode()


def test_the_link_opened_twice_is_one_participant(ann: Client) -> None:
    start(ann)
    assert CHAT_ABOUT_CATS in page(ann, LINK)
    assert CHAT_ABOUT_CATS in page(open_link(LINK))  # on another device
    assert Participant.objects.count() == Assignment.objects.count() == 1


def test_the_link_after_the_end_shows_the_code_again(study: Project, run: Run, ann: Client) -> None:
    study.assessment.completion_codes = {"completed": "DONE1"}
    study.assessment.save()
    for _n in range(6):
        rate(ann, chat(ann))
    ann.post("/join/study/feedback/", {"feedback": "Fine."})
    for browser in (ann, open_link(LINK)):
        assert "DONE1" in page(browser)
        assert "https://panel.example/complete?cc=DONE1" in page(browser)
    late = ann.post("/join/study/feedback/", {"feedback": "Something else"}, follow=True)
    assert "DONE1" in late.content.decode()
    assert Assignment.objects.get().feedback == "Fine."


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("?PROLIFIC_PID=", "This link is incomplete"),
        ("?STUDY_ID=s1", "This link is incomplete"),
        ("?PROLIFIC_PID=" + "a" * 201, "This link was changed"),
        ("?PROLIFIC_PID=a%00b", "a character that no name can have"),
        ("?PROLIFIC_PID=bob&key=made-up", "This link was changed"),
        ("?PROLIFIC_PID=bob&run=99", "This study is not open"),
        ("?PROLIFIC_PID=bob&run=1%27--", "Before you begin"),
    ],
)
def test_changed_parameters(run: Run, query: str, says: str) -> None:
    assert says in page(Client(), f"/join/study/{query}")


def test_a_signed_link_with_another_name_is_refused(study: Project, run: Run) -> None:
    study.assessment.signed_links = True
    study.assessment.save()
    query = link_query(study.assessment, run.number, {"participant": "ann"})
    assert "Before you begin" in page(Client(), f"/join/study/?{query}")
    assert "This link was changed" in page(Client(), f"/join/study/?{query.replace('ann', 'bob')}")
    assert "This link is not signed" in page(Client(), LINK)


def test_a_browser_without_a_link_learns_what_to_do(run: Run) -> None:
    assert "Open the complete link that you were sent" in page(Client())
    assert "There is no study at this address" in page(Client(), "/join/nothing/")
    assert post_json(Client(), "turns/", {}).json()["code"] == "not_found"


def test_a_made_up_cookie_is_nobody(ann: Client) -> None:
    ann.cookies["lapidary_participant"] = "made:up:cookie"
    assert "This browser does not know who you are yet" in page(ann)


@pytest.mark.parametrize("text", ["", " \n ", "\0", "x" * 100_000, 7, None, ["a"], "\ud800"])
def test_an_impossible_message_is_refused_and_the_chat_goes_on(ann: Client, text: Any) -> None:
    start(ann)
    refused = send(ann, text)
    assert refused.status_code == 400
    assert refused.json()["detail"]
    assert send(ann, "Hello").status_code == 201
    assert Turn.objects.count() == 1


@pytest.mark.parametrize(
    "body", ["", "[]", "{", "{}", '{"id": 1}', '{"id": "no", "session": -1, "text": "a"}']
)
def test_broken_json_is_refused(ann: Client, body: str) -> None:
    start(ann)
    for address in ("turns/", "topic/"):
        assert post_json(ann, address, body).status_code == 400


@pytest.mark.parametrize(
    "writing", [None, [], {"typing_ms": 1e300, "pasted": -1, "left_page": "x", "more": {}}]
)
def test_a_nonsense_log_loses_no_message(ann: Client, writing: Any) -> None:
    start(ann)
    assert send(ann, "Hello", writing=writing).status_code == 201


@pytest.mark.parametrize("topic", ["", "   ", "\0", "x" * 501])
def test_an_impossible_topic_is_refused_with_a_reason(ann: Client, topic: str) -> None:
    assert b'class="alert' in start(ann, topic).content
    assert CHAT_ABOUT_CATS in start(ann).content.decode()


@pytest.mark.parametrize("session", ["", "0", "x", "-1", "9" * 30, "１"])
def test_a_made_up_conversation_leads_back_to_the_own_one(ann: Client, session: str) -> None:
    for action in ("start", "finish", "back", "ratings"):
        answer = ann.post(f"/join/study/{action}/", {"session": session}, follow=True)
        assert answer.status_code in (200, 404)
    assert ASKED_FOR_A_TOPIC in page(ann)


def test_a_slider_that_was_never_moved_is_asked_for(ann: Client) -> None:
    session = chat(ann)
    for changes in ({"statement_fun": ""}, {"statement_fun": "NaN"}, {"statement_fun": "101"}):
        assert ASKED_FOR_RATINGS in rate(ann, session, **changes)
    assert not Rating.objects.exists()
    assert ASKED_FOR_A_TOPIC in rate(ann, session)


def test_ratings_sent_again_after_going_back_in_the_browser(ann: Client) -> None:
    session = chat(ann)
    rate(ann, session)
    assert "You have already rated this conversation" in rate(ann, session, statement_fun="7")
    assert set(Rating.objects.filter(session=session).values_list("value", flat=True)) == {50}
    assert ASKED_FOR_A_TOPIC in page(ann)


def test_ann_leaves_in_the_third_session_and_finds_everything_after_three_hours(
    run: Run, ann: Client
) -> None:
    for _n in range(2):
        rate(ann, chat(ann))
    start(ann, "the third topic")
    send(ann, "Half a conversation")
    Assignment.objects.update(expires_at=timezone.now() - LONGEST_WAIT)
    reap_expired_assignments()
    run.refresh_from_db()
    assert run.open_places == 10
    assert send_to_the_ended(ann).json()["code"] == "assignment_over"
    assert "Your time ran out" in page(ann)
    resumed = ann.post("/join/study/resume/", follow=True).content.decode()
    assert "Half a conversation" in resumed
    assert "the third topic" in resumed
    assert Session.objects.filter(state=SessionState.RATED).count() == 2


def send_to_the_ended(browser: Client) -> Any:
    session = Session.objects.get(state=SessionState.CHATTING)
    body = {"id": str(uuid4()), "session": session.pk, "text": "Late", "writing": {}}
    return post_json(browser, "turns/", body)


def test_a_participant_whose_place_was_given_away_reads_so(study: Project, run: Run, ann: Client) -> None:
    Run.objects.update(places=1, open_places=0)
    Assignment.objects.update(expires_at=timezone.now() - LONGEST_WAIT)
    reap_expired_assignments()
    steps.begin(study, "bob")
    assert "your place was given to somebody else" in page(ann)
    assert (
        "All places of this study are taken" in ann.post("/join/study/resume/", follow=True).content.decode()
    )


def test_a_system_removed_before_its_conversation_is_replaced_unseen(ann: Client) -> None:
    removed = current(ann).system
    System.objects.filter(pk=removed.pk).update(retired_at=timezone.now(), name="removed")
    if removed.is_degraded:  # by chance, one time in six
        steps.add_systems(removed.project, 0)
    assert CHAT_ABOUT_CATS in start(ann).content.decode()
    assert current(ann).system != removed


def test_a_chat_goes_on_with_a_system_that_was_removed(ann: Client) -> None:
    start(ann)
    System.objects.filter(pk=current(ann).system_id).update(retired_at=timezone.now())
    assert send(ann, "Still there?").status_code == 201


def test_a_participant_keeps_a_system_that_was_removed_with_all_others(run: Run, ann: Client) -> None:
    System.objects.update(retired_at=timezone.now())
    start(ann)
    assert Session.objects.filter(state=SessionState.CHATTING).exists()
    assert Assignment.objects.get().state == AssignmentState.ACTIVE


def test_other_participants_sessions_are_out_of_reach(study: Project, ann: Client) -> None:
    bobs = steps.start(steps.begin(study, "bob"))
    turn = steps.send(bobs, "Bob's words")
    body = {"id": str(uuid4()), "session": bobs.pk, "text": "Mine", "writing": {}}
    assert post_json(ann, "turns/", body).status_code == 404
    assert ann.get(f"/join/study/turns/{turn.pk}/").status_code == 404


def test_a_closed_study_takes_nobody_but_those_inside_finish(
    study: Project, run: Run, ann: Client, mara: User
) -> None:
    Run.objects.update(state="closed")
    assert "This study is not open" in page(
        open_link("/join/study/?PROLIFIC_PID=bob"), "/join/study/?PROLIFIC_PID=bob"
    )
    assert CHAT_ABOUT_CATS in start(ann).content.decode()


def test_a_participant_who_leaves_reads_so_and_cannot_come_back_by_accident(run: Run, ann: Client) -> None:
    start(ann)
    assert "You have left the study" in ann.post("/join/study/leave/", follow=True).content.decode()
    assert "You have left the study" in page(open_link(LINK))
    run.refresh_from_db()
    assert run.open_places == 10
