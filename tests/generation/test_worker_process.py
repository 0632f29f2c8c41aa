"""The queue with real Celery workers in processes of their own, on the real broker."""

import os
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from annotation.authoring.services.turns import TurnResult
from annotation.tasks.models.work import Assignment
from dialogues.models import CandidateSet
from generation import services
from generation.leases import HUNG
from generation.models import BackendKind, CandidateRequest, RequestState
from generation.selectors import describe_request, workers_holding
from generation.services import preload_generator, take_over_lost_requests
from jobs.models import Worker
from projects.models import Project
from tests.candidate_requests import (
    append_utterances,
    count_waiting_messages,
    create_dialogue,
    create_generator,
    create_request,
    create_request_ahead,
    flush_redis,
    state_of,
    wait_for_state,
)
from tests.conftest import Starts
from tests.generation.odd_backends import HANGING
from tests.processes import Running, Stack, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def number_of(running: Running) -> int:
    assert running.process is not None
    return running.process.pid


def test_a_worker_answers(project: Project, starts: Starts) -> None:
    request = create_request(create_dialogue(project, "My cat sheds everywhere."))
    assert describe_request(request)["workers_alive"] == 0
    worker = starts()
    wait_for_state(request)
    assert request.state == RequestState.DONE
    assert request.candidate_set is not None
    assert len({candidate["text"] for candidate in request.candidate_set.candidates}) == 7
    assert request.worker.endswith(f"-{number_of(worker)}")
    assert Worker.objects.get().queues == ["gpu"]


def test_a_worker_says_which_model_it_holds(project: Project, starts: Starts) -> None:
    starts()
    wait_for_state(create_request(create_dialogue(project, "Hello")))
    held = "scripted@"
    wait_until(lambda: str(Worker.objects.get().details.get("models", "")).find(held) > 0, 10, "the model")


def test_a_model_is_loaded_before_somebody_asks(project: Project, starts: Starts) -> None:
    ahead = create_generator("ahead")
    preload_generator(ahead.pk)
    starts()
    wait_until(lambda: list(workers_holding(ahead).values()) != [], 20, "the model")
    assert not CandidateRequest.objects.exists()


def test_a_real_model_answers(project: Project, starts: Starts, tiny_model: Callable[..., Path]) -> None:
    tiny = create_generator("tiny", BackendKind.HF, model=str(tiny_model("llama")), threads=1)
    starts()
    request = wait_for_state(
        create_request(create_dialogue(project, "Hello there, how are you today?"), tiny), seconds=90
    )
    assert (request.state, request.error) == (RequestState.DONE, "")
    assert request.candidate_set is not None
    assert len(request.candidate_set.candidates) + len(request.failures) == 7
    assert request.candidate_set.candidates[0]["logprob"] < 0


