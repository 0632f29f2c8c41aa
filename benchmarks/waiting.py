"""How long annotators wait for their candidates, with and without generating ahead of resting drafts.

    python -m benchmarks.waiting [--json] [--annotators 4] [--dialogues 1] [--rounds 7] [--model FOLDER] [--seed 1]

Simulated annotators write whole dialogues through the services of the workbench, against a Celery worker of its own
with the demo model. Dialogues with and without zero wait alternate; all annotators are in the same one at a time. The
wait runs from the call that submits the turn to the poll (every 120 ms, as the page does) that brings the candidates.

The simulated person (SIMULATED): 18 % of the turns select a candidate, 41 % revise one, 41 % are new. The person reads
for a while, then picks or types, with a pause after some words, then reads the draft over and submits. Reading and
resting take as long as people take; typing goes at 20 characters a second, about five times a good typist, so that a
run ends in minutes. Like the page, the simulated person sends a draft 150 ms after a pick and 600 ms after a key.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from benchmarks.database import scratch_database, set_up
from benchmarks.reporting import command_line

if TYPE_CHECKING:
    from annotation.tasks.models.work import Assignment
    from generation.models import CandidateRequest

POLL = 0.12  # seconds
PICKED, TYPED = 0.15, 0.6  # seconds until the page sends a draft
OPENINGS = (
    "My cat sheds everywhere this spring.",
    "I am thinking about learning to swim.",
    "Do you cook at home, or do you eat out?",
    "周末你一般都做些什么？",
    "我最近总是睡不好。",
    "It has been raining for a week now.",
)
OWN_WORDS = (
    "Honestly, I have never tried that, but I would love to.",
    "That reminds me of what happened to me last summer.",
    "What do you think I should do about it?",
    "说来话长，下次见面再慢慢告诉你吧。",
    "I will ask my sister, she knows much more about it.",
    "No way! How did you find that out?",
)
REVISIONS = (" I mean it.", " What about you?", " 你觉得呢？", " At least that is what I heard.")


@dataclass(frozen=True, slots=True)
class Person:
    """Seconds, medians of log-normal times with this spread (of the logarithm). typing: characters a second.

    hesitates: chance of a pause after a word while typing.
    """

    mix: tuple[float, float, float] = (0.18, 0.41, 0.41)
    reading: float = 1.5
    resting: float = 1.2
    pause: float = 0.5
    spread: float = 0.5
    typing: float = 20.0
    hesitates: float = 0.15


SIMULATED = Person()


@dataclass(slots=True)
class Waits:
    """The waits of one mode, in seconds. ready: candidates that came with the answer to the submission itself."""

    seconds: list[float] = field(default_factory=list)
    ready: int = 0
    failed: int = 0
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """Milliseconds. hit_rate: share of turns whose candidates were asked for before the turn was sent; ready_rate: of
    those that were also done. generated_per_turn, wasted_per_turn: candidate sets made, and made for nobody."""

    turns: int
    failed: int
    p50_ms: float
    p95_ms: float
    mean_ms: float
    ready_rate: float
    hit_rate: float
    generated_per_turn: float
    wasted_per_turn: float


class Annotator:
    """One simulated person in a thread."""

    def __init__(self, name: str, seed: int, rounds: int) -> None:
        from accounts.models import User
        from projects.models import Membership, Project, Role

        self.person = User.objects.create(username=name)
        self.projects = {slug: Project.objects.get(slug=slug) for slug in ("with", "without")}
        for project in self.projects.values():
            Membership.objects.create(project=project, user=self.person, roles=[Role.ANNOTATOR])
        self.random = random.Random(seed)
        self.rounds = rounds
        self.waits = {"with": Waits(), "without": Waits()}

    def write_dialogue(self, mode: str) -> None:
        from django.db import connections

        from annotation.tasks.services.assignment import release
        from annotation.tasks.services.claiming import claim_next_task

        try:
            assignment = claim_next_task(annotator=self.person, project=self.projects[mode], claim_id=uuid4())
            shown: Sequence[str] = ()
            set_id: int | None = None
            for position in range(self.rounds * 2 - 1):
                shown, set_id = self.write_turn(mode, assignment, position, shown, set_id)
            release(annotator=self.person, assignment_id=assignment.pk, reason="benchmark")
        finally:
            connections.close_all()

    def write_turn(
        self, mode: str, assignment: Assignment, position: int, shown: Sequence[str], set_id: int | None
    ) -> tuple[Sequence[str], int | None]:
        """Returns the candidates for the next turn."""
        text, source = self.compose(mode, assignment, shown)
        return self.submit(mode, assignment, position, text, set_id if source is not None else None, source)

    def compose(self, mode: str, assignment: Assignment, shown: Sequence[str]) -> tuple[str, int | None]:
        if not shown:
            opening = self.random.choice(OPENINGS)
            self.type(mode, assignment, "", opening)
            return opening, None
        self.rest(SIMULATED.reading)
        action = self.random.choices(("select", "revise", "rewrite"), SIMULATED.mix)[0]
        if action == "rewrite":
            text = self.random.choice(OWN_WORDS)
            self.type(mode, assignment, "", text)
            return text, None
        source = self.random.randrange(len(shown))
        text = shown[source]
        self.rest_draft(mode, assignment, text, PICKED, self.time(SIMULATED.resting))
        if action == "revise":
            revised = text + self.random.choice(REVISIONS)
            self.type(mode, assignment, text, revised)
            return revised, source
        return text, source

    def type(self, mode: str, assignment: Assignment, start: str, end: str) -> None:
        """Type from one text to a longer one, then read it over."""
        text = start
        for word in split_words(end[len(start) :]):
            time.sleep(len(word) / SIMULATED.typing)
            text += word
            if text != end and self.random.random() < SIMULATED.hesitates:
                self.rest_draft(mode, assignment, text, TYPED, self.time(SIMULATED.pause))
        self.rest_draft(mode, assignment, end, TYPED, self.time(SIMULATED.resting))

    def rest_draft(
        self, mode: str, assignment: Assignment, text: str, sent_after: float, rests: float
    ) -> None:
        """Let the draft rest for that long; the page sends it if that is long enough."""
        from annotation.authoring.services.candidates import generate_ahead

        started = time.perf_counter()
        if mode == "with" and rests >= sent_after:
            time.sleep(sent_after)
            generate_ahead(annotator=self.person, assignment_id=assignment.pk, text=text)
        time.sleep(max(0.0, rests - (time.perf_counter() - started)))

    def time(self, median: float) -> float:
        return median * self.random.lognormvariate(0.0, SIMULATED.spread)

    def rest(self, median: float) -> None:
        time.sleep(self.time(median))

    def submit(
        self,
        mode: str,
        assignment: Assignment,
        position: int,
        text: str,
        set_id: int | None,
        source: int | None,
    ) -> tuple[Sequence[str], int | None]:
        from annotation.authoring.services.turns import SentTurn, submit_turn

        sent = SentTurn(id=uuid4(), position=position, text=text.strip(), candidate_set=set_id, source=source)
        started = time.perf_counter()
        request = submit_turn(annotator=self.person, assignment_id=assignment.pk, sent=sent).request
        assert request is not None
        waits = self.waits[mode]
        waits.ready += request.state == "done"
        waits.ahead += request.wanted_at is not None and request.created_at < request.wanted_at
        self.follow(request)
        waits.seconds.append(time.perf_counter() - started)
        waits.failed += request.candidate_set is None
        candidate_set = request.candidate_set
        return (
            ([candidate["text"] for candidate in candidate_set.candidates], candidate_set.pk)
            if candidate_set
            else ((), None)
        )

    def follow(self, request: CandidateRequest) -> None:
        while request.state in ("queued", "running"):
            time.sleep(POLL)
            request.refresh_from_db()


def split_words(text: str) -> Iterator[str]:
    """Each word with the space before it; Chinese text in pieces of four characters."""
    if text.isascii():
        yield from (
            f" {word}" if number or text.startswith(" ") else word for number, word in enumerate(text.split())
        )
    else:
        yield from (text[start : start + 4] for start in range(0, len(text), 4))


def create_projects(model: str | None, dialogues: int) -> None:
    from annotation.authoring.services.planning import plan_dialogues
    from annotation.project_setup.services import create_project
    from generation.models import BackendKind, Generator

    generator = None
    if model:
        generator = Generator.objects.create(
            slug="given", backend=BackendKind.HF, options={"model": str(Path(model).resolve())}
        )
    for slug in ("with", "without"):
        project = create_project(slug=slug, preset="diamante", actor=None)
        project.authoring.generator = generator
        project.authoring.generate_ahead = slug == "with"
        project.authoring.open_tasks_per_person = 50
        project.authoring.save()
        plan_dialogues(project=project, actor=None, count=dialogues, plan_id=uuid4())


def measure(annotators: int, dialogues: int, rounds: int, model: str | None, seed: int) -> dict[str, Result]:
    from jobs.selectors import live_workers
    from tests.processes import Stack, wait_until

    create_projects(model, annotators * dialogues)
    people = [Annotator(f"annotator-{number}", seed + number, rounds) for number in range(annotators)]
    with tempfile.TemporaryDirectory() as folder, Stack.on_this_database(Path(folder)) as stack:
        stack.worker("gpu")
        wait_until(lambda: live_workers("gpu").exclude(details={}).exists(), 300, "loading the model")
        for turn in range(dialogues * 2):
            mode = "with" if turn % 2 == 0 else "without"
            run_threads([threading.Thread(target=person.write_dialogue, args=[mode]) for person in people])
    return {mode: summarize(mode, [person.waits[mode] for person in people]) for mode in ("with", "without")}


def run_threads(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def summarize(mode: str, waits: Sequence[Waits]) -> Result:
    from generation.models import CandidateRequest, RequestState

    seconds = sorted(wait for each in waits for wait in each.seconds)
    turns = len(seconds)
    requests = CandidateRequest.objects.filter(dialogue__project__slug=mode, state=RequestState.DONE)
    return Result(
        turns=turns,
        failed=sum(each.failed for each in waits),
        p50_ms=statistics.median(seconds) * 1000,
        p95_ms=seconds[int(0.95 * (turns - 1))] * 1000,
        mean_ms=statistics.fmean(seconds) * 1000,
        ready_rate=sum(each.ready for each in waits) / turns,
        hit_rate=sum(each.ahead for each in waits) / turns,
        generated_per_turn=requests.count() / turns,
        wasted_per_turn=requests.filter(wanted_at=None).count() / turns,
    )


def format_report(results: dict[str, Result], options: argparse.Namespace) -> str:
    head = f"{options.annotators} annotators, {options.rounds} rounds, 18/41/41 % select/revise/rewrite"
    lines = [
        head,
        f"{'zero wait':<10}{'turns':>6}{'p50':>9}{'p95':>9}{'ready':>8}{'hits':>7}{'sets/turn':>11}{'wasted':>8}",
    ]
    for mode, result in results.items():
        times = f"{result.p50_ms:>6.0f} ms{result.p95_ms:>6.0f} ms"
        shares = f"{result.ready_rate:>7.0%}{result.hit_rate:>7.0%}"
        work = f"{result.generated_per_turn:>11.2f}{result.wasted_per_turn:>8.2f}"
        lines.append(f"{mode:<10}{result.turns:>6}{times}{shares:>15}{work}")
    return "\n".join(lines)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--annotators", type=int, default=4)
    parser.add_argument("--dialogues", type=int, default=1, help="of each annotator, with and without each")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--model", help="a folder; default: the demo model")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    options = parse_arguments(arguments)
    set_up()
    with scratch_database():
        results = measure(options.annotators, options.dialogues, options.rounds, options.model, options.seed)
    figures = {mode: asdict(result) for mode, result in results.items()}
    print(
        json.dumps(figures | {"person": asdict(SIMULATED)})
        if options.json
        else format_report(results, options)
    )
    return figures


if __name__ == "__main__":
    main()
