"""Self-chats of two small models of this server, from the start to the report."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connections

from accounts.models import User
from annotation.tasks.models.work import Task, TaskState
from assessment.collections.models import CollectedDialogue, CollectedState
from assessment.collections.selectors.report import collection_report
from assessment.systems.models import Connector, System
from generation.models import BackendKind
from generation.worker import drain
from jobs.models import JobState
from jobs.services import run_job
from projects.models import Project
from tests.assessment.collections.conftest import Collects, add_dialogue
from tests.assessment.collections.raters import rate_everything
from tests.candidate_requests import create_generator
from tests.generation.conftest import tiny_model as tiny_model
from tests.sizes import SELF_CHATS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.soak]


@pytest.fixture
def models(study: Project, pair: tuple[System, ...], tiny_model: Callable[..., Path]) -> tuple[System, ...]:
    """The systems a and b are models of this server."""
    for system, shape in zip(pair, ("llama", "gpt2"), strict=True):
        system.generator = create_generator(shape, BackendKind.HF, model=str(tiny_model(shape)))
        system.connector, system.sampling = Connector.GENERATOR, {"max_new_tokens": 8}
        system.save()
    return pair


@pytest.fixture
def worker() -> Iterator[None]:
    """A thread does what a worker of the queue `gpu` does."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(0.05):
            drain("worker-1")
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.mark.usefixtures("worker")
def test_two_models_talk_to_themselves_and_are_rated(
    collects: Collects, models: tuple[System, ...], source: Project, rating: Project, raters: list[User]
) -> None:
    """Everybody likes a better: it must win every criterion, and nothing is lost or doubled on the way."""
    for n in range(SELF_CHATS):
        add_dialogue(source, f"Do you like tea number {n}?", "Yes.")
    collection = collects("self_chat", systems=models, count=SELF_CHATS, rounds=5)
    job = run_job(job_id=collection.job_id)
    assert (job.state, job.error) == (JobState.DONE, "")
    rows = CollectedDialogue.objects.filter(collection=collection)
    assert rows.count() == 2 * SELF_CHATS
    made = rows.filter(state=CollectedState.DONE)
    assert made.count() == job.result["planned"] == 2 * SELF_CHATS
    assert {row.dialogue.utterance_count for row in made.select_related("dialogue") if row.dialogue} == {10}
    assert rate_everything(rating, raters, lambda rater, system: (2, 2) if system == "a" else (1, 0)) == (
        3 * 2 * SELF_CHATS
    )
    assert not Task.objects.filter(project=rating).exclude(state=TaskState.FINAL).exists()
    report = collection_report(collection)
    assert [row.system for row in report.systems] == ["a", "b"]
    assert [row.scores["engagingness"].value for row in report.systems] == [2.0, 0.0]
    assert [row.scores["coherence"].n for row in report.systems] == [5 * SELF_CHATS] * 2
    assert report.overall_agreement.value == 1.0
