"""The job of a collection: what systems are asked, what fails, and that an interruption costs and doubles nothing."""

import threading
from datetime import timedelta
from threading import Event

import pytest
from django.utils import timezone

from annotation.tasks.models.work import Task
from assessment.collections.models import CollectedDialogue, CollectedState, Collection
from assessment.collections.services import collecting, conversations
from assessment.collections.services.starting import retry_collection
from assessment.systems.connectors.protocol import Question
from assessment.systems.models import Connector, System
from common.refusals import Refusal
from dialogues.models import Dialogue, DialogueState, Utterance
from generation.models import CandidateRequest, RequestState
from generation.protocol import BackendError
from jobs.models import Job, JobState
from jobs.progress import worker_is_ending
from jobs.services import cancel_job, retry_job, run_job, take_over_lost_jobs
from projects.models import Project
from tests.assessment.collections.conftest import Collects, FakeSystems
from tests.candidate_requests import create_generator

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries follow at once, and progress is written at every step."""
    monkeypatch.setattr(conversations._Conversation, "wait", wait_not_at_all)
    monkeypatch.setattr("jobs.progress.WRITE_EVERY", 0)
    monkeypatch.setattr(collecting, "BEAT_SECONDS", 0.05)


def wait_not_at_all(conversation: conversations._Conversation, seconds: float) -> None:
    if conversation.stop.is_set():
        raise conversations.StoppedEarly


def run(collection: Collection) -> Job:
    return run_job(job_id=Collection.objects.get(pk=collection.pk).job_id)


def rows(collection: Collection, **filters: object) -> list[CollectedDialogue]:
    found = CollectedDialogue.objects.filter(collection=collection, **filters)
    return list(found.select_related("draft", "dialogue", "system"))


def texts(dialogue: Dialogue | None) -> list[str]:
    assert dialogue is not None
    return list(dialogue.utterances.order_by("position").values_list("text", flat=True))


def fail(question: Question) -> str:
    raise BackendError("It is down.", "Start it.")


def test_every_system_answers_every_context_once(collects: Collects, fakes: FakeSystems) -> None:
    collection = collects("static", count=4)
    job = run(collection)
    assert (job.state, job.error) == (JobState.DONE, "")
    assert job.result == {"dialogues": 12, "missing": 0, "planned": 12}
    assert (job.done, job.total) == (12, 12)
    assert fakes.asked == {"a": 4, "b": 4}
    for row in rows(collection, system__isnull=False):
        assert texts(row.draft) == [text for _, text in row.context] + [f"{row.system} {len(row.context)}"]
        assert texts(row.draft) == texts(row.dialogue)
    for row in rows(collection, system=None):
        assert row.draft is None
        assert texts(row.dialogue) == [text for _, text in row.context]


def test_a_system_plays_both_sides_of_a_self_chat(collects: Collects, fakes: FakeSystems) -> None:
    collection = collects("self_chat", count=2, rounds=5)
    assert run(collection).state == JobState.DONE
    assert fakes.asked == {"a": 18, "b": 18}  # the opening is the first of 5 × 2 utterances
    for row in rows(collection):
        assert row.draft is not None
        assert row.draft.state == DialogueState.FINISHED
        assert texts(row.draft) == [row.context[0][1], *(f"{row.system} {n}" for n in range(1, 10))]


def test_a_system_always_knows_itself_by_the_same_name(collects: Collects, fakes: FakeSystems) -> None:
    run(collects("self_chat", count=1, rounds=2, systems=_only_a()))
    assert [[m.speaker for m in question.context] for _, question in fakes.questions] == [
        ["A"],
        ["B", "A"],
        ["A", "B", "A"],
    ]
    assert len({question.seed for _, question in fakes.questions}) == 3


def _only_a() -> tuple[System, ...]:
    return tuple(System.objects.filter(name="a"))


def test_conversations_are_closed(collects: Collects, fakes: FakeSystems) -> None:
    fakes.answers["b"] = fail
    run(collects("self_chat"))
    assert fakes.handles == set()


def test_a_failing_system_leaves_its_dialogues_missing(
    collects: Collects, fakes: FakeSystems, rating: Project
) -> None:
    fakes.answers["b"] = fail
    collection = collects("static", count=3)
    job = run(collection)
    assert job.state == JobState.DONE
    assert job.result == {"dialogues": 6, "missing": 3, "planned": 6}
    missing = rows(collection, state=CollectedState.MISSING)
    assert [(str(row.system), row.error) for row in missing] == [("b", "It is down. Start it.")] * 3
    assert Task.objects.filter(project=rating).count() == 6


def test_missing_dialogues_can_be_made_later(collects: Collects, fakes: FakeSystems, rating: Project) -> None:
    fakes.answers["b"] = fail
    collection = collects("static", count=3)
    first = run(collection)
    del fakes.answers["b"]
    retry_collection(collection=collection, actor=None, enqueue=False)
    job = run(collection)
    assert job.pk != first.pk
    assert job.result == {"dialogues": 9, "missing": 0, "planned": 3}
    assert fakes.asked["a"] == 3
    assert Task.objects.filter(project=rating).count() == 9
    with pytest.raises(Refusal, match="missing"):
        retry_collection(collection=collection, actor=None, enqueue=False)


@pytest.mark.parametrize(("failures", "missing"), [(2, 0), (3, 1)])
def test_a_reply_is_tried_as_often_as_the_project_allows(
    collects: Collects, fakes: FakeSystems, failures: int, missing: int
) -> None:
    seeds: list[int] = []

    def falter(question: Question) -> str:
        seeds.append(question.seed)
        if len(seeds) <= failures:
            raise BackendError("Busy.", "Wait.", retryable=True)
        return "Here."

    fakes.answers["a"] = falter
    job = run(collects("static", count=1, systems=_only_a()))
    assert job.result["missing"] == missing
    assert len(set(seeds)) == 3


@pytest.mark.parametrize("answer", ["", " \n ", "x" * 10_001])
def test_a_blank_or_endless_reply_is_a_failure(collects: Collects, fakes: FakeSystems, answer: str) -> None:
    fakes.answers["a"] = lambda question: answer
    assert run(collects("static", count=1, systems=_only_a())).result["missing"] == 1


def test_a_cancelled_job_stops_between_replies_and_goes_on_later(
    collects: Collects, fakes: FakeSystems
) -> None:
    collection = collects("self_chat", count=6, rounds=10)
    reached = Event()

    def cancel_first(question: Question) -> str:
        if not reached.is_set() and len(question.context) == 5:
            reached.set()
            cancel_job(job=Job.objects.get(pk=collection.job_id), actor=None)
        return f"reply {len(question.context)}"

    fakes.answers["a"] = cancel_first
    assert run(collection).state == JobState.CANCELLED
    asked = sum(fakes.asked.values())
    assert asked < 2 * 6 * 19
    assert not Task.objects.filter(dialogue__collected_dialogue__isnull=False).exists()
    retry_job(job=Job.objects.get(pk=collection.job_id), actor=None, enqueue=False)
    assert run(collection).result == {"dialogues": 12, "missing": 0, "planned": 12}
    assert sum(fakes.asked.values()) == 2 * 6 * 19


def test_a_worker_that_must_end_hands_the_job_back(collects: Collects, fakes: FakeSystems) -> None:
    collection = collects("self_chat", count=6, rounds=10)

    def end_worker(question: Question) -> str:
        if len(question.context) == 3:
            worker_is_ending.set()
        return "Yes."

    fakes.answers["a"] = end_worker
    try:
        assert run(collection).state == JobState.QUEUED
    finally:
        worker_is_ending.clear()
    fakes.answers.clear()
    assert run(collection).result["dialogues"] == 12
    assert sum(fakes.asked.values()) == 2 * 6 * 19


def test_the_job_of_a_killed_worker_goes_on_without_doubles(
    collects: Collects, fakes: FakeSystems, monkeypatch: pytest.MonkeyPatch, rating: Project
) -> None:
    """Killed after the copies were made and before they were planned, and in the middle of conversations before."""
    collection = collects("self_chat", count=3, rounds=3)

    class Killed(BaseException):
        pass

    def kill(*_: Question, **__: object) -> str:
        raise Killed

    fakes.answers["b"] = lambda question: kill(question) if len(question.context) == 4 else "Well."
    with pytest.raises(Killed):
        run(collection)
    lose(collection)
    fakes.answers.clear()
    with monkeypatch.context() as patch:
        patch.setattr("assessment.collections.services.handing_over.plan_labelling", kill)
        with pytest.raises(Killed):
            run(collection)
    lose(collection)
    assert run(collection).result == {"dialogues": 6, "missing": 0, "planned": 6}
    assert Dialogue.objects.filter(project=rating).count() == Task.objects.filter(project=rating).count() == 6
    assert all(len(texts(row.draft)) == 6 for row in rows(collection))
    assert Dialogue.objects.filter(project=collection.project).count() == 6


def lose(collection: Collection) -> None:
    """The worker has sent no heartbeat for a long time."""
    Job.objects.filter(pk=collection.job_id).update(heartbeat_at=timezone.now() - timedelta(minutes=5))
    take_over_lost_jobs()


def test_a_worker_that_was_only_slow_stores_no_second_reply(collects: Collects, fakes: FakeSystems) -> None:
    """Two workers hold the job: each reply is stored once, whoever is first."""
    collection = collects("self_chat", count=1, rounds=5, systems=_only_a())
    together = threading.Barrier(2, timeout=30)

    def meet(question: Question) -> str:
        together.wait()
        return f"reply {len(question.context)}"

    fakes.answers["a"] = meet
    row = rows(collection)[0]
    workers = [threading.Thread(target=collecting._make, args=(row.pk, Event(), "en")) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert texts(rows(collection)[0].draft) == [row.context[0][1], *(f"reply {n}" for n in range(1, 10))]
    assert Dialogue.objects.filter(project=collection.project).count() == 1


def test_a_service_with_a_memory_begins_an_interrupted_conversation_again(
    collects: Collects, fakes: FakeSystems
) -> None:
    System.objects.filter(name="a").update(connector=Connector.HTTP)
    collection = collects("self_chat", count=1, rounds=3, systems=_only_a())
    turns: list[int] = []

    def falter(question: Question) -> str:
        turns.append(len(question.context))
        if len(turns) == 3:
            raise BackendError("It broke.", "Mend it.")
        return "Yes."

    fakes.answers["a"] = falter
    assert run(collection).result["missing"] == 1
    retry_collection(collection=collection, actor=None, enqueue=False)
    assert run(collection).result["missing"] == 0
    assert turns == [1, 2, 3, 1, 2, 3, 4, 5]
    assert Utterance.objects.filter(dialogue=rows(collection)[0].draft).count() == 6


def test_without_a_worker_for_models_the_job_fails_and_says_so(
    collects: Collects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody may think that the system is to blame."""
    monkeypatch.setattr(conversations, "QUEUED_SECONDS", -1.0)
    System.objects.filter(name="a").update(connector=Connector.GENERATOR, generator=create_generator())
    collection = collects("static", count=2, systems=_only_a())
    job = run(collection)
    assert job.state == JobState.FAILED
    assert "No worker generates replies" in job.error
    assert not rows(collection, state=CollectedState.MISSING)
    assert not CandidateRequest.objects.filter(state=RequestState.QUEUED).exists()


def test_a_running_job_reports_its_progress(
    collects: Collects, fakes: FakeSystems, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = collects("static", count=5)
    seen: list[tuple[int, int | None]] = []
    run_job(job_id=collection.job_id, watch=lambda job: seen.append((job.done, job.total)))
    assert seen[0] == (0, 15)
    assert seen == sorted(seen)
    assert seen[-1] == (15, 15)
