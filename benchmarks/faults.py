"""Kill processes while people write: is an acknowledged turn lost or doubled, is a request left unanswered?

    python -m benchmarks.faults [--kills 100] [--annotators 6] [--seed 1] [--json]

An embedded PostgreSQL and Redis of its own, a web server, a worker for candidates, a worker with the scheduler. At
random moments one of them gets kill -9 and is started again, as `make demo` does. The annotators behave as the page
does: a turn has a UUID and is sent again until it is acknowledged, in order, and the request for the next candidates is
followed to its end. Afterwards the database is compared with what was acknowledged.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import httpx

from benchmarks.database import set_up
from benchmarks.killing import Sender, kill_command_line, own_folder, print_findings, restart

if TYPE_CHECKING:
    from tests.processes import Stack

ROUNDS = 7
WAIT_FOR_CANDIDATES = 120.0  # seconds
SETTLE = 360.0  # seconds; a worker starts in it, on a busy machine


@dataclass(slots=True)
class Log:
    """What the annotators saw: acknowledged turns by id, how often something was sent again, what was refused."""

    acknowledged: dict[UUID, tuple[int, int, str]] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    again: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)
    stop: bool = False


@dataclass(frozen=True, slots=True)
class Findings:
    """lost, doubled, changed: acknowledged turns that the database lacks, has twice, or has with other content.

    stuck: requests for candidates neither answered nor failed nor cancelled in the end.
    """

    kills: dict[str, int]
    acknowledged: int
    dialogues_finished: int
    sent_again: int
    refused: dict[str, int]
    lost: int
    doubled: int
    changed: int
    gaps: int
    stuck: int
    requests: dict[str, int]
    longest_wait_seconds: float
    seconds: float

    @property
    def clean(self) -> bool:
        return not (self.lost or self.doubled or self.changed or self.gaps or self.stuck or self.refused)


class Annotator(Sender):
    """Writes dialogue after dialogue; everything is sent again until the server has answered it."""

    def __init__(self, client: httpx.AsyncClient, token: str, log: Log, seed: int) -> None:
        super().__init__(client, seed)
        self.log, self.headers = log, {"Authorization": f"Bearer {token}"}

    async def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        return await self.send(method, f"/api/v1/{path}", self.headers, json=body)

    async def work(self) -> None:
        while not self.log.stop:
            claimed = await self.call("POST", "projects/faults/assignments/", {"claim_id": str(uuid4())})
            if claimed.status_code != 201:
                self.log.refused[claimed.json()["code"]] += 1
                return
            await self.write_dialogue(claimed.json()["id"])

    async def write_dialogue(self, assignment: int) -> None:
        offered: dict[str, Any] | None = None
        for position in range(2 * ROUNDS):
            if self.log.stop:
                return
            turn = self.turn(assignment, position, offered)
            stored = await self.call("POST", f"assignments/{assignment}/turns/", turn)
            if stored.status_code not in (200, 201):
                self.log.refused[stored.json()["code"]] += 1
                return
            self.log.acknowledged[UUID(turn["id"])] = (assignment, position, turn["text"])
            offered = await self.candidates(stored.json()["request"])
        await self.call("POST", f"assignments/{assignment}/finish/")
        self.log.finished.add(assignment)

    def turn(self, assignment: int, position: int, offered: dict[str, Any] | None) -> dict[str, Any]:
        turn = {"id": str(uuid4()), "position": position, "text": f"turn {position} of {assignment}"}
        if offered and offered["candidates"] and self.random.random() < 0.6:
            source = self.random.randrange(len(offered["candidates"]))
            turn |= {"candidate_set": offered["candidate_set"], "source": source}
            turn["text"] = offered["candidates"][source]["text"] + self.random.choice(["", " indeed"])
        return turn

    async def candidates(self, request: dict[str, Any] | None) -> dict[str, Any] | None:
        if request is None:
            return None
        started = time.monotonic()
        while request["state"] in ("queued", "running") and time.monotonic() - started < WAIT_FOR_CANDIDATES:
            await asyncio.sleep(0.15)
            request = (await self.call("GET", f"candidate-requests/{request['id']}/")).json()
        self.log.states[request["state"]] += 1
        self.log.waits.append(time.monotonic() - started)
        return request


def kill_randomly(stack: Stack, var: Path, kills: int, seed: int, pause: tuple[float, float]) -> Counter[str]:
    """kill -9 one process after the other and start it again; the guard restarts PostgreSQL and Redis."""
    from config import embedded
    from embedded.servers import configure_servers

    chance, killed = random.Random(seed), Counter[str]()
    owned = {server.name: server for server in configure_servers(embedded.locate(var))}
    for _ in range(kills):
        time.sleep(chance.uniform(*pause))
        name = chance.choice([*stack.running, *owned])
        if name in owned:
            if process := owned[name].find_running():
                process.kill()
                killed[name] += 1
        else:
            restart(stack, name)
            killed[name] += 1
    return killed


async def wait_until_written(log: Log) -> None:
    """Wait until a turn is stored and its candidates are there: kills show nothing while nobody works."""
    deadline = time.monotonic() + SETTLE
    while not log.states["done"] and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    assert log.states["done"], f"nobody got candidates in {SETTLE} s"


async def annotate_and_kill(
    stack: Stack, var: Path, tokens: list[str], kills: int, seed: int, log: Log
) -> Counter[str]:
    async with httpx.AsyncClient(base_url=stack.url, timeout=15) as client:
        people = [Annotator(client, token, log, seed + n) for n, token in enumerate(tokens)]
        working = asyncio.gather(*(person.work() for person in people))
        await wait_until_written(log)
        killed = await asyncio.to_thread(kill_randomly, stack, var, kills, seed, (0.5, 4.0))
        log.stop = True
        await working
        log.again = sum(person.again for person in people)
        return killed


def wait_for_requests() -> None:
    """Wait until no request is queued or running: the scheduler requeues those of killed workers."""
    from django.db import Error, connection

    from generation.models import CandidateRequest

    deadline = time.monotonic() + SETTLE
    while time.monotonic() < deadline:
        try:
            if not CandidateRequest.objects.filter(state__in=["queued", "running"]).exists():
                return
        except Error:
            connection.close()
        time.sleep(0.5)


def compare(log: Log, killed: Counter[str], seconds: float) -> Findings:
    from django.db.models import Count

    from annotation.authoring.models import Turn
    from dialogues.models import Dialogue
    from generation.models import CandidateRequest

    stored = {turn.pk: turn for turn in Turn.objects.filter(undone_at=None)}
    lost = [turn for turn in log.acknowledged if turn not in stored]
    changed = [
        turn
        for turn, acknowledged in log.acknowledged.items()
        if turn in stored
        and (stored[turn].assignment_id, stored[turn].position, stored[turn].text) != acknowledged
    ]
    doubled = Turn.objects.values("dialogue", "position").annotate(n=Count("id")).filter(n__gt=1).count()
    counts = Dialogue.objects.annotate(n=Count("utterances")).values_list("utterance_count", "n")
    requests = Counter(CandidateRequest.objects.values_list("state", flat=True))
    return Findings(
        kills=dict(killed),
        acknowledged=len(log.acknowledged),
        dialogues_finished=len(log.finished),
        sent_again=log.again,
        refused=dict(log.refused),
        lost=len(lost),
        doubled=doubled,
        changed=len(changed),
        gaps=sum(count != n for count, n in counts),
        stuck=requests["queued"] + requests["running"],
        requests=dict(requests),
        longest_wait_seconds=round(max(log.waits, default=0.0), 1),
        seconds=round(seconds, 1),
    )


def create_project_with_people(count: int) -> list[str]:
    from accounts.models import Scope, User
    from accounts.services import create_token
    from annotation.authoring.services.planning import plan_dialogues
    from annotation.project_setup.services import create_project
    from generation.models import BackendKind, Generator
    from projects.models import Membership, Role

    project = create_project(slug="faults", preset="diamante", actor=None)
    generator = Generator.objects.create(
        slug="scripted", backend=BackendKind.SCRIPTED, options={"delay": 0.2}
    )
    project.authoring.generator = generator
    project.authoring.save()
    plan_dialogues(project=project, actor=None, count=1000, plan_id=uuid4())
    tokens = []
    for number in range(count):
        person = User.objects.create(username=f"annotator-{number}")
        Membership.objects.create(project=project, user=person, roles=[Role.ANNOTATOR])
        tokens.append(create_token(user=person, name="faults", scopes=[Scope.READ, Scope.ANNOTATE])[1])
    return tokens


def run(kills: int, annotators: int, seed: int, folder: Path) -> Findings:
    """Run in a process of its own, because Django is set up on servers that get killed."""
    from django.core.management import call_command

    var = folder / "var"
    set_up(var)
    from tests.processes import Stack

    call_command("migrate", verbosity=0)
    tokens = create_project_with_people(annotators)
    log, started = Log(), time.monotonic()
    with Stack.on_this_database(folder / "stack", LAPIDARY_VAR=str(var)) as stack:
        stack.web(workers=1)
        stack.worker("gpu")
        stack.worker("default", "default", "--beat", "--schedule", str(folder / "beat"))
        killed = asyncio.run(annotate_and_kill(stack, var, tokens, kills, seed, log))
        wait_for_requests()
        return compare(log, killed, time.monotonic() - started)


def main() -> int:
    parser = kill_command_line(__doc__, kills=100)
    parser.add_argument("--annotators", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with own_folder("faults", keep=options.keep) as folder:
        findings = run(options.kills, options.annotators, options.seed, folder)
    return print_findings(findings, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
