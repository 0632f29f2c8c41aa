"""Claims of annotators with and without a webhook that has a backlog of 10,000 events.

    python -m benchmarks.webhooks [--json] [--events 10000] [--annotators 8] [--seconds 6] [--pause 0.25]

A database, a web server with two processes, a worker of the queue `webhooks` with the scheduler, and a receiver in a
process of its own, all on this machine. Annotators label a dialogue, which makes its label final, pause, and claim the
next one. Periods without a webhook take turns with periods in which a webhook wants these labels and the worker
delivers the backlog, until all is delivered. Ratio: the 95th percentile of a claim in the periods with the webhook
divided by that in those without. Noise: the same for two halves of the periods without. Goal: at most 1.1.

At the end every event has arrived once, and those of a dialogue or job in order.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx

from benchmarks.authoring import quantile
from benchmarks.database import scratch_database, set_up
from benchmarks.labelling import ANSWERS, create_project_with_people, fill
from benchmarks.people import open_clients
from benchmarks.reporting import command_line, print_figures

if TYPE_CHECKING:
    from projects.models import Project, Webhook
    from tests.processes import Stack

DIALOGUES = 20_000
JOBS = 500  # subjects of the backlog
LEAST_PERIODS, MOST_PERIODS = 4, 80  # the noise is that between two quiet ones


@dataclass(slots=True)
class Period:
    """Seconds of each claim and of each submission."""

    claims: list[float] = field(default_factory=list)
    submissions: list[float] = field(default_factory=list)


async def annotate(client: httpx.AsyncClient, until: float, pause: float, period: Period) -> None:
    while time.perf_counter() < until:
        started = time.perf_counter()
        answer = await client.post("/api/v1/projects/bench/labelling/claim/", json={"claim_id": str(uuid4())})
        assert answer.status_code == 201, answer.text
        period.claims.append(time.perf_counter() - started)
        await asyncio.sleep(pause)
        labels = {"id": str(uuid4()), "schema": 1, "answers": ANSWERS}
        started = time.perf_counter()
        address = f"/api/v1/labelling/{answer.json()['id']}/submissions/"
        answer = await client.post(address, json=labels)
        assert answer.status_code == 201, answer.text
        period.submissions.append(time.perf_counter() - started)
        await asyncio.sleep(pause)


async def work_together(url: str, tokens: list[str], seconds: float, pause: float) -> Period:
    period = Period()
    async with open_clients(url, tokens) as clients:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(annotate(client, until, pause, period) for client in clients))
    return period


def receive(pipe: Connection) -> None:
    """A receiver in its own process; sends its address, and at the end what it got: (event, subject, id)."""
    from tests.projects.webhooks.receiver import receiver

    with receiver() as inbox:
        pipe.send(inbox.url)
        pipe.recv()
        pipe.send([(got.event, got.subject, got.headers["webhook-id"]) for got in inbox.got])


@contextmanager
def receiver_process() -> Iterator[Connection]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=receive, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours
    finally:
        process.kill()
        process.join()


def create_webhook(project: Project, url: str) -> Webhook:
    from projects.webhooks import services

    about: dict[str, Any] = {"url": url, "events": ["job.ended", "label.final"]}
    row, _secret = services.create_webhook(project=project, actor=None, webhook_id=uuid4(), **about)  # type: ignore[arg-type]
    return row


def store_backlog(project: Project, webhook: Webhook, events: int) -> None:
    from projects.models import Event, WebhookDelivery

    stored = Event.objects.bulk_create(
        (
            Event(
                project=project,
                subject_type="jobs.job",
                subject_id=f"job-{number % JOBS}",
                kind="state",
                before="running",
                after="done",
                data={"kind": "export"},
            )
            for number in range(events)
        ),
        batch_size=1000,
    )
    WebhookDelivery.objects.bulk_create(
        (
            WebhookDelivery(webhook=webhook, event=event, type="job.ended", subject=f"job:{event.subject_id}")
            for event in stored
        ),
        batch_size=1000,
    )


def switch(webhook: Webhook, *, on: bool) -> None:
    """Off: as if there was none, for the events too."""
    from projects.models import Webhook, WebhookState

    state = WebhookState.ON if on else WebhookState.OFF
    events = ["job.ended", "label.final"] if on else []
    Webhook.objects.filter(pk=webhook.pk).update(state=state, events=events)


def waiting() -> int:
    from projects.models import DeliveryState, WebhookDelivery

    return WebhookDelivery.objects.filter(state=DeliveryState.WAITING).count()


def run(events: int, annotators: int, seconds: float, pause: float) -> dict[str, object]:
    from annotation.tasks.models.work import Task
    from projects.models import Project
    from tests.processes import Stack

    with scratch_database(), tempfile.TemporaryDirectory() as folder, receiver_process() as pipe:
        tokens = create_project_with_people(annotators)
        project = Project.objects.get(slug="bench")
        project.labelling.overlap = 1
        project.labelling.save()
        fill(DIALOGUES)
        Task.objects.update(overlap=1, open_slots=1)
        webhook = create_webhook(project, pipe.recv())
        switch(webhook, on=False)
        store_backlog(project, webhook, events)
        with Stack.on_this_database(Path(folder)) as stack:
            start(stack)
            asyncio.run(work_together(stack.url, tokens, 4, pause))  # warm
            periods, delivering = alternate(stack, webhook, tokens, seconds, pause)
        pipe.send("end")
        return summarize(periods) | check_deliveries(pipe.recv()) | {"seconds_delivering": round(delivering)}


def start(stack: Stack) -> None:
    from jobs.selectors import live_workers
    from tests.processes import wait_until

    schedule = str(stack.folder / "beat")
    options = ["--pool", "threads", "--concurrency", "4", "--beat", "--schedule", schedule]
    stack.worker("webhooks", "webhooks", *options, DATABASE_POOL="4")
    stack.web(workers=2)
    wait_until(lambda: live_workers("webhooks").exists(), 60, "the worker")


def alternate(
    stack: Stack, webhook: Webhook, tokens: list[str], seconds: float, pause: float
) -> tuple[list[tuple[bool, Period]], float]:
    """Periods with and without the webhook, until nothing waits any more; and the seconds of those with it.

    A small backlog, as in a quick run, may be delivered before the last of them.
    """
    periods: list[tuple[bool, Period]] = []
    delivering = 0.0
    while len(periods) < LEAST_PERIODS or (waiting() and len(periods) < MOST_PERIODS):
        on = len(periods) % 2 == 1
        switch(webhook, on=on)
        time.sleep(2.5)  # the scheduler's turn; a worker ends its batch
        started = time.monotonic()
        periods.append((on, asyncio.run(work_together(stack.url, tokens, seconds, pause))))
        delivering += time.monotonic() - started if on else 0.0
    switch(webhook, on=True)
    deadline = time.monotonic() + 60
    while waiting() and time.monotonic() < deadline:
        time.sleep(0.2)
    return periods, delivering


def summarize(periods: list[tuple[bool, Period]]) -> dict[str, object]:
    kinds = {
        "without": [period for on, period in periods if not on],
        "with": [period for on, period in periods if on],
    }
    figures: dict[str, object] = {"periods": len(periods)}
    p95: dict[str, float] = {}
    for name, chosen in kinds.items():
        claims = [took for period in chosen for took in period.claims]
        submissions = [took for period in chosen for took in period.submissions]
        p95[name], p95[f"submit_{name}"] = quantile(claims, 0.95), quantile(submissions, 0.95)
        figures[f"claims_{name}"] = len(claims)
        figures[f"claim_ms_{name}"] = f"{1000 * median(claims):.1f} (p95 {p95[name]:.1f})"
        figures[f"submit_ms_{name}"] = f"{1000 * median(submissions):.1f} (p95 {p95[f'submit_{name}']:.1f})"
    quiet = kinds["without"]
    halves = [
        quantile([took for one in half for took in one.claims], 0.95) for half in (quiet[::2], quiet[1::2])
    ]
    return figures | {
        "claim_p95_ratio": round(p95["with"] / p95["without"], 2),
        "submit_p95_ratio": round(p95["submit_with"] / p95["submit_without"], 2),
        "noise_p95_ratio": round(max(halves) / min(halves), 2),
    }


def check_deliveries(got: list[tuple[int, str, str]]) -> dict[str, object]:
    """Of the receiver: how many events came, how many of them twice, how many after a later one of their subject."""
    from projects.models import DeliveryState, WebhookDelivery

    counts = Counter(id for _event, _subject, id in got)
    last: dict[str, int] = {}
    late = 0
    for event, subject, _id in got:
        late += event < last.get(subject, 0)
        last[subject] = max(event, last.get(subject, 0))
    rows = WebhookDelivery.objects
    return {
        "events": rows.count(),
        "delivered": rows.filter(state=DeliveryState.DELIVERED).count(),
        "arrived": len(counts),
        "arrived_twice": sum(count > 1 for count in counts.values()),
        "out_of_order": late,
    }


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--annotators", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=6, help="per period")
    parser.add_argument("--pause", type=float, default=0.25, help="seconds, before and after a submission")
    options = parser.parse_args()
    os.environ["WEBHOOK_NETWORKS"] = "127.0.0.0/8"
    set_up()
    figures = run(options.events, options.annotators, options.seconds, options.pause)
    print_figures(figures, as_json=options.json)


if __name__ == "__main__":
    main()
