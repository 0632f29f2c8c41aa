"""How long the boards take on a large project: statistics, review, queue, and the claim of the next dialogue to read.

    python -m benchmarks.boards [--json] [--turns 100000] [--repeats 7]

In one process, through Django's test client, so with all middleware and templates and without a network. Every board is
opened once before it is measured.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psutil

from benchmarks.database import scratch_database, set_up
from benchmarks.reporting import command_line, print_figures

ROUNDS = 7
ANNOTATORS = 20
AT_ONCE = 5000
OPENING = "My cat sheds everywhere in spring."


@dataclass(frozen=True, slots=True)
class Board:
    """Milliseconds until the whole page is rendered. busy: the part in which this process or its database
    session used a processor; the rest is waiting for a processor on a shared machine."""

    name: str
    median: float
    slowest: float
    busy: float
    queries: int


def fill(turns: int) -> None:
    """A project of finished dialogues of seven rounds, a third unreviewed, with candidates for all but openings."""
    from django.utils import timezone

    from accounts.models import User
    from annotation.expert_review.models import ExpertReview
    from annotation.project_setup.services import create_project
    from annotation.tasks.models.work import Assignment, AssignmentState, Task
    from dialogues.models import Dialogue, DialogueState, Origin, ReviewState, Split
    from projects.models import Membership, Role

    mara = User.objects.create_user("mara")
    project = create_project(slug="bench", preset="diamante", actor=mara)
    people = [User.objects.create_user(f"person{n}") for n in range(ANNOTATORS)]
    for person in people:
        Membership.objects.create(project=project, user=person, roles=[Role.ANNOTATOR])
    carlos = User.objects.create_user("carlos")
    Membership.objects.create(project=project, user=carlos, roles=[Role.CONTROLLER])
    dice, now = random.Random(1), timezone.now()
    reviewed = [ReviewState.PASSED, ReviewState.PASSED, ReviewState.UNREVIEWED]
    dialogues = Dialogue.objects.bulk_create(
        Dialogue(
            project=project,
            origin=Origin.AUTHORED,
            state=DialogueState.FINISHED,
            review_state=reviewed[n % 3] if n % 30 else ReviewState.VETOED,
            split=dice.choices(Split.values, (8, 1, 1))[0],
            utterance_count=2 * ROUNDS,
        )
        for n in range(turns // (2 * ROUNDS))
    )
    tasks = Task.objects.bulk_create(Task(project=project, open_slots=0) for _dialogue in dialogues)
    assignments = Assignment.objects.bulk_create(
        Assignment(
            task=task,
            project=project,
            annotator=dice.choice(people),
            dialogue=dialogue,
            claim_id=uuid4(),
            lease_until=now,
            state=AssignmentState.SUBMITTED,
            submitted_at=now - timedelta(days=dice.random() * 50),
        )
        for task, dialogue in zip(tasks, dialogues, strict=True)
    )
    ExpertReview.objects.bulk_create(
        ExpertReview(dialogue=dialogue, reviewer=carlos, verdict="pass", decided_at=now)
        for dialogue in dialogues
        if dialogue.review_state == ReviewState.PASSED
    )
    for first in range(0, len(assignments), AT_ONCE // ROUNDS):
        _write_turns(assignments[first : first + AT_ONCE // ROUNDS], dice)
    _vacuum()


def _write_turns(assignments: list, dice: random.Random) -> None:  # type: ignore[type-arg]
    from annotation.authoring.models import Turn
    from dialogues.models import CandidateSet, Utterance
    from generation.models import CandidateRequest, RequestState

    places = [(assignment, position) for assignment in assignments for position in range(2 * ROUNDS)]
    sets = CandidateSet.objects.bulk_create(
        CandidateSet(dialogue=assignment.dialogue, position=position, candidates=[{"text": "Yes."}] * 7)
        for assignment, position in places
        if position
    )
    sets_by_place = {
        (candidate_set.dialogue_id, candidate_set.position): candidate_set for candidate_set in sets
    }
    utterances, turns, requests = [], [], []
    for assignment, position in places:
        candidate_set = sets_by_place.get((assignment.dialogue_id, position))
        action = (
            dice.choices(["select", "revise", "rewrite"], (18, 41, 41))[0] if candidate_set else "rewrite"
        )
        provenance = {
            "action": action,
            "candidate_set": candidate_set,
            "source": dice.randrange(7) if action != "rewrite" else None,
            "edit_distance": {"select": 0, "revise": dice.randint(1, 60)}.get(action),
        }
        place_and_text = {
            "dialogue": assignment.dialogue,
            "position": position,
            "text": "My cat sheds everywhere in spring.",
        }
        sent_at = assignment.submitted_at
        utterance = Utterance(speaker="AB"[position % 2], **place_and_text, **provenance)
        utterances.append(utterance)
        timed = {"active_ms": dice.randint(3000, 60_000), "idle_ms": 0, "stored_at": sent_at}
        turns.append(Turn(assignment=assignment, utterance=utterance, **timed, **place_and_text))
        if candidate_set:
            requests.append(
                CandidateRequest(
                    dialogue=assignment.dialogue, position=position, context_hash=str(position), seed=1,
                    state=RequestState.DONE, candidate_set=candidate_set, created_at=sent_at, wanted_at=sent_at,
                    ended_at=sent_at + timedelta(milliseconds=dice.randint(0, 900)),
                )
            )  # fmt: skip
    Utterance.objects.bulk_create(utterances)
    Turn.objects.bulk_create(turns)
    CandidateRequest.objects.bulk_create(requests)


def _vacuum() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def measure(name: str, person: str, address: str, repeats: int, method: str = "get") -> Board:
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from accounts.models import User

    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.get(username=person))
    with CaptureQueriesContext(connection) as queries:
        answer = getattr(client, method)(address)
    assert answer.status_code in (200, 302), answer.status_code
    query_count = len(queries)  # the next request resets them
    milliseconds, busy_before = [], processor_seconds(connection)
    for _repeat in range(repeats):
        started = time.perf_counter()
        getattr(client, method)(address)
        milliseconds.append((time.perf_counter() - started) * 1000)
    busy = (processor_seconds(connection) - busy_before) * 1000 / repeats
    return Board(
        name,
        round(statistics.median(milliseconds), 1),
        round(max(milliseconds), 1),
        round(busy, 1),
        query_count,
    )


def processor_seconds(connection: Any) -> float:
    """Seconds of processor time so far, of this process and of its database session if that runs on this machine."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        session = cursor.fetchone()[0]
    try:
        times = psutil.Process(session).cpu_times()
    except psutil.NoSuchProcess:  # a database on another machine
        return time.process_time()
    return time.process_time() + float(times.user + times.system)


def show(figures: dict[str, Any]) -> None:
    print(f"{figures['turns']} turns; ms, median of {figures['repeats']}")
    for board in figures["boards"]:
        times = f"{board['median']:8.1f}   slowest {board['slowest']:8.1f}   busy {board['busy']:8.1f}"
        print(f"{board['name']:16} {times}   queries {board['queries']}")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    set_up()
    with scratch_database():
        fill(options.turns)
        boards = [
            measure("statistics", "mara", "/p/bench/statistics/", options.repeats),
            measure("review", "carlos", "/p/bench/review/", options.repeats),
            measure("next to review", "carlos", "/p/bench/review/next/", options.repeats, "post"),
            measure("queue", "person1", "/p/bench/queue/", options.repeats),
            measure("project", "mara", "/p/bench/", options.repeats),
        ]
    about = {"turns": options.turns, "repeats": options.repeats}
    print_figures({**about, "boards": [asdict(board) for board in boards]}, as_json=options.json, show=show)


if __name__ == "__main__":
    main()
