"""Live assessment under load: how much the platform adds to a reply, and whether kill -9 loses or doubles a turn.

    python -m benchmarks.assessment [--participants 200] [--seconds 120] [--kills 6] [--model-conversations 32] [--json]

An embedded PostgreSQL and Redis of its own, one web server, one worker of the queue `chat` with 64 threads, one with
the scheduler, and an OpenAI-compatible server process that takes a fixed time for every reply. The participants enter
by join links and write a message every 15 seconds through the addresses that their page uses; the equal delay of
replies is 0. Overhead is what a reply takes beyond the fixed time: until it is stored, and until the participant has
it, which includes asking for it every 300 ms. Participants, web server and workers share the machine.

Then the web server and the chat worker get kill -9 in turn while everybody goes on, and the database is compared with
what was acknowledged. Last, the shipped model answers one turn of each of several conversations: in batches through
generation's queue, and one at a time. Goal on two cores: overhead of at most 100 ms (median) and 400 ms (95th
percentile), nothing lost or doubled.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import httpx

from benchmarks.database import set_up
from benchmarks.killing import Sender, kill_command_line, own_folder, print_findings, restart
from benchmarks.timing import Case, time_in_turn

if TYPE_CHECKING:
    from projects.models import Project
    from tests.processes import Stack

ROOT = Path(__file__).parent.parent
SLUG = "load"
EVERY = 15.0  # seconds between the messages of one participant
SERVER_SECONDS = 0.5  # what the system under test takes for a reply
PATIENCE = 120.0  # seconds for one reply, kills included
SETTLE = 60.0  # seconds
ENTERING = 8  # participants that enter at the same time


@dataclass(slots=True)
class Log:
    """What participants saw. acknowledged: text by turn id. seen: seconds from the message to its reply, by turn id."""

    acknowledged: dict[UUID, str] = field(default_factory=dict)
    seen: dict[UUID, float] = field(default_factory=dict)
    states: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    again: int = 0
    stop: bool = False


@dataclass(frozen=True, slots=True)
class Findings:
    """stored_ms, seen_ms: overhead of a reply, median and 95th percentile, without kills. lost, doubled: acknowledged
    turns that the database lacks, and turns, utterances or replies that it has twice. unanswered: turns without a reply
    in the end."""

    participants: int
    messages: int
    messages_per_second: float
    stored_ms: tuple[int, int]
    seen_ms: tuple[int, int]
    kills: dict[str, int]
    sent_again: int
    longest_reply_seconds: float
    refused: dict[str, int]
    lost: int
    doubled: int
    unanswered: int
    replies_per_second_batched: float
    replies_per_second_one_at_a_time: float

    @property
    def clean(self) -> bool:
        return not (self.lost or self.doubled or self.unanswered or self.refused)


class Participant(Sender):
    """A browser that took part: its cookies, its session, and what it sends until it is acknowledged."""

    def __init__(self, url: str, log: Log, seed: int) -> None:
        client = httpx.AsyncClient(
            base_url=url,
            timeout=15,
            follow_redirects=True,
            headers={"Accept": "application/json"},
            limits=httpx.Limits(max_connections=1),
            verify=False,  # no certificates are read: the server is on this machine
            trust_env=False,
        )
        super().__init__(client, seed, patience=PATIENCE)
        self.log, self.session = log, 0

    async def call(self, method: str, path: str, **content: Any) -> httpx.Response:
        headers = {"X-CSRFToken": self.client.cookies.get("csrftoken") or ""}
        return await self.send(method, f"/join/{SLUG}/{path}", headers, **content)

    async def enter(self, name: str) -> None:
        await self.client.get(f"/join/{SLUG}/?PROLIFIC_PID={name}", headers={"Accept": "text/html"})
        await self.call("POST", "consent/")

    async def start(self) -> None:
        opinion = {"session": str(self.session), "topic": "tea", "opinion": "like"}
        await self.call("POST", "start/", data=opinion)

    async def write(self, until: float, first: float) -> None:
        """A message every EVERY seconds until then."""
        await asyncio.sleep(first)
        while not self.log.stop and time.monotonic() < until:
            started = time.monotonic()
            await self.exchange()
            await asyncio.sleep(max(0.0, started + EVERY - time.monotonic()))

    async def exchange(self) -> None:
        turn, started = uuid4(), time.monotonic()
        text = f"message {turn}"
        body = {"id": str(turn), "session": self.session, "text": text, "writing": {"typing_ms": 900}}
        answer = await self.call("POST", "turns/", json=body)
        if answer.status_code != 201:
            self.log.refused[answer.text[:80]] += 1
            return
        self.log.acknowledged[turn] = text
        while time.monotonic() - started < PATIENCE:
            status = (await self.call("GET", f"turns/{turn}/")).json()
            if status["state"] != "waiting":
                self.log.states[status["state"]] += 1
                self.log.seen[turn] = time.monotonic() - started
                return
            await asyncio.sleep(status["retry_after_ms"] / 1000)


def create_study(server: str, participants: int) -> Project:
    from annotation.project_setup.services import create_project
    from assessment.sessions.services.runs import create_run, open_run
    from assessment.setup.models import TopicMode
    from assessment.systems.models import Connector, System
    from assessment.systems.services.systems import create_system

    project = create_project(slug=SLUG, preset="live-assessment", actor=None)
    settings = project.assessment
    settings.signed_links, settings.inputs, settings.ordinary_systems = False, 1, 1
    settings.delay_ms = settings.delay_per_character_ms = 0
    settings.save()
    options = {"base_url": f"{server}/slow-{SERVER_SECONDS}/v1", "model": "slow"}
    create_system(project=project, actor=None, name="slow", connector=Connector.OPENAI, options=options)
    System.objects.create(project=project, name="degraded", connector=Connector.DEGRADED, corpus=project)
    run = create_run(
        project=project, actor=None, creation_id=uuid4(), places=participants, topic_mode=TopicMode.FREE
    )
    open_run(run=run, actor=None, accepts_unproven=True)
    return project


def find_sessions() -> dict[str, int]:
    """The session with the slow system by participant; the degraded ones go, so that it is everybody's first."""
    from assessment.sessions.models.conversations import Session

    Session.objects.filter(system__name="degraded").delete()
    rows = Session.objects.values_list("assignment__participant__panel_id", "pk")
    return {str(name): key for name, key in rows}