def test_many_wishes_at_once_are_one_message_and_all_answered(
    project: Project, starts: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_WAKE_FOR", 300)  # seconds; it may take more than five to ask 30 times
    requests = [create_request(create_dialogue(project, f"Hello {number}")) for number in range(30)]
    assert count_waiting_messages() == 1
    starts()
    for request in requests:
        assert wait_for_state(request).state == RequestState.DONE
    assert CandidateSet.objects.count() == 30


def test_two_workers_share_the_queue_and_store_nothing_twice(project: Project, starts: Starts) -> None:
    starts("worker-1")
    starts("worker-2")
    slow = create_generator("slow", delay=0.3)
    requests = [create_request(create_dialogue(project, f"Hello {number}"), slow) for number in range(40)]
    for request in requests:
        assert wait_for_state(request).state == RequestState.DONE
    assert CandidateSet.objects.count() == 40
    assert len({request.worker for request in requests}) == 2
    assert {request.attempts for request in requests} == {1}


def test_a_killed_worker_that_starts_again_answers_once(project: Project, starts: Starts) -> None:
    worker = starts()
    request = create_request(create_dialogue(project, "Hello"), create_generator("slow", delay=5))
    wait_for_state(request, RequestState.RUNNING)
    worker.kill()
    assert state_of(request) == RequestState.RUNNING
    starts()
    # Long before the lease of the killed one ends.
    assert wait_for_state(request, seconds=10).state == RequestState.DONE
    assert (request.attempts, CandidateSet.objects.count()) == (2, 1)


def test_another_worker_takes_over_when_the_lease_is_over(project: Project, starts: Starts) -> None:
    workers = [starts("worker-1"), starts("worker-2")]
    request = create_request(create_dialogue(project, "Hello"), create_generator("slow", delay=5))
    wait_for_state(request, RequestState.RUNNING)
    next(one for one in workers if request.worker.endswith(f"-{number_of(one)}")).kill()
    lease_over = timezone.now() - timedelta(seconds=1)
    CandidateRequest.objects.filter(pk=request.pk).update(lease_until=lease_over)
    take_over_lost_requests()  # what the scheduler does every few seconds
    assert wait_for_state(request).state == RequestState.DONE
    assert (request.attempts, CandidateSet.objects.count()) == (2, 1)


def taken_over_and_done(request: CandidateRequest) -> bool:
    take_over_lost_requests()
    request.refresh_from_db()
    return request.state == RequestState.DONE


def test_a_worker_that_was_only_stopped_for_a_while_stores_nothing_twice(
    project: Project, stack: Stack, starts: Starts
) -> None:
    # The clock goes on while it is stopped: it must not take its model for hung.
    stack.environment = {**stack.environment, "GENERATION_TIMEOUT": "300"}
    first = starts("worker-1")
    request = create_request(create_dialogue(project, "Hello"), create_generator("slow", delay=5))
    wait_for_state(request, RequestState.RUNNING)
    os.kill(number_of(first), signal.SIGSTOP)
    second = starts("worker-2")
    CandidateRequest.objects.filter(pk=request.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    # Again and again, as the scheduler does: a wake-up may have gone to the stopped worker.
    wait_until(lambda: taken_over_and_done(request), 60, "the second worker's answer")
    second.stop()
    os.kill(number_of(first), signal.SIGCONT)
    # It answers the next request only after it tried to store the lost one.
    after = create_request(create_dialogue(project, "Hello again"))
    wait_until(lambda: taken_over_and_done(after), 60, "the answer of the worker that goes on")
    assert after.worker.endswith(f"-{number_of(first)}")
    assert CandidateSet.objects.filter(dialogue=request.dialogue).count() == 1


def test_a_hanging_model_ends_its_worker_and_says_so(project: Project, stack: Stack, starts: Starts) -> None:
    stack.environment = {**stack.environment, "GENERATION_TIMEOUT": "5"}
    worker = starts()
    hanging = create_generator("hanging", HANGING)
    wait_for_state(create_request(create_dialogue(project, "Hello"), hanging))
    request = wait_for_state(create_request(create_dialogue(project, "hang"), hanging))
    assert (request.state, request.error) == (RequestState.FAILED, HUNG)
    assert request.remedy
    wait_until(lambda: not worker.alive, 10, "the end of the hung worker")
    after = create_request(create_dialogue(project, "Hello again"), hanging)
    starts()
    assert wait_for_state(after).state == RequestState.DONE


def test_a_lost_wake_up_is_sent_again_by_whoever_waits(
    planned: Project,
    starts: Starts,
    anns_assignment: Assignment,
    writes: Callable[..., TurnResult],
    client: Client,
) -> None:
    starts()
    wait_for_state(create_request(create_dialogue(planned, "Hello")))  # the worker is idle now
    request = writes(anns_assignment, "My cat sheds everywhere.", 0).request
    assert request is not None
    client.force_login(anns_assignment.annotator)
    CandidateRequest.objects.filter(pk=request.pk).update(
        state=RequestState.QUEUED, candidate_set=None, wanted_at=timezone.now() - timedelta(seconds=3)
    )
    flush_redis()
    client.get(f"/api/v1/candidate-requests/{request.pk}/")
    assert wait_for_state(request).state == RequestState.DONE


def test_the_scheduler_wakes_a_worker_for_what_was_forgotten(project: Project, starts: Starts) -> None:
    request = create_request(create_dialogue(project, "Hello"))
    flush_redis()
    starts()
    take_over_lost_requests()
    assert wait_for_state(request).state == RequestState.DONE


def test_a_rested_draft_is_answered_when_it_is_sent(project: Project, starts: Starts) -> None:
    starts()
    dialogue = create_dialogue(project, "My cat sheds everywhere.")
    ahead = create_request_ahead(dialogue, "Mine too.")
    assert ahead is not None
    wait_for_state(ahead)
    append_utterances(dialogue, "Mine too.")
    sent = create_request(dialogue)
    assert (sent, sent.state) == (ahead, RequestState.DONE)
    assert describe_request(sent)["waited_ms"] < 1000  # 0, but for the clocks of two processes
