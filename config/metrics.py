"""What `/metrics` shows: counters of all web processes; queues, jobs, workers and open work (docs/operators.md)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import redis
from django.conf import settings
from django.db import Error
from django.db.models import Count, Min, QuerySet
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from annotation.tasks.models.work import Assignment, AssignmentState
from assessment.sessions.models.participants import Assignment as StudyAssignment
from assessment.sessions.models.participants import AssignmentState as StudyState
from common import clock
from generation.models import CandidateRequest, Priority, RequestState
from jobs.broker import TIMEOUT
from jobs.models import LIVE_STATES, Job, JobState
from jobs.selectors import live_workers

QUEUES: Final = ("default", "gpu", "chat", "webhooks", "training")
FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"  # config/gunicorn.py sets it
RECENTLY: Final = timedelta(days=1)
ENDED_STATES: Final = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)
OPEN_STATES: Final = (AssignmentState.ACTIVE, AssignmentState.SAVED)

Gauges = Iterator[GaugeMetricFamily]


def render_metrics() -> bytes:
    """The page in Prometheus' text format."""
    processes = REGISTRY
    if FOLDER in os.environ:
        processes = CollectorRegistry()
        multiprocess.MultiProcessCollector(processes)  # type: ignore[no-untyped-call]
    installation = CollectorRegistry()
    installation.register(InstallationState())
    return generate_latest(processes) + generate_latest(installation)


class InstallationState(Collector):
    """Gauges of the installation, read from Redis and PostgreSQL at every scrape: all web processes answer the same.

    Each query reads only rows that wait, run or ended within a day, through an index.
    """

    def collect(self) -> Gauges:
        yield from _with_up_gauge("lapidary_broker_up", "1 if Redis answers, else 0.", queue_lengths)
        yield from _with_up_gauge("lapidary_database_up", "1 if PostgreSQL answers, else 0.", database_state)


def _with_up_gauge(name: str, meaning: str, read: Callable[[], Gauges]) -> Gauges:
    """What `read` yields, or nothing of it if its server is away, and a gauge that says which."""
    try:
        gauges = list(read())
    except (redis.RedisError, Error, OSError):
        yield GaugeMetricFamily(name, meaning, value=0)
    else:
        yield from gauges
        yield GaugeMetricFamily(name, meaning, value=1)


def queue_lengths() -> Gauges:
    limits = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
    with redis.Redis.from_url(settings.REDIS_URL, **limits) as client:
        lengths = {queue: int(client.llen(queue)) for queue in QUEUES}
    yield _by_label("lapidary_queue_messages", "Messages that no worker has taken.", "queue", lengths)


def database_state() -> Gauges:
    yield from job_gauges()
    yield from candidate_gauges()
    yield from worker_gauges()
    assignments = _count_by_state(Assignment.objects.filter(state__in=OPEN_STATES), OPEN_STATES)
    assignments["study"] = StudyAssignment.objects.filter(state=StudyState.ACTIVE).count()
    meaning = "Claimed dialogues (active, saved) and participants in a study (study)."
    yield _by_label("lapidary_open_assignments", meaning, "state", assignments)


def worker_gauges() -> Gauges:
    """By queue, also those that nobody serves, and by host: a worker's name is its host's and a number."""
    rows = [
        (name.rpartition("-")[0], queue)
        for name, queues in live_workers().values_list("name", "queues")
        for queue in queues
    ]
    by_queue = Counter(queue for _host, queue in rows)
    alive = {queue: by_queue[queue] for queue in QUEUES}
    yield _by_label("lapidary_workers", "Workers with a heartbeat in the last 15 s.", "queue", alive)
    meaning = "The same, of each host."
    hosts = GaugeMetricFamily("lapidary_host_workers", meaning, labels=["host", "queue"])
    for labels, count in Counter(rows).items():
        hosts.add_metric(labels, count)
    yield hosts


def job_gauges() -> Gauges:
    live = _count_by_state(Job.objects.filter(state__in=LIVE_STATES), LIVE_STATES)
    yield _by_label("lapidary_jobs", "Jobs that wait or run.", "state", live)
    recent = Job.objects.filter(state__in=ENDED_STATES, ended_at__gte=clock.now() - RECENTLY)
    ended = _count_by_state(recent, ENDED_STATES)
    yield _by_label("lapidary_jobs_ended_day", "Jobs that ended in the last 24 hours.", "state", ended)
    waiting = Job.objects.filter(state=JobState.QUEUED).order_by().values_list("queue")
    oldest = dict.fromkeys(QUEUES, 0.0)
    oldest |= {queue: _seconds_since(since) for queue, since in waiting.annotate(Min("created_at"))}
    meaning = "How long the oldest waiting job has waited."
    yield _by_label("lapidary_job_oldest_seconds", meaning, "queue", oldest)


def candidate_gauges() -> Gauges:
    """Of requests that an annotator waits for; those made ahead for a draft may wait."""
    waiting = CandidateRequest.objects.filter(state=RequestState.QUEUED, priority=Priority.NOW)
    seen = waiting.aggregate(count=Count("pk"), since=Min("created_at"))
    yield GaugeMetricFamily(
        "lapidary_candidate_requests", "Requests for candidates that nobody has taken.", value=seen["count"]
    )
    yield GaugeMetricFamily(
        "lapidary_candidate_oldest_seconds",
        "How long the oldest of them has waited.",
        value=_seconds_since(seen["since"]),
    )


def _count_by_state(rows: QuerySet[Any], states: Iterable[str]) -> dict[str, int]:
    counts = dict(rows.order_by().values_list("state").annotate(Count("pk")))
    return {str(state): counts.get(state, 0) for state in states}


def _seconds_since(moment: datetime | None) -> float:
    return (clock.now() - moment).total_seconds() if moment else 0.0


def _by_label(name: str, meaning: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, meaning, labels=[label])
    for key, value in values.items():
        family.add_metric([str(key)], value)
    return family
