"""Systems are balanced over participants; places fall with consent and reopen."""

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from assessment.sessions.models.conversations import Session, SessionState, Turn, TurnState
from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.sessions.models.runs import Run
from assessment.sessions.selectors.assignments import Step, current_position
from assessment.sessions.services import chat
from assessment.sessions.services.expiry import reap_expired_assignments
from assessment.sessions.services.failures import void_session
from assessment.sessions.services.participants import consent, decline, leave, resume
from assessment.setup.models import TopicMode
from assessment.systems.models import Connector, System
from common.refusals import Refusal
from dialogues.models import DialogueState
from projects.models import Event, Project
from tests.assessment.steps import (
    begin,
    complete,
    converse,
    current_session,
    enter,
    opened_run,
    send,
    start,
    talk,
)


def places(run: Run) -> int:
    return Run.objects.get(pk=run.pk).open_places


def names(assignment: Assignment) -> list[str]:
    return list(assignment.sessions.order_by("place").values_list("system__name", flat=True))


def test_everybody_gets_five_systems_and_the_degraded_one(anns: Assignment) -> None:
    assert sorted(names(anns)) == ["a", "b", "c", "d", "degraded", "e"]


def test_the_order_comes_from_the_seeds(study: Project, run: Run) -> None:
    orders = {tuple(names(begin(study, f"p{n}"))) for n in range(8)}
    assert len(orders) > 1


def test_systems_are_balanced(study: Project) -> None:
    more = [System(project=study, name=f"x{n}", connector=Connector.OPENAI) for n in range(3)]
    System.objects.bulk_create(more)  # eight ordinary systems
    opened_run(study, places=20)
    for n in range(16):
        begin(study, f"p{n}")
    counts = Counter(Session.objects.values_list("system__name", flat=True))
    assert counts.pop("degraded") == 16
    assert set(counts.values()) == {10}


def test_voided_sessions_and_abandoned_assignments_do_not_count(study: Project) -> None:
    study.assessment.ordinary_systems = 1
    study.assessment.save()
    opened_run(study)
    first = begin(study, "ann")
    [system] = [name for name in names(first) if name != "degraded"]
    leave(assignment=first)
    others = {name for n in range(5) for name in names(begin(study, f"p{n}")) if name != "degraded"}
    assert system in others
    assert len(others) == 5


def test_a_failing_system_comes_last(study: Project) -> None:
    study.assessment.ordinary_systems = 4
    study.assessment.save()
    opened_run(study)
    first = begin(study, "ann")
    session = next(one for one in first.sessions.order_by("place") if not one.system.is_degraded)
    while current_session(first).pk != session.pk:
        converse(first)
    turn = send(start(first))
    Turn.objects.filter(pk=turn.pk).update(state=TurnState.FAILED)
    void_session(session=session, reason="It broke off.")
    for name in ("bob", "cid", "dan"):
        assert session.system.name not in names(begin(study, name))


def test_too_few_systems_come_twice(study: Project) -> None:
    System.objects.filter(name__in=["c", "d", "e"]).delete()
    opened_run(study)
    counts = Counter(names(begin(study, "ann")))
    assert sorted(counts.values()) == [1, 2, 3]
    assert counts["degraded"] == 1


def test_a_retired_system_is_given_to_nobody(study: Project, run: Run) -> None:
    System.objects.filter(name="a").update(retired_at=timezone.now())
    assert "a" not in names(begin(study, "ann"))


def test_a_system_removed_during_a_run_is_replaced_before_its_conversation(
    study: Project, anns: Assignment
) -> None:
    System.objects.create(project=study, name="spare", connector=Connector.OPENAI)
    session = current_session(anns)
    if session.system.is_degraded:
        converse(anns)
        session = current_session(anns)
    System.objects.filter(pk=session.system_id).update(retired_at=timezone.now())
    assert start(anns).system.name == "spare"
    assert Event.objects.get(kind="system_replaced").data["before"] == session.system_id


def test_ice_breakers_come_from_personas_unless_the_project_lists_some(study: Project) -> None:
    System.objects.exclude(connector=Connector.DEGRADED).update(persona=["i like tea ."])
    opened_run(study, topic_mode=TopicMode.ICE_BREAKER)
    assert set(begin(study, "ann").sessions.values_list("ice_breaker", flat=True)) == {"i like tea ."}
    study.assessment.ice_breakers = ["I have two cats."]
    study.assessment.save()
    bobs = begin(study, "bob")
    assert set(bobs.sessions.values_list("ice_breaker", flat=True)) == {"I have two cats."}
    assert start(bobs, topic="").topic == "I have two cats."


def test_a_conversation_keeps_its_system_if_no_other_one_is_left(anns: Assignment) -> None:
    session = current_session(anns)
    System.objects.update(retired_at=timezone.now())
    assert start(anns).system == session.system
    assert current_position(anns).step == Step.CHAT


