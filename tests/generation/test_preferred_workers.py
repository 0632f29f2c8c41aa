"""A dialogue's requests go to the worker that has its context, and to whoever is free if that one is not."""

from datetime import timedelta

import pytest

from common import clock
from dialogues.models import Dialogue
from generation import selectors, services
from generation.models import BackendKind, CandidateRequest, RequestState
from generation.worker import claim_batch, drain
from jobs.models import Worker
from jobs.services import record_heartbeat
from projects.models import Project
from tests.candidate_requests import (
    append_utterances,
    create_dialogue,
    create_generator,
    create_request,
    create_request_ahead,
    wait_for_state,
)
from tests.conftest import Starts
from tests.processes import Running


@pytest.fixture
def scripts_keep_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "BACKENDS_WITH_CONTEXTS", {BackendKind.SCRIPTED.value})


@pytest.fixture
def begun(project: Project, scripts_keep_contexts: None) -> Dialogue:
    """A dialogue whose first turn worker-1 decoded; both workers are alive."""
    for name in ("worker-1", "worker-2"):
        record_heartbeat(name=name, queues=["gpu"], details={})
    dialogue = create_dialogue(project, "Hello")
    create_request(dialogue)
    drain("worker-1")
    append_utterances(dialogue, "Hi.")
    return dialogue


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine, the moment is not over."""
    monkeypatch.setattr(services, "PREFER_FOR", timedelta(hours=1))


def preference_over(request: CandidateRequest) -> None:
    past = clock.now() - timedelta(milliseconds=1)
    CandidateRequest.objects.filter(pk=request.pk).update(preferred_until=past)


@pytest.mark.django_db
@pytest.mark.usefixtures("patient")
def test_the_next_turn_waits_a_moment_for_the_worker_with_the_context(begun: Dialogue) -> None:
    request = create_request(begun)
    assert request.preferred_worker == "worker-1"
    assert claim_batch("worker-2") == []
    assert claim_batch("worker-1") == [request]


@pytest.mark.django_db
def test_after_that_moment_anybody_takes_it(begun: Dialogue) -> None:
    request = create_request(begun)
    preference_over(request)
    assert claim_batch("worker-2") == [request]


@pytest.mark.django_db
def test_an_idle_worker_takes_it_as_soon_as_the_moment_is_over(begun: Dialogue) -> None:
    request = create_request(begun)
    assert drain("worker-2") == 1
    request.refresh_from_db()
    assert request.worker == "worker-2"
    assert request.started_at is not None
    assert request.preferred_until is not None
    assert request.started_at >= request.preferred_until


@pytest.mark.django_db
@pytest.mark.usefixtures("patient")
def test_candidates_ahead_prefer_it_too(begun: Dialogue) -> None:
    ahead = create_request_ahead(begun, "How are")
    assert ahead is not None
    assert claim_batch("worker-2") == []
    assert claim_batch("worker-1") == [ahead]


@pytest.mark.django_db
@pytest.mark.usefixtures("patient")
def test_others_are_taken_meanwhile(begun: Dialogue) -> None:
    create_request(begun)
    other = create_request(create_dialogue(begun.project, "Something else"))
    assert claim_batch("worker-2") == [other]


@pytest.mark.django_db
@pytest.mark.parametrize("gone", ["left", "silent"])
def test_a_worker_that_is_gone_is_not_waited_for(begun: Dialogue, gone: str) -> None:
    row = Worker.objects.filter(name="worker-1")
    if gone == "left":
        row.delete()
    else:
        row.update(seen_at=clock.now() - timedelta(minutes=1))
    request = create_request(begun)
    assert claim_batch("worker-2") == [request]


@pytest.mark.django_db
def test_another_model_has_no_context_there(begun: Dialogue) -> None:
    request = create_request(begun, create_generator("another"))
    assert claim_batch("worker-2") == [request]


@pytest.mark.django_db
def test_servers_behind_an_address_keep_contexts_themselves(project: Project) -> None:
    record_heartbeat(name="worker-1", queues=["gpu"], details={})
    dialogue = create_dialogue(project, "Hello")
    create_request(dialogue)
    drain("worker-1")
    append_utterances(dialogue, "Hi.")
    assert create_request(dialogue).preferred_worker == ""


def process_of(request: CandidateRequest, workers: list[Running]) -> Running:
    return next(one for one in workers if one.process and request.worker.endswith(f"-{one.process.pid}"))


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_dialogues_stay_with_their_worker_until_it_is_busy_or_killed(
    project: Project, starts: Starts, scripts_keep_contexts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "PREFER_FOR", timedelta(seconds=30))  # this machine may be slow
    workers = [starts("worker-1"), starts("worker-2")]
    slow = create_generator("slow", delay=0.2)
    # Apart, so that one worker does not decode all of them in a batch.
    dialogues = [create_dialogue(project, f"Hello {number}") for number in range(4)]
    firsts = [create_request(dialogue, slow, count=3 + n % 2) for n, dialogue in enumerate(dialogues)]
    homes = {one.dialogue_id: wait_for_state(one).worker for one in firsts}
    for turn in range(3):
        for dialogue in dialogues:
            append_utterances(dialogue, f"Turn {turn}")
            request = wait_for_state(create_request(dialogue, slow))
            assert (request.worker, request.attempts) == (homes[dialogue.pk], 1)
    # Busy with something else: the other one answers.
    dialogue = dialogues[0]
    home = process_of(request_of(dialogue), workers)
    occupy(project, dialogue)
    monkeypatch.setattr(services, "PREFER_FOR", timedelta(milliseconds=300))
    append_utterances(dialogue, "And now?")
    request = wait_for_state(create_request(dialogue, slow))
    assert process_of(request, workers) is not home
    append_utterances(dialogue, "And after that?")
    process_of(request, workers).kill()
    after = wait_for_state(create_request(dialogue, slow))
    assert after.state == RequestState.DONE
    assert process_of(after, workers) is home


def request_of(dialogue: Dialogue) -> CandidateRequest:
    return CandidateRequest.objects.filter(dialogue=dialogue).latest("started_at")


def occupy(project: Project, dialogue: Dialogue) -> None:
    """Give the worker of this dialogue another one's turn, which takes longer than anybody waits for it."""
    busy, other = create_generator("busy"), create_dialogue(project, "Tell me a long story.")
    first = wait_for_state(create_request(other, busy))
    CandidateRequest.objects.filter(pk=first.pk).update(worker=request_of(dialogue).worker)
    append_utterances(other, "Go on.")
    long = wait_for_state(create_request(other, create_generator("busy", delay=5)), RequestState.RUNNING)
    assert long.worker == request_of(dialogue).worker