async def enter_all(people: dict[str, Participant]) -> None:
    places = asyncio.Semaphore(ENTERING)

    async def enter(name: str, person: Participant) -> None:
        async with places:
            await person.enter(name)

    await asyncio.gather(*(enter(name, person) for name, person in people.items()))
    sessions = await asyncio.to_thread(find_sessions)

    async def start(name: str, person: Participant) -> None:
        person.session = sessions[name]
        async with places:
            await person.start()

    await asyncio.gather(*(start(name, person) for name, person in people.items()))


async def write_all(people: dict[str, Participant], seconds: float) -> None:
    until, chance = time.monotonic() + seconds, random.Random(1)
    await asyncio.gather(*(person.write(until, chance.uniform(0, EVERY)) for person in people.values()))


def kill_in_turn(stack: Stack, kills: int) -> Counter[str]:
    killed: Counter[str] = Counter()
    for number in range(kills):
        time.sleep(5)
        name = ("web", "chat")[number % 2]
        restart(stack, name)
        killed[name] += 1
    stack.wait_for_web()
    return killed


async def measure(
    stack: Stack, participants: int, seconds: float, kills: int
) -> tuple[Log, set[UUID], Counter[str]]:
    """What everybody saw, the turns that were sent without kills, and the kills."""
    log = Log()
    people = {f"p{n}": Participant(stack.url, log, n) for n in range(participants)}
    await enter_all(people)
    await write_all(people, seconds)
    quiet = set(log.acknowledged)
    writing = asyncio.create_task(write_all(people, 3600))
    killed = await asyncio.to_thread(kill_in_turn, stack, kills)
    log.stop = True
    await writing
    log.again = sum(person.again for person in people.values())
    await asyncio.gather(*(person.client.aclose() for person in people.values()))
    return log, quiet, killed


def wait_for_turns() -> None:
    from assessment.sessions.models.conversations import Turn

    deadline = time.monotonic() + SETTLE
    while Turn.objects.filter(state__in=["waiting", "calling"]).exists() and time.monotonic() < deadline:
        time.sleep(0.5)


def percentiles_ms(seconds: list[float]) -> tuple[int, int]:
    """Median and 95th percentile."""
    ordered = sorted(seconds) or [0.0]
    return tuple(
        round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]) for share in (0.5, 0.95)
    )  # type: ignore[return-value]


def count_doubled() -> int:
    """Turns of one number, and dialogues whose utterances are not two for each turn."""
    from django.db.models import Count

    from assessment.sessions.models.conversations import Session

    counted = Session.objects.filter(dialogue__isnull=False).annotate(
        turn_count=Count("turns", distinct=True), texts=Count("dialogue__utterances", distinct=True)
    )
    return sum(row.texts > 2 * row.turn_count or row.input_count != row.turn_count for row in counted)


