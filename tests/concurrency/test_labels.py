"""Many concurrent labellers over HTTP on the real web server: who gets which dialogue, and what is stored."""

import asyncio
from collections import Counter
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from threading import Barrier, Event, Thread
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from django.db import connection, connections, transaction
from django.db.models import Count
from django.utils import timezone

from accounts.models import Scope, User
from accounts.services import create_token
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Submission
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.submissions import SentLabels, serve, submit_labels
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, Task, TaskState
from annotation.tasks.services.assignment import reap_expired_leases, release
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from dialogues.models import Dialogue, DialogueState, Origin, Utterance
from projects.models import Membership, Project, Role
from tests.concurrency.connections import post_with_retry
from tests.processes import Stack, wait_until
from tests.sizes import ANNOTATORS, FULL, LABELLED_DIALOGUES

DIALOGUES = LABELLED_DIALOGUES
OVERLAP = 3
BALANCE = 6
# What is held for longer is taken away; on a busy machine a claim and its labels take a second, or more.
ABANDONED = timedelta(seconds=2 if FULL else 10)
ANSWERS = {
    "dialogue": {"A": 1, "S": 0, "E": 2},
    "utterances": {"0": {"nugget": "CNUG0"}, "1": {"nugget": "HNUG"}},
}
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.soak,
    pytest.mark.alone,
]


def people(project: Project, count: int) -> list[User]:
    people = [User.objects.create(username=f"labeller-{number}") for number in range(count)]
    for person in people:
        Membership.objects.create(project=project, user=person, roles=[Role.ANNOTATOR])
    return people


def helpdesk(dialogues: int, **settings: Any) -> Project:
    project = create_project(slug="helpdesk", preset="dialeval", actor=None)
    for name, value in {"overlap": OVERLAP, "balance": BALANCE, **settings}.items():
        setattr(project.labelling, name, value)
    project.labelling.save()
    rows = Dialogue.objects.bulk_create(
        Dialogue(project=project, origin=Origin.IMPORTED, state=DialogueState.FINISHED, utterance_count=2)
        for _number in range(dialogues)
    )
    Utterance.objects.bulk_create(
        Utterance(dialogue=row, position=position, speaker=speaker, text=f"{speaker} {row.pk}")
        for row in rows
        for position, speaker in enumerate(["customer", "helpdesk"])
    )
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    return project


class Labeller:
    """An annotator with an unreliable connection: repeats requests, and sometimes abandons a claimed dialogue."""

    def __init__(self, client: httpx.AsyncClient, token: str, seed: int) -> None:
        self.client, self.rng = client, Random(seed)
        self.headers = {"Authorization": f"Bearer {token}"}
        self.seen: Counter[str] = Counter()

    async def send(self, address: str, body: dict[str, Any]) -> httpx.Response:
        return await post_with_retry(self.client, address, json=body, headers=self.headers)

    async def maybe_twice(self, address: str, body: dict[str, Any]) -> httpx.Response:
        sends = 2 if self.rng.random() < 0.3 else 1
        answers = await asyncio.gather(*(self.send(address, body) for _ in range(sends)))
        # A refused claim may succeed when repeated, because the others have caught up.
        return min(answers, key=lambda answer: answer.status_code)

    async def work(self) -> Counter[str]:
        while True:
            claimed = await self.maybe_twice(
                "/api/v1/projects/helpdesk/labelling/claim/", {"claim_id": str(uuid4())}
            )
            if claimed.status_code == 409:
                code = claimed.json()["code"]
                self.seen[code] += 1
                if code == "all_done" or self.seen[code] > 200:
                    return self.seen
                await asyncio.sleep(0.2 + self.rng.random() / 5)
                continue
            assert claimed.status_code == 201, claimed.text
            await self.finish(claimed.json()["id"])

    async def finish(self, assignment: int) -> None:
        if self.rng.random() < 0.05:
            self.seen["left"] += 1  # `expire_leases` ends its lease
            return
        labels = {"id": str(uuid4()), "schema": 1, "answers": ANSWERS}
        stored = await self.maybe_twice(f"/api/v1/labelling/{assignment}/submissions/", labels)
        if stored.status_code == 409:  # its lease expired and somebody else has it
            assert stored.json()["code"] == "lease_gone", stored.text
            self.seen["lease_gone"] += 1
        else:
            assert stored.status_code in (200, 201), stored.text
            self.seen["acknowledged"] += 1


async def expire_leases(done_working: asyncio.Event) -> None:
    """Expire the oldest leases while everybody works."""

    def expire() -> None:
        oldest = Assignment.objects.filter(state="active", claimed_at__lt=timezone.now() - ABANDONED)
        Assignment.objects.filter(pk__in=list(oldest.values_list("pk", flat=True))).update(
            lease_until=timezone.now() - timedelta(seconds=1)
        )
        reap_expired_leases()
        connections.close_all()

    while not done_working.is_set():
        await asyncio.to_thread(expire)
        await asyncio.sleep(0.3)


async def run_labellers(url: str, tokens: list[str]) -> Counter[str]:
    done_working = asyncio.Event()
    limits = httpx.Limits(max_connections=ANNOTATORS)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        reaper = asyncio.create_task(expire_leases(done_working))
        labellers = [Labeller(client, token, seed) for seed, token in enumerate(tokens)]
        claims = await asyncio.gather(*(labeller.work() for labeller in labellers))
        done_working.set()
        await reaper
    return sum(claims, Counter[str]())


