"""Claiming and writing through HTTP: throughput and latency by number of annotators and size of the project.

    python -m benchmarks.authoring [--json] [--seconds 10] [--sizes 1000 100000] [--annotators 1 20 50]

One web server with two processes, scripted candidates, client on the same machine. Each annotator claims a dialogue,
sends its opening, gives it back, and claims the next. Bound: a request that only reads the clock (/healthz).
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

import httpx

from benchmarks.database import scratch_database, set_up
from benchmarks.people import create_annotators, open_clients
from benchmarks.reporting import command_line, print_figures

WEB = "bench-web"
OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND datname = current_database()"


@dataclass(frozen=True, slots=True)
class Load:
    """Milliseconds per request at the client, and pairs of claim + submit a second over all annotators.

    connections: most seen in PostgreSQL.
    """

    size: int
    annotators: int
    connections: int
    pairs_per_second: float
    claim_p50: float
    claim_p95: float
    claim_p99: float
    submit_p50: float
    submit_p95: float
    submit_p99: float


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] * 1000


async def annotate(
    client: httpx.AsyncClient, until: float, claims: list[float], submits: list[float]
) -> None:
    while time.perf_counter() < until:
        started = time.perf_counter()
        claimed = await client.post("/api/v1/projects/bench/assignments/", json={"claim_id": str(uuid4())})
        assert claimed.status_code == 201, claimed.text
        claims.append(time.perf_counter() - started)
        address = f"/api/v1/assignments/{claimed.json()['id']}"
        turn = {"id": str(uuid4()), "position": 0, "text": "My cat started shedding everywhere this spring."}
        started = time.perf_counter()
        (await client.post(f"{address}/turns/", json=turn)).raise_for_status()
        submits.append(time.perf_counter() - started)
        (await client.post(f"{address}/release/", json={})).raise_for_status()


async def annotate_together(
    url: str, tokens: list[str], seconds: float
) -> tuple[list[float], list[float], float]:
    claims: list[float] = []
    submits: list[float] = []
    async with open_clients(url, tokens) as clients:
        started = time.perf_counter()
        await asyncio.gather(*(annotate(client, started + seconds, claims, submits) for client in clients))
        return claims, submits, time.perf_counter() - started


class Connections:
    """Counts what the web server has open in PostgreSQL, ten times a second, and keeps the most. A context manager."""

    def __enter__(self) -> Connections:
        self.most, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.count)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def count(self) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            while not self.over.wait(0.1):
                cursor.execute(OTHERS, [WEB])
                self.most = max(self.most, cursor.fetchone()[0])
        connection.close()


def measure(url: str, tokens: list[str], size: int, seconds: float) -> Load:
    with Connections() as connections:
        claims, submits, took = asyncio.run(annotate_together(url, tokens, seconds))
    return Load(
        size,
        len(tokens),
        connections.most,
        round(len(submits) / took, 1),
        *(round(quantile(claims, share), 1) for share in (0.5, 0.95, 0.99)),
        *(round(quantile(submits, share), 1) for share in (0.5, 0.95, 0.99)),
    )


def measure_healthz(url: str, requests: int = 300) -> float:
    """Median milliseconds of /healthz, one request after the other."""
    with httpx.Client(base_url=url) as client:
        seconds = []
        for _ in range(requests):
            started = time.perf_counter()
            client.get("/healthz").raise_for_status()
            seconds.append(time.perf_counter() - started)
    return statistics.median(seconds) * 1000


def create_project_with_people(count: int) -> list[str]:
    from annotation.project_setup.services import create_project
    from generation.models import BackendKind, Generator

    project = create_project(slug="bench", preset="diamante", actor=None)
    project.authoring.generator = Generator.objects.create(slug="scripted", backend=BackendKind.SCRIPTED)
    project.authoring.save()
    return create_annotators(project, count)


def grow_to(size: int) -> None:
    from annotation.authoring.services.planning import plan_dialogues
    from annotation.tasks.models.work import Task
    from projects.models import Project

    missing = size - Task.objects.count()
    if missing > 0:
        plan_dialogues(project=Project.objects.get(slug="bench"), actor=None, count=missing, plan_id=uuid4())


def run(sizes: list[int], annotators: list[int], seconds: float) -> dict[str, object]:
    from tests.processes import Stack

    loads: list[Load] = []
    with scratch_database(), tempfile.TemporaryDirectory() as folder:
        tokens = create_project_with_people(max(annotators))
        with Stack.on_this_database(Path(folder)) as stack:
            stack.worker()
            stack.environment = {"PGAPPNAME": WEB}
            for size in sorted(sizes):
                grow_to(size)
                web = stack.web(workers=2)
                loads += [measure(stack.url, tokens[:count], size, seconds) for count in annotators]
                healthz_ms = measure_healthz(stack.url)
                web.stop()
    return summarize(loads, healthz_ms)


def summarize(loads: list[Load], healthz_ms: float) -> dict[str, object]:
    small, large = loads[0].size, loads[-1].size
    p95 = {(load.size, load.annotators): load.claim_p95 for load in loads}
    ratios = {
        f"claim_p95_ratio_{count}": round(p95[large, count] / p95[small, count], 2)
        for count in {load.annotators for load in loads}
    }
    return {"loads": [asdict(load) for load in loads], "healthz_ms": round(healthz_ms, 2), **ratios}


def show(figures: dict[str, object]) -> None:
    loads = figures["loads"]
    assert isinstance(loads, list)
    print(
        f"{'dialogues':>10} {'people':>6} {'pairs/s':>8} {'claim p50/95/99 ms':>22}"
        f" {'submit p50/95/99 ms':>22} {'connections':>12}"
    )
    for row in loads:
        claim = "/".join(f"{row[f'claim_p{n}']:.0f}" for n in (50, 95, 99))
        submit = "/".join(f"{row[f'submit_p{n}']:.0f}" for n in (50, 95, 99))
        print(
            f"{row['size']:>10,} {row['annotators']:>6} {row['pairs_per_second']:>8} {claim:>22}"
            f" {submit:>22} {row['connections']:>12}"
        )
    for name, value in figures.items():
        if name != "loads":
            print(f"{name}: {value}")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--annotators", type=int, nargs="+", default=[1, 20, 50])
    parser.add_argument("--seconds", type=float, default=10, help="per measurement")
    options = parser.parse_args()
    set_up()
    figures = run(options.sizes, options.annotators, options.seconds)
    print_figures(figures, as_json=options.json, show=show)


if __name__ == "__main__":
    main()