def compare(
    log: Log, quiet: set[UUID], killed: Counter[str], seconds: float, rates: tuple[float, float]
) -> Findings:
    from assessment.sessions.models.conversations import Turn, TurnState

    turns = {turn.pk: turn for turn in Turn.objects.select_related("input")}
    lost = [
        key for key, text in log.acknowledged.items() if key not in turns or turns[key].input.text != text
    ]
    replied = [turns[key] for key in quiet if key in turns and turns[key].replied_at]
    stored = [
        (turn.replied_at - turn.sent_at).total_seconds() - SERVER_SECONDS
        for turn in replied
        if turn.replied_at
    ]
    seen = [log.seen[key] - SERVER_SECONDS for key in quiet if key in log.seen]
    return Findings(
        participants=Turn.objects.values("session").distinct().count(),
        messages=len(log.acknowledged),
        messages_per_second=round(len(quiet) / seconds, 1),
        stored_ms=percentiles_ms(stored),
        seen_ms=percentiles_ms(seen),
        kills=dict(killed),
        sent_again=log.again,
        longest_reply_seconds=round(max(log.seen.values(), default=0.0), 1),
        refused=dict(log.refused),
        lost=len(lost),
        doubled=count_doubled(),
        unanswered=sum(turn.state != TurnState.REPLIED for turn in turns.values()),
        replies_per_second_batched=round(rates[0], 1),
        replies_per_second_one_at_a_time=round(rates[1], 1),
    )


def measure_model(conversations: int) -> tuple[float, float]:
    """Replies a second of the shipped model: in batches, and one at a time."""
    from django.conf import settings

    from annotation.project_setup.services import create_project
    from generation import worker

    project = create_project(slug="model", preset="live-assessment", actor=None)
    batch = settings.GENERATION_BATCH

    def drain(size: int) -> None:
        settings.GENERATION_BATCH = size
        while worker.drain("benchmark"):
            pass

    cases = {
        "batched": Case(lambda: drain(batch), lambda: request_replies(project, conversations)),
        "one at a time": Case(lambda: drain(1), lambda: request_replies(project, conversations)),
    }
    timings = time_in_turn(cases, rounds=3)
    return conversations / timings["batched"].median, conversations / timings["one at a time"].median


def request_replies(project: Project, conversations: int) -> None:
    """One turn of each of so many new conversations."""
    from dialogues.models import Dialogue, DialogueState, Origin, Split, Utterance
    from generation.protocol import Sampling
    from generation.services import CandidateOptions, request_candidates

    options = CandidateOptions(generator=None, count=1, sampling=Sampling())
    for number in range(conversations):
        dialogue = Dialogue.objects.create(
            project=project,
            origin=Origin.CHATTED,
            state=DialogueState.WRITING,
            split=Split.TRAIN,
            utterance_count=3,
        )
        Utterance.objects.bulk_create(
            Utterance(
                dialogue=dialogue, position=n, speaker="AB"[n % 2], text=f"I like the number {number + n}."
            )
            for n in range(3)
        )
        request_candidates(dialogue=dialogue, options=options)


@contextmanager
def system_server(folder: Path) -> Iterator[str]:
    """The address of the server process of the tests, whose first path segment says how it behaves."""
    command = [sys.executable, "-P", str(ROOT / "tests" / "assessment" / "system_server.py")]
    with (folder / "system.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        try:
            assert process.stdout
            yield f"http://127.0.0.1:{process.stdout.readline().decode().strip()}"
        finally:
            process.kill()
            process.wait()


def run(options: Any, folder: Path) -> Findings:
    from django.core.management import call_command

    var = folder / "var"
    set_up(var)
    from tests.processes import Stack

    call_command("migrate", verbosity=0)
    rates = measure_model(options.model_conversations)
    environment = {"LAPIDARY_VAR": str(var), "LOG_LEVEL": "WARNING"}
    with system_server(folder) as server, Stack.on_this_database(folder / "stack", **environment) as stack:
        create_study(server, options.participants)
        stack.chat_worker(threads=64)
        stack.worker("default", "default", "--beat", "--schedule", str(folder / "beat"))
        stack.web(workers=1)
        log, quiet, killed = asyncio.run(measure(stack, options.participants, options.seconds, options.kills))
        wait_for_turns()
        return compare(log, quiet, killed, options.seconds, rates)


def main() -> int:
    parser = kill_command_line(__doc__, kills=6)
    parser.add_argument("--participants", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120, help="of the measurement without kills")
    parser.add_argument("--model-conversations", type=int, default=32)
    options = parser.parse_args()
    with own_folder("assessment", keep=options.keep) as folder:
        findings = run(options, folder)
    return print_findings(findings, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