def test_every_dialogue_gets_three_different_annotators(tmp_path: Path) -> None:
    project = helpdesk(DIALOGUES)
    labellers = people(project, ANNOTATORS)
    tokens = [
        create_token(user=labeller, name="test", scopes=[Scope.READ, Scope.ANNOTATE])[1]
        for labeller in labellers
    ]
    with Stack.on_this_database(tmp_path) as stack:
        stack.web(workers=2)
        claims = asyncio.run(run_labellers(stack.url, tokens))
    assert not Task.objects.exclude(open_slots=0, state=TaskState.FINAL).exists(), claims
    live = Submission.objects.filter(superseded_at=None)
    assert live.count() == DIALOGUES * OVERLAP == claims["acknowledged"]
    by_task = live.values("task").annotate(people=Count("annotator", distinct=True))
    assert {row["people"] for row in by_task} == {OVERLAP}
    shares = [labeller.submissions.count() for labeller in labellers]
    assert max(shares) - min(shares) <= BALANCE + claims["left"] + claims["lease_gone"], (shares, claims)


def run_concurrently(*works: Any) -> list[Any]:
    """Run all functions concurrently, each on its own connection."""
    start, results = Barrier(len(works)), [None] * len(works)

    def run(place: int) -> None:
        start.wait()
        try:
            results[place] = works[place]()
        except Exception as error:
            results[place] = error  # type: ignore[call-overload]
        finally:
            connections.close_all()

    threads = [Thread(target=run, args=(place,)) for place in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    return results


def has_waiter() -> bool:
    """Whether another connection waits for a lock of this transaction."""
    query = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))"
    with connection.cursor() as cursor:
        cursor.execute(query)
        return bool(cursor.fetchone()[0])


def send(assignment: Assignment, accomplished: int, id: UUID | None = None) -> None:
    answers = {**ANSWERS, "dialogue": {"A": accomplished, "S": 0, "E": 2}}
    labels = SentLabels(id=id or uuid4(), schema=1, answers=answers)
    submit_labels(annotator=assignment.annotator, assignment_id=assignment.pk, sent=labels)


def test_two_concurrent_confirmations_store_one_label() -> None:
    """One keeps their answer and one changes it. In either order they agree, and there is exactly one label."""
    project = helpdesk(12, overlap=2, resolution="agreement", balance=None)
    anna, bela = people(project, 2)
    for _dialogue in range(12):
        first, second = (
            claim_next_task(annotator=person, project=project, claim_id=uuid4()) for person in (anna, bela)
        )
        send(first, 1)
        send(second, -1)
        for held in (first, second):
            serve(assignment=Assignment.objects.get(pk=held.pk))
        done = run_concurrently(partial(send, first, 1), partial(send, second, 1))
        assert done == [None, None]
        final = FinalLabel.objects.get(task=first.task_id, superseded_at=None)
        assert (final.origin, final.answers["dialogue"]["A"]) == (LabelOrigin.CONFIRMED, 1)


def test_an_id_sent_concurrently_for_two_dialogues_is_stored_for_one() -> None:
    project = helpdesk(12, overlap=1, balance=None)
    anna, bela = people(project, 2)
    for round_number in range(1, 7):
        id = uuid4()
        held = [
            claim_next_task(annotator=person, project=project, claim_id=uuid4()) for person in (anna, bela)
        ]
        done = run_concurrently(*(partial(send, person, 1, id) for person in held))
        [refused] = [person for person in done if person is not None]
        assert isinstance(refused, Refusal), refused
        assert refused.code == "id_in_use"
        assert (
            Submission.objects.count() == Task.objects.filter(state=TaskState.FINAL).count() == round_number
        )
        release(annotator=(anna, bela)[done.index(refused)], assignment_id=held[done.index(refused)].pk)


def test_answers_sent_twice_concurrently_are_stored_once() -> None:
    project = helpdesk(6, overlap=1, balance=None)
    [anna] = people(project, 1)
    for round_number in range(1, 7):
        held, id = claim_next_task(annotator=anna, project=project, claim_id=uuid4()), uuid4()
        assert run_concurrently(*[partial(send, held, 1, id)] * 3) == [None] * 3
        assert Submission.objects.count() == FinalLabel.objects.count() == round_number


def test_leases_end_one_by_one() -> None:
    """The reaper locks one task at a time: an ended lease is free while the reaper waits for the next task."""
    project = helpdesk(2, overlap=1, balance=None)
    [anna] = people(project, 1)
    first, second = (claim_next_task(annotator=anna, project=project, claim_id=uuid4()) for _n in range(2))
    for row, ago in ((first, 2), (second, 1)):
        ended = timezone.now() - timedelta(minutes=ago)
        Assignment.objects.filter(pk=row.pk).update(lease_until=ended)
    taken = Event()

    def hold_the_second() -> str:
        with transaction.atomic():
            Task.objects.select_for_update().get(pk=second.task_id)
            taken.set()
            wait_until(has_waiter, 30, "the reaper's wait")
            return Assignment.objects.get(pk=first.pk).state

    def reap() -> int:
        assert taken.wait(30)
        return reap_expired_leases()

    assert run_concurrently(hold_the_second, reap) == ["expired", 2]