def test_ice_breakers_differ_within_an_assignment(study: Project) -> None:
    study.assessment.ice_breakers = [f"I have {n} cats." for n in range(2, 9)]
    study.assessment.save()
    opened_run(study, topic_mode=TopicMode.ICE_BREAKER)
    for name in ("ann", "bob", "cid"):
        sentences = list(begin(study, name).sessions.values_list("ice_breaker", flat=True))
        assert len(set(sentences)) == len(sentences) == 6


@pytest.mark.parametrize(
    ("project_language", "page_language", "expected"),
    [("mul", "en", "I like tea."), ("mul", "zh-hans", "我喜欢喝茶。"), ("zh", "en", "我喜欢喝茶。")],
)
def test_ice_breakers_are_in_the_language_of_the_chat(
    study: Project, project_language: str, page_language: str, expected: str
) -> None:
    study.language = project_language
    study.save()
    study.assessment.ice_breakers = ["I like tea.", "我喜欢喝茶。"]
    study.assessment.save()
    opened_run(study, topic_mode=TopicMode.ICE_BREAKER)
    anns = consent(assignment=enter(study, "ann"), language=page_language)
    assert set(anns.sessions.values_list("ice_breaker", flat=True)) == {expected}


def test_consent_takes_a_place_once(study: Project, run: Run) -> None:
    entered = enter(study, "ann")
    assert places(run) == 10
    consent(assignment=entered)
    consent(assignment=entered)
    assert places(run) == 9
    assert entered.sessions.count() == 6


def test_a_full_run_says_so_and_the_same_link_works_when_a_place_reopens(study: Project) -> None:
    run = opened_run(study, places=1)
    waiting = enter(study, "bob")
    anns = begin(study, "ann")
    with pytest.raises(Refusal) as refused:
        consent(assignment=waiting)
    assert refused.value.code == "run_full"
    assert current_position(enter(study, "bob")).step == Step.FULL
    leave(assignment=anns)
    assert places(run) == 1
    assert consent(assignment=waiting).state == AssignmentState.ACTIVE


def test_declining_takes_no_place_and_can_be_changed(study: Project, run: Run) -> None:
    entered = decline(assignment=enter(study, "ann"))
    assert decline(assignment=entered).state == AssignmentState.DECLINED
    assert places(run) == 10
    assert consent(assignment=entered).state == AssignmentState.ACTIVE
    assert places(run) == 9


def test_a_completed_assignment_keeps_its_place(study: Project, run: Run, anns: Assignment) -> None:
    complete(anns)
    assert places(run) == 9


def test_ann_leaves_in_the_third_session_and_comes_back_to_it(run: Run, anns: Assignment) -> None:
    converse(anns)
    converse(anns)
    session = start(anns)
    talk(session, 1)
    Assignment.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    assert reap_expired_assignments() == 1
    assert reap_expired_assignments() == 0
    anns.refresh_from_db()
    assert (anns.state, places(run)) == (AssignmentState.TIMED_OUT, 10)
    session.refresh_from_db()
    assert session.dialogue is not None
    assert session.dialogue.state == DialogueState.ABANDONED
    with pytest.raises(Refusal) as refused:
        send(session)
    assert refused.value.code == "assignment_over"

    resumed = resume(assignment=anns)
    assert places(run) == 9
    position = current_position(resumed)
    assert (position.step, position.place, position.session) == (Step.CHAT, 3, session)
    talk(session, 1)
    session.refresh_from_db()
    session.dialogue.refresh_from_db()
    assert session.dialogue.state == DialogueState.WRITING


def test_a_place_given_to_somebody_else_is_not_taken_back(study: Project) -> None:
    run = opened_run(study, places=1)
    anns = begin(study, "ann")
    Assignment.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    reap_expired_assignments()
    begin(study, "bob")
    with pytest.raises(Refusal) as refused:
        resume(assignment=anns)
    assert refused.value.code == "run_full"
    assert places(run) == 0


def test_acting_moves_the_expiry(anns: Assignment) -> None:
    Assignment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    send(start(anns))
    assert reap_expired_assignments() == 0


def test_the_rated_sessions_of_somebody_who_left_stay(run: Run, anns: Assignment) -> None:
    session = converse(anns)
    left = leave(assignment=anns)
    assert left.state == AssignmentState.RETURNED
    assert leave(assignment=left).state == AssignmentState.RETURNED
    session.refresh_from_db()
    assert session.state == SessionState.RATED
    assert places(run) == 10


def test_events_name_the_participant(anns: Assignment) -> None:
    event = Event.objects.filter(subject_type="assessment.assignment").latest("pk")
    assert (event.after, event.actor, event.data) == ("active", None, {"participant": anns.participant_id})


def test_only_the_next_conversation_begins(anns: Assignment) -> None:
    last = anns.sessions.order_by("-place").first()
    assert last is not None
    with pytest.raises(Refusal) as refused:
        chat.start_session(participant=anns.participant, session_id=last.pk, topic="cats", opinion="like")
    assert refused.value.code == "not_current"
