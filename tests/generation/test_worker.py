"""Answering requests: batches, failures that stay alone, answers that cannot be stored as they are."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dialogues.models import CandidateSet, Dialogue
from generation.leases import LEASE, leased_requests
from generation.models import CandidateRequest, RequestState
from generation.protocol import Sampling
from generation.services import LOST, MAX_ATTEMPTS, take_over_lost_requests
from generation.worker import AHEAD_BATCH, BROKE, ODD_ANSWER, TOO_LONG, answer_batch, claim_batch, drain
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
from tests.generation.odd_backends import CRASHING, GARBAGE, RECORDING, WRONG_NUMBER, Recording


@pytest.fixture
def calls() -> list[list[str]]:
    """What the recording backend was asked: the last utterances of each call."""
    Recording.calls.clear()
    return Recording.calls  # type: ignore[return-value]


def asked(calls: list[list[object]]) -> list[list[str]]:
    return [[request.context[-1].text for request in call] for call in calls]  # type: ignore[attr-defined]


def texts_of(request: CandidateRequest) -> list[str]:
    request.refresh_from_db()
    return (
        [candidate["text"] for candidate in request.candidate_set.candidates] if request.candidate_set else []
    )


def later(request: CandidateRequest) -> None:
    """The pause before the next try is over."""
    CandidateRequest.objects.filter(pk=request.pk).update(not_before=timezone.now() - timedelta(seconds=1))


def lose(request: CandidateRequest) -> None:
    """The worker that holds it has not been heard of for longer than a lease."""
    CandidateRequest.objects.filter(pk=request.pk).update(lease_until=timezone.now() - LEASE)


def test_requests_of_several_annotators_are_decoded_together(
    project: Project, calls: list[list[object]]
) -> None:
    recording = create_generator("recording", RECORDING)
    requests = [create_request(create_dialogue(project, f"Hello {number}"), recording) for number in range(4)]
    assert drain("worker-1") == 4
    assert asked(calls) == [["Hello 0", "Hello 1", "Hello 2", "Hello 3"]]
    assert all(len(set(texts_of(request))) == 7 for request in requests)


def test_a_batch_is_of_one_model_and_sampling(project: Project, calls: list[list[object]]) -> None:
    recording = create_generator("recording", RECORDING)
    create_request(create_dialogue(project, "one"), recording)
    create_request(create_dialogue(project, "two"), recording, sampling=Sampling(top_k=5))
    create_request(create_dialogue(project, "three"), create_generator("another", RECORDING))
    create_request(create_dialogue(project, "four"), recording, count=3)
    drain("worker-1")
    assert sorted(asked(calls)) == [["one", "four"], ["three"], ["two"]]


def test_a_batch_has_the_same_second_model(project: Project, calls: list[list[object]]) -> None:
    recording, second = create_generator("recording", RECORDING), create_generator("second", RECORDING)
    create_request(create_dialogue(project, "of one"), recording)
    create_request(create_dialogue(project, "of two"), recording, second=second)
    first, other = claim_batch("worker-1"), claim_batch("worker-1")
    assert [len(first), len(other)] == [1, 1]
    assert {each.second_generator for each in (*first, *other)} == {None, second}


def test_a_waiting_annotator_comes_before_work_ahead(project: Project, calls: list[list[object]]) -> None:
    recording = create_generator("recording", RECORDING)
    for number in range(AHEAD_BATCH + 1):
        create_request_ahead(create_dialogue(project, "Hello"), f"ahead {number}", recording)
    create_request(create_dialogue(project, "now"), recording)
    drain("worker-1")
    assert asked(calls) == [["now"], ["ahead 0", "ahead 1"], ["ahead 2"]]


def test_a_request_that_fails_fails_alone(project: Project) -> None:
    unlucky = create_generator("unlucky", fail_word="boom")
    good, bad = (
        create_request(create_dialogue(project, "Hello"), unlucky),
        create_request(create_dialogue(project, "boom"), unlucky),
    )
    CandidateRequest.objects.filter(pk=bad.pk).update(wanted_at=timezone.now() - timedelta(minutes=1))
    drain("worker-1")
    assert (state_of(good), state_of(bad)) == (RequestState.DONE, RequestState.FAILED)
    assert (bad.error, bad.remedy) == ("The script says that the model fails.", "Try again.")


def test_a_set_that_lacks_some_replies_is_shown_with_the_reasons(project: Project) -> None:
    request = create_request(create_dialogue(project, "Hello"), create_generator("stingy", fail_replies=2))
    drain("worker-1")
    assert len(texts_of(request)) == 5
    assert (request.state, len(request.failures)) == (RequestState.DONE, 2)


def test_a_passing_failure_is_tried_again_after_a_pause(project: Project) -> None:
    request = create_request(create_dialogue(project, "Hello"), create_generator("shaky", fail_calls=1))
    drain("worker-1")
    assert state_of(request) == RequestState.QUEUED
    assert request.not_before is not None
    in_a_minute = timezone.now() + timedelta(minutes=1)
    CandidateRequest.objects.filter(pk=request.pk).update(not_before=in_a_minute)
    assert drain("worker-1") == 0
    later(request)
    drain("worker-1")
    assert (state_of(request), request.attempts, request.error) == (RequestState.DONE, 2, "")


def test_a_failure_that_does_not_pass_ends_in_cause_and_remedy(project: Project) -> None:
    request = create_request(create_dialogue(project, "Hello"), create_generator("gone", unavailable=True))
    for _attempt in range(MAX_ATTEMPTS):
        drain("worker-1")
        later(request)
    assert (state_of(request), request.attempts) == (RequestState.FAILED, MAX_ATTEMPTS)
    assert request.error
    assert request.remedy


def test_work_ahead_is_not_tried_again(project: Project) -> None:
    ahead = create_request_ahead(
        create_dialogue(project, "Hello"), "Hi", create_generator("gone", unavailable=True)
    )
    drain("worker-1")
    assert ahead is not None
    assert state_of(ahead) == RequestState.FAILED


def test_a_backend_that_breaks_off_is_tried_again_and_then_named(project: Project) -> None:
    request = create_request(create_dialogue(project, "Hello"), create_generator("crashing", CRASHING))
    for _attempt in range(MAX_ATTEMPTS):
        drain("worker-1")
        later(request)
    assert (state_of(request), request.error) == (RequestState.FAILED, BROKE)


def test_garbage_is_cleaned_and_counted(project: Project) -> None:
    request = create_request(create_dialogue(project, "Hello"), create_generator("garbage", GARBAGE))
    drain("worker-1")
    assert texts_of(request) == ["Fine."]
    assert request.candidate_set is not None
    assert (request.candidate_set.candidates[0]["logprob"], request.candidate_set.candidates[0]["score"]) == (
        None,
        None,
    )
    assert len(request.failures) == 6
    assert TOO_LONG in request.failures


def test_nothing_but_garbage_is_a_failure(project: Project) -> None:
    request = create_request(
        create_dialogue(project, "Hello"), create_generator("garbage", GARBAGE, sane=False)
    )
    for _attempt in range(MAX_ATTEMPTS):
        drain("worker-1")
        later(request)
    assert (state_of(request), CandidateSet.objects.count()) == (RequestState.FAILED, 0)
    assert request.error.startswith("The model gave no reply.")


def test_answers_that_do_not_belong_to_anybody_are_not_stored(project: Project) -> None:
    forgetful = create_generator("forgetful", WRONG_NUMBER)
    requests = [
        create_request(create_dialogue(project, "one"), forgetful),
        create_request(create_dialogue(project, "two"), forgetful),
    ]
    drain("worker-1")
    assert [state_of(request) for request in requests] == [RequestState.FAILED] * 2
    assert {request.error for request in requests} == {ODD_ANSWER}


def test_a_model_that_does_not_exist_is_a_failure_with_a_remedy(project: Project) -> None:
    request = create_request(
        create_dialogue(project, "Hello"),
        create_generator("nowhere", "generation.backends.nowhere.Backend"),
    )
    drain("worker-1")
    assert state_of(request) == RequestState.FAILED
    assert "cannot be loaded" in request.error
    assert request.remedy


def test_a_changed_generator_is_reloaded(project: Project) -> None:
    first, second = create_dialogue(project, "Hello"), create_dialogue(project, "Hello")
    create_request(first, create_generator("mine", replies=["one"]), count=1)
    drain("worker-1")
    request = create_request(second, create_generator("mine", replies=["two"]), count=1)
    drain("worker-1")
    assert texts_of(request) == ["two"]


def test_a_dialogue_deleted_meanwhile_harms_nobody_else(project: Project) -> None:
    gone = create_request(create_dialogue(project, "one"))
    kept = create_request(create_dialogue(project, "two"))
    batch = claim_batch("worker-1")
    Dialogue.objects.get(pk=gone.dialogue_id).delete()
    answer_batch(batch)
    assert state_of(kept) == RequestState.DONE
    assert CandidateSet.objects.count() == 1


def test_an_undone_turn_needs_no_candidates(project: Project) -> None:
    dialogue = create_dialogue(project, "Hello")
    append_utterances(dialogue, "Hi")
    request = create_request(dialogue)
    remove_last_utterance(dialogue)
    drain("worker-1")
    assert state_of(request) == RequestState.CANCELLED
    append_utterances(dialogue, "Hi")
    assert create_request(dialogue).state == RequestState.QUEUED


def test_a_draft_sent_while_it_is_decoded_gets_that_answer(project: Project) -> None:
    dialogue = create_dialogue(project, "Hello")
    ahead = create_request_ahead(dialogue, "Hi")
    batch = claim_batch("worker-1")
    append_utterances(dialogue, "Hi")
    assert (create_request(dialogue), create_request(dialogue).state) == (ahead, RequestState.RUNNING)
    answer_batch(batch)
    assert ahead is not None
    assert state_of(ahead) == RequestState.DONE


def test_a_worker_believed_dead_does_not_store_twice(project: Project) -> None:
    request = create_request(create_dialogue(project, "Hello"))
    first = claim_batch("worker-1")
    lose(request)
    assert take_over_lost_requests() == 1
    second = claim_batch("worker-2")
    answer_batch(second)
    answer_batch(first)
    assert CandidateSet.objects.count() == 1
    assert (state_of(request), request.worker, request.attempts) == (RequestState.DONE, "worker-2", 2)


def test_a_worker_that_comes_late_does_not_disturb_the_one_at_work(project: Project) -> None:
    request = create_request(create_dialogue(project, "Hello"))
    first = claim_batch("worker-1")
    lose(request)
    take_over_lost_requests()
    second = claim_batch("worker-2")
    answer_batch(first)
    assert (state_of(request), CandidateSet.objects.count()) == (RequestState.RUNNING, 0)
    answer_batch(second)
    assert state_of(request) == RequestState.DONE


def test_a_worker_that_comes_late_holds_no_lease(project: Project) -> None:
    request = create_request(create_dialogue(project, "Hello"))
    first = claim_batch("worker-1")
    assert leased_requests(first).get() == request
    lose(request)
    take_over_lost_requests()
    second = claim_batch("worker-2")
    assert not leased_requests(first).exists()
    assert leased_requests(second).get() == request


def test_a_lease_that_runs_is_left_alone(project: Project) -> None:
    request = create_request(create_dialogue(project, "Hello"))
    claim_batch("worker-1")
    assert take_over_lost_requests() == 0
    assert state_of(request) == RequestState.RUNNING


def test_a_request_that_kills_its_workers_is_given_up(project: Project) -> None:
    request = create_request(create_dialogue(project, "Hello"))
    for attempt in range(MAX_ATTEMPTS):
        claim_batch(f"worker-{attempt}")
        lose(request)
        take_over_lost_requests()
    assert (state_of(request), request.error) == (RequestState.FAILED, LOST)
    assert request.remedy


def test_the_displayed_order_comes_from_the_seed(project: Project) -> None:
    """The same request shows its replies in the same order, and not in the order in which they were drawn."""
    orders = set()
    for number in range(12):
        request = create_request(create_dialogue(project, f"Hello {number}"))
        drain("worker-1")
        texts_of(request)
        assert request.candidate_set is not None
        assert request.candidate_set.seed == request.seed
        drawn_first = next(
            place for place, one in enumerate(request.candidate_set.candidates) if one["seed"] == request.seed
        )
        orders.add(drawn_first)
    assert orders != {0}
