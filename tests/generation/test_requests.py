"""Asking for candidates: one request per context, ahead of time or now."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from common import clock
from common.refusals import Refusal
from dialogues.models import CandidateSet, Dialogue
from generation.models import CandidateRequest, Priority, RequestState
from generation.protocol import Sampling
from generation.selectors import WaitingStatistics, describe_request, latest_request, waiting_statistics
from generation.services import MAX_AHEAD_PER_TURN, retry_request
from generation.worker import drain
from projects.models import Project
from tests.candidate_requests import (
    append_utterances,
    create_dialogue,
    create_generator,
    create_request,
    create_request_ahead,
    remove_last_utterance,
    state_of,
)


@pytest.fixture
def dialogue(project: Project) -> Dialogue:
    return create_dialogue(project, "My cat sheds everywhere.")


def answered(request: CandidateRequest, *texts: str) -> CandidateRequest:
    """Store candidates as a worker would."""
    made = CandidateSet.objects.create(
        dialogue=request.dialogue, position=request.position, candidates=[{"text": text} for text in texts]
    )
    CandidateRequest.objects.filter(pk=request.pk).update(
        state=RequestState.DONE, candidate_set=made, ended_at=clock.now()
    )
    request.refresh_from_db()
    return request


def test_asking_twice_is_one_request(dialogue: Dialogue) -> None:
    assert create_request(dialogue) == create_request(dialogue)
    assert CandidateRequest.objects.count() == 1


def test_a_request_is_for_the_next_utterance(dialogue: Dialogue) -> None:
    request = create_request(dialogue)
    assert (request.position, request.priority, request.state) == (1, Priority.NOW, RequestState.QUEUED)
    assert request.wanted_at is not None


def test_new_candidates_are_the_next_ordinal(dialogue: Dialogue) -> None:
    assert create_request(dialogue, ordinal=1) != create_request(dialogue)
    assert CandidateRequest.objects.count() == 2


@pytest.mark.parametrize("change", [{"count": 6}, {"sampling": Sampling(top_k=20)}, {"generator": "another"}])
def test_other_settings_are_another_request(dialogue: Dialogue, change: dict[str, Any]) -> None:
    first = create_request(dialogue)
    if "generator" in change:
        change = {"generator": create_generator("another")}
    assert create_request(dialogue, **change) != first


def test_a_draft_that_is_sent_as_it_was_finds_its_candidates(dialogue: Dialogue) -> None:
    ahead = create_request_ahead(dialogue, "Mine too.")
    assert ahead is not None
    assert (ahead.position, ahead.priority, ahead.wanted_at) == (2, Priority.AHEAD, None)
    answered(ahead, "How old is it?")
    append_utterances(dialogue, "Mine too.")
    wanted = create_request(dialogue)
    assert (wanted, wanted.state) == (ahead, RequestState.DONE)
    assert describe_request(wanted)["waited_ms"] == 0


def test_a_draft_that_is_sent_while_it_waits_moves_to_the_front(dialogue: Dialogue) -> None:
    ahead = create_request_ahead(dialogue, "Mine too.")
    append_utterances(dialogue, "Mine too.")
    wanted = create_request(dialogue)
    assert (wanted, wanted.state, wanted.priority) == (ahead, RequestState.QUEUED, Priority.NOW)


def test_a_draft_that_is_sent_otherwise_gets_candidates_of_its_own(dialogue: Dialogue) -> None:
    ahead = create_request_ahead(dialogue, "Mine too.")
    append_utterances(dialogue, "Mine as well.")
    assert ahead is not None
    assert create_request(dialogue) != ahead
    assert state_of(ahead) == RequestState.CANCELLED


def test_an_opening_can_be_generated_for_before_it_is_sent(project: Project) -> None:
    dialogue = create_dialogue(project)
    ahead = create_request_ahead(dialogue, "Hello!")
    append_utterances(dialogue, "Hello!")
    assert create_request(dialogue) == ahead


def test_a_newer_draft_replaces_the_one_that_waits(dialogue: Dialogue) -> None:
    older, newer = create_request_ahead(dialogue, "Mine"), create_request_ahead(dialogue, "Mine too.")
    assert older is not None
    assert newer is not None
    assert (state_of(older), state_of(newer)) == (RequestState.CANCELLED, RequestState.QUEUED)


def test_a_draft_that_is_typed_back_is_queued_again(dialogue: Dialogue) -> None:
    first = create_request_ahead(dialogue, "Mine too.")
    create_request_ahead(dialogue, "Mine as well.")
    again = create_request_ahead(dialogue, "Mine too.")
    assert again == first
    assert again is not None
    assert again.state == RequestState.QUEUED


def test_a_turn_has_its_share_of_work_ahead(dialogue: Dialogue) -> None:
    for number in range(MAX_AHEAD_PER_TURN):
        made = create_request_ahead(dialogue, f"wording {number}")
        assert made is not None
        answered(made, "Really?")
    assert create_request_ahead(dialogue, "one more") is None
    append_utterances(dialogue, "one more")
    assert create_request_ahead(dialogue, "the next turn has its own") is not None


def test_a_request_cancelled_in_the_queue_costs_no_share(dialogue: Dialogue) -> None:
    made = [create_request_ahead(dialogue, f"wording {number}") for number in range(MAX_AHEAD_PER_TURN * 2)]
    assert all(made)


def test_a_failure_that_nobody_saw_is_tried_again_when_wanted(dialogue: Dialogue) -> None:
    ahead = create_request_ahead(dialogue, "Mine too.")
    assert ahead is not None
    CandidateRequest.objects.filter(pk=ahead.pk).update(
        state=RequestState.FAILED, error="No model.", attempts=3
    )
    append_utterances(dialogue, "Mine too.")
    wanted = create_request(dialogue)
    assert (wanted.state, wanted.error, wanted.attempts) == (RequestState.QUEUED, "", 0)


def test_a_failure_that_was_seen_waits_for_the_person(dialogue: Dialogue) -> None:
    request = create_request(dialogue)
    CandidateRequest.objects.filter(pk=request.pk).update(state=RequestState.FAILED, error="No model.")
    assert create_request(dialogue).state == RequestState.FAILED
    assert retry_request(request=request).state == RequestState.QUEUED
    assert retry_request(request=request).state == RequestState.QUEUED
    assert describe_request(CandidateRequest.objects.get())["error"] == ""


def test_an_answered_request_is_not_tried_again(dialogue: Dialogue) -> None:
    request = answered(create_request(dialogue), "Really?")
    with pytest.raises(Refusal) as refusal:
        retry_request(request=request)
    assert refusal.value.code == "already_done"


def test_undo_finds_the_earlier_candidates(dialogue: Dialogue) -> None:
    first = answered(create_request(dialogue), "Really?")
    append_utterances(dialogue, "Really?")
    create_request(dialogue)
    remove_last_utterance(dialogue)
    assert latest_request(dialogue) == first
    assert create_request(dialogue) == first


def test_the_newest_request_is_about_what_is_stored(dialogue: Dialogue) -> None:
    append_utterances(dialogue, "Really?")
    for_really = create_request(dialogue)
    remove_last_utterance(dialogue)
    append_utterances(dialogue, "Oh dear.")
    for_oh_dear = create_request(dialogue)
    assert latest_request(dialogue) == for_oh_dear
    remove_last_utterance(dialogue)
    append_utterances(dialogue, "Really?")
    create_request(dialogue)
    assert latest_request(dialogue) == for_really


def test_the_newest_set_of_a_turn_is_the_one_asked_for_last(dialogue: Dialogue) -> None:
    answered(create_request(dialogue), "Really?")
    newer = create_request(dialogue, ordinal=1)
    assert latest_request(dialogue) == newer


def test_work_ahead_is_not_a_request_of_the_turn(dialogue: Dialogue) -> None:
    create_request_ahead(dialogue, "Mine too.")
    assert latest_request(dialogue) is None


def test_a_request_tells_nothing_of_a_candidate_but_its_text(dialogue: Dialogue) -> None:
    request = create_request(dialogue)
    drain("worker-1")
    request.refresh_from_db()
    told = describe_request(request)
    assert {key for candidate in told["candidates"] for key in candidate} == {"text"}
    assert told["model_version"].startswith("scripted@")
    assert told["generated_ms"] >= 0


def test_how_long_people_wait(project: Project) -> None:
    now = timezone.now()

    def done(created: float, wanted: float | None, ended: float) -> None:
        """Seconds since the first request."""
        request = create_request(create_dialogue(project, f"{created} {wanted} {ended}"))
        CandidateRequest.objects.filter(pk=request.pk).update(
            state=RequestState.DONE,
            created_at=now + timedelta(seconds=created),
            wanted_at=None if wanted is None else now + timedelta(seconds=wanted),
            ended_at=now + timedelta(seconds=ended),
        )

    assert waiting_statistics(project) == WaitingStatistics(0, 0, 0, None, None, 0)
    done(0, 0, 2)  # asked for when it was wanted: 2 s
    done(0, 5, 1)  # ready before
    done(0, 1, 2)  # on the way: 1 s
    done(0, None, 1)  # never wanted
    told = waiting_statistics(project)
    assert (told.turns, told.ready, told.on_the_way, told.unseen) == (3, 1, 1, 1)
    assert told.p50_ms == pytest.approx(1000)
    assert told.p95_ms == pytest.approx(1900)
    assert told.hit_rate == pytest.approx(2 / 3)
