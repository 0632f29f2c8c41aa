"""Labelling through HTTP: claim + submit by number of annotators and size of the project.

    python -m benchmarks.labelling [--json] [--rounds 5] [--seconds 3] [--sizes 10000 100000 1000000]
                                   [--annotators 1 20 50]

A database and a web server with two processes for each size, client on the same machine. Each annotator sends a
dialogue's answers and gets the next dialogue in the answer, as the workbench does; three people a dialogue, balance on.
Sizes take turns, so that a slow spell of the machine hits all of them; medians over the rounds. Bound: /healthz.
Also the processor time of the web server and of PostgreSQL per pair, which a busy machine distorts less than pairs a
second.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import httpx

from benchmarks.authoring import measure_healthz, quantile
from benchmarks.database import scratch_database, set_up
from benchmarks.people import create_annotators, open_clients
from benchmarks.processor_time import Processes, ProcessorMeter, postgresql_processes, process_tree
from benchmarks.reporting import command_line, print_figures

OVERLAP = 3
ANSWERS = {
    "dialogue": {"A": 1, "S": 0, "E": 2},
    "utterances": {"0": {"nugget": "CNUG0"}, "1": {"nugget": "HNUG"}},
}
# Dialogues, two utterances each and tasks, made by the database itself: a million in seconds.
FILL = """
WITH made AS (
    INSERT INTO dialogues_dialogue (project_id, external_id, origin, state, review_state, split, language, domain,
        metadata, utterance_count, created_at, finished_at)
    SELECT %(project)s, 'd' || n, 'imported', 'finished', 'unreviewed', 'train', 'en', '', '{}', 2, now(), now()
    FROM generate_series(%(first)s::int, %(last)s::int) AS n RETURNING id
), said AS (
    INSERT INTO dialogues_utterance (dialogue_id, position, speaker, text, time, metadata, action)
    SELECT made.id, side, CASE side WHEN 0 THEN 'customer' ELSE 'helpdesk' END, 'Words of ' || made.id, '', '{}', ''
    FROM made, generate_series(0, 1) AS side
)
INSERT INTO annotation_task (project_id, dialogue_id, overlap, open_slots, priority, place, "group", state, created_at)
SELECT %(project)s, id, %(overlap)s, %(overlap)s, 0, (random() * 2147483646)::int, '', 'open', now() FROM made
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A web server on a database with one project of this size."""

    size: int
    url: str
    tokens: list[str]
    web: Processes
    database: Processes


@dataclass(frozen=True, slots=True)
class Load:
    """Milliseconds from sending answers to having the next dialogue, and such pairs a second over all annotators.

    web_cpu, database_cpu: milliseconds of processor time a pair, first claims and last releases included.
    """

    size: int
    annotators: int
    pairs_per_second: float
    p50: float
    p95: float
    p99: float
    web_cpu: float
    database_cpu: float


async def claim(client: httpx.AsyncClient) -> dict[str, Any]:
    address = "/api/v1/projects/bench/labelling/claim/"
    answer = await client.post(address, json={"claim_id": str(uuid4())})
    assert answer.status_code == 201, answer.text
    assignment: dict[str, Any] = answer.json()
    return assignment


async def annotate(
    client: httpx.AsyncClient, assignment: dict[str, Any], until: float, ends: list[tuple[float, float]]
) -> None:
    """Label until the time is over; appends to `ends` when each pair began and ended."""
    while time.perf_counter() < until:
        labels = {"id": str(uuid4()), "schema": 1, "answers": ANSWERS, "next_claim": str(uuid4())}
        address = f"/api/v1/labelling/{assignment['id']}/submissions/"
        started = time.perf_counter()
        answer = await client.post(address, json=labels)
        assert answer.status_code == 201, answer.text
        ends.append((started, time.perf_counter()))
        assert answer.json()["next"], answer.json()["nothing"]
        assignment = answer.json()["next"]
    address = f"/api/v1/assignments/{assignment['id']}/release/"
    (await client.post(address, json={})).raise_for_status()


async def annotate_together(url: str, tokens: list[str], seconds: float) -> tuple[list[float], int]:
    """How long each pair took that began in time, and how many ended in time. Everybody has claimed a dialogue before
    the clock starts."""
    ends: list[tuple[float, float]] = []
    async with open_clients(url, tokens) as clients:
        assignments = await asyncio.gather(*(claim(client) for client in clients))
        until = time.perf_counter() + seconds
        await asyncio.gather(
            *(
                annotate(client, assignment, until, ends)
                for client, assignment in zip(clients, assignments, strict=True)
            )
        )
    return [ended - began for began, ended in ends], sum(ended <= until for _began, ended in ends)


def measure(site: Site, annotators: int, seconds: float) -> Load:
    watches = [ProcessorMeter(site.web), ProcessorMeter(site.database)]
    took, done = asyncio.run(annotate_together(site.url, site.tokens[:annotators], seconds))
    cpu = (round(watch.seconds() * 1000 / len(took), 2) for watch in watches)
    quantiles = (round(quantile(took, share), 1) for share in (0.5, 0.95, 0.99))
    return Load(site.size, annotators, round(done / seconds, 1), *quantiles, *cpu)


def create_project_with_people(count: int) -> list[str]:
    from annotation.project_setup.services import create_project

    project = create_project(slug="bench", preset="dialeval", actor=None)
    project.labelling.balance = 1000
    project.labelling.save()
    return create_annotators(project, count)


def fill(size: int) -> None:
    from django.db import connection

    from annotation.tasks.services.assignment import reset_claim_cursors
    from projects.models import Project

    project = Project.objects.get(slug="bench")
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"project": project.pk, "first": 1, "last": size, "overlap": OVERLAP})
        cursor.execute("ANALYZE")
    reset_claim_cursors(project)


@contextmanager
def serve_project(size: int, annotators: int) -> Iterator[Site]:
    from tests.processes import Stack

    with scratch_database(f"of_{size}"), tempfile.TemporaryDirectory() as folder:
        tokens = create_project_with_people(annotators)
        fill(size)
        with Stack.on_this_database(Path(folder)) as stack:
            web = stack.web(workers=2).process
            assert web is not None
            yield Site(size, stack.url, tokens, process_tree(web.pid), postgresql_processes())


def run(sizes: list[int], annotators: list[int], seconds: float, rounds: int) -> dict[str, object]:
    loads: list[Load] = []
    with ExitStack() as opened:
        sites = [opened.enter_context(serve_project(size, max(annotators))) for size in sorted(sizes)]
        for site in sites:
            measure(site, 2, 1)  # warm
        for _round in range(rounds):
            loads += [measure(site, count, seconds) for count in annotators for site in sites]
            sites.reverse()  # so that background work of one database does not always slow the same site
        healthz_ms = measure_healthz(sites[0].url)
    return summarize(loads, healthz_ms)


def summarize(loads: Sequence[Load], healthz_ms: float) -> dict[str, object]:
    """p95_ratio_N: p95 of the largest project divided by that of the smallest in the same round, with N annotators."""
    by_case: dict[tuple[int, int], list[Load]] = {}
    for load in loads:
        by_case.setdefault((load.size, load.annotators), []).append(load)
    small, large = min(by_case)[0], max(by_case)[0]
    ratios = {
        f"p95_ratio_{count}": round(
            median(
                more.p95 / less.p95
                for more, less in zip(by_case[large, count], by_case[small, count], strict=True)
            ),
            2,
        )
        for count in dict.fromkeys(load.annotators for load in loads)
    }
    middle = [asdict(median_load(by_case[case])) for case in sorted(by_case)]
    return {"loads": middle, "healthz_ms": round(healthz_ms, 2), **ratios}


def median_load(loads: Sequence[Load]) -> Load:
    """The median of each figure of one case."""
    names = ("pairs_per_second", "p50", "p95", "p99", "web_cpu", "database_cpu")
    figures = {name: round(median(getattr(load, name) for load in loads), 1) for name in names}
    return Load(loads[0].size, loads[0].annotators, **figures)


def show(figures: dict[str, object]) -> None:
    loads = figures["loads"]
    assert isinstance(loads, list)
    heads = f"{'dialogues':>10} {'people':>6} {'pairs/s':>8} {'p50/95/99 ms':>18}"
    print(f"{heads} {'CPU ms a pair: web':>20} {'PostgreSQL':>11}")
    for row in loads:
        milliseconds = "/".join(f"{row[name]:.0f}" for name in ("p50", "p95", "p99"))
        print(
            f"{row['size']:>10,} {row['annotators']:>6} {row['pairs_per_second']:>8} {milliseconds:>18}"
            f" {row['web_cpu']:>20} {row['database_cpu']:>11}"
        )
    for name, value in figures.items():
        if name != "loads":
            print(f"{name}: {value}")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--annotators", type=int, nargs="+", default=[1, 20, 50])
    parser.add_argument("--seconds", type=float, default=3, help="per measurement")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    set_up()
    figures = run(options.sizes, options.annotators, options.seconds, options.rounds)
    print_figures(figures, as_json=options.json, show=show)


if __name__ == "__main__":
    main()
