"""A worker is killed while it collects dialogues: another one goes on, and nothing is lost or doubled."""

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.tasks.models.work import Task
from assessment.collections.models import CollectedDialogue, CollectedState, Collection
from dialogues.models import Dialogue, Utterance
from jobs.models import Job, JobState
from jobs.services import MAX_LOSSES, send, take_over_lost_jobs
from projects.models import Project
from tests.assessment.collections import conftest as parts
from tests.assessment.collections.conftest import Collects
from tests.assessment.conftest import server, study
from tests.assessment.talk import http_system, openai_system
from tests.processes import Running, Stack, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults, pytest.mark.slow]
collects, pair, rating, source = parts.collects, parts.pair, parts.rating, parts.source
__all__ = ["server", "study"]
ROUNDS = 6
OPENINGS = 4


def replies() -> int:
    """Stored so far, of both systems."""
    drafts = CollectedDialogue.objects.values("draft")
    return Utterance.objects.filter(dialogue__in=drafts).count() - drafts.exclude(draft=None).count()


def kill(worker: Running, collection: Collection) -> None:
    """As when it is out of memory; the scheduler finds out a minute later."""
    worker.kill()
    Job.objects.filter(pk=collection.job_id).update(heartbeat_at=timezone.now() - timedelta(minutes=5))
    take_over_lost_jobs()


def test_a_killed_worker_loses_and_doubles_nothing(
    collects: Collects, study: Project, rating: Project, server: str, stack: Stack
) -> None:
    """One system is asked with the whole conversation each time, the other one remembers it."""
    systems = (openai_system(study, server, "slow-0.1"), http_system(study, server, "slow-0.1"))
    collection = collects("self_chat", systems=systems, count=OPENINGS, rounds=ROUNDS)
    for kills in range(MAX_LOSSES - 1):
        worker = stack.worker("default", f"default-{kills}")
        send(collection.job_id, "default")
        done = replies()
        wait_until(lambda done=done: replies() > done, 30, f"a reply (see {worker.log})")  # type: ignore[misc]
        kill(worker, collection)
    stack.worker("default", "default-last")
    send(collection.job_id, "default")
    ended = Job.objects.filter(pk=collection.job_id, state=JobState.DONE)
    wait_until(ended.exists, 120, "the end of the job")
    assert ended.get().result == {"dialogues": 8, "missing": 0, "planned": 8}
    rows = CollectedDialogue.objects.filter(collection=collection, state=CollectedState.DONE)
    lengths = Counter(rows.values_list("draft__utterance_count", "dialogue__utterance_count"))
    assert lengths == {(2 * ROUNDS, 2 * ROUNDS): 8}
    assert Dialogue.objects.filter(project=study).count() == 8
    assert Dialogue.objects.filter(project=rating).count() == Task.objects.filter(project=rating).count() == 8
