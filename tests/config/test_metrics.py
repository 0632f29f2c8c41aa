"""What Prometheus reads: sums over all web processes, and gauges of queues, jobs, workers and open work."""

import re
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.tasks.models.work import Assignment
from config.metrics import render_metrics
from config.turnstile import WAITED
from generation.models import CandidateRequest
from jobs.models import Job, JobState
from jobs.services import record_heartbeat
from projects.models import Project
from tests.candidate_requests import create_dialogue, create_request
from tests.config.test_web import processes_of
from tests.processes import Stack, wait_until
from tests.redis_server import redis_server

DOCUMENTS = Path(__file__).parents[2] / "docs" / "operators.md"
REQUESTS = 'django_http_responses_total_by_status_total{status="200"}'
TOKEN = "prometheus"


def value_of(page: str, sample: str) -> float:
    found = re.search(rf"^{re.escape(sample)} (\S+)$", page, re.MULTILINE)
    assert found, f"{sample} is not in\n{page}"
    return float(found[1])


def page() -> str:
    return render_metrics().decode()


@pytest.mark.django_db
def test_jobs_and_workers_are_counted_by_state_and_queue() -> None:
    hour = timezone.now() - timedelta(hours=1)
    Job.objects.create(kind="import", created_at=hour)
    Job.objects.create(kind="training", queue="training", state=JobState.RUNNING)
    Job.objects.create(kind="export", state=JobState.FAILED, ended_at=hour)
    Job.objects.create(kind="export", state=JobState.FAILED, ended_at=hour - timedelta(days=2))
    record_heartbeat(name="big-host-17", queues=["default", "chat"], details={})
    shown = page()
    assert value_of(shown, 'lapidary_jobs{state="queued"}') == 1
    assert value_of(shown, 'lapidary_jobs{state="running"}') == 1
    assert value_of(shown, 'lapidary_jobs_ended_day{state="failed"}') == 1
    assert value_of(shown, 'lapidary_job_oldest_seconds{queue="default"}') == pytest.approx(3600, abs=60)
    assert value_of(shown, 'lapidary_job_oldest_seconds{queue="training"}') == 0
    assert value_of(shown, 'lapidary_workers{queue="chat"}') == 1
    assert value_of(shown, 'lapidary_workers{queue="gpu"}') == 0
    assert value_of(shown, 'lapidary_host_workers{host="big-host",queue="chat"}') == 1
    assert value_of(shown, 'lapidary_queue_messages{queue="gpu"}') >= 0


@pytest.mark.django_db
def test_candidates_and_assignments_that_wait_are_counted(
    project: Project, anns_assignment: Assignment
) -> None:
    before = value_of(page(), "lapidary_candidate_requests")
    request = create_request(create_dialogue(project, "Hello"))
    CandidateRequest.objects.filter(pk=request.pk).update(created_at=timezone.now() - timedelta(minutes=2))
    shown = page()
    assert value_of(shown, "lapidary_candidate_requests") == before + 1
    assert value_of(shown, "lapidary_candidate_oldest_seconds") == pytest.approx(120, abs=30)
    assert value_of(shown, 'lapidary_open_assignments{state="active"}') == 1


@pytest.mark.django_db
def test_a_scrape_takes_few_queries() -> None:
    with CaptureQueriesContext(connection) as queries:
        page()
    assert len(queries) <= 8


@pytest.mark.django_db
def test_the_documents_name_every_gauge() -> None:
    """Without `…_created`, which only a process outside of gunicorn has; with what only a web process imports."""
    ours = set(re.findall(r"^# TYPE (lapidary_\w+?)(?:_created)? ", page(), re.MULTILINE))
    ours |= {metric.name for metric in WAITED.collect()}
    assert ours == set(re.findall(r"`(lapidary_\w+)(?:\{[\w,]+\})?`", DOCUMENTS.read_text(encoding="utf-8")))


@pytest.fixture
def site(transactional_db: None, tmp_path: Path) -> Stack:
    return Stack.on_this_database(tmp_path, METRICS_TOKEN=TOKEN)


def scrape(stack: Stack) -> str:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    # A new connection each time: whichever process accepts it answers.
    answer = httpx.get(f"{stack.url}/metrics", headers=headers, timeout=30, trust_env=False)
    assert answer.status_code == 200, answer.text
    return answer.text


def ask(stack: Stack, times: int) -> None:
    for _ in range(times):
        httpx.get(f"{stack.url}/healthz", timeout=30, trust_env=False).raise_for_status()


@pytest.mark.slow
@pytest.mark.faults
def test_two_processes_are_added_up_and_neither_a_killed_one_nor_redis_is_missed(
    site: Stack, tmp_path: Path
) -> None:
    folder = tmp_path / "counters"
    folder.mkdir()
    (folder / "counter_1.db").write_bytes(b"left by an earlier start")
    with redis_server(tmp_path / "redis") as redis, site as stack:
        stack.environment = {
            **stack.environment,
            "REDIS_URL": redis.url,
            "PROMETHEUS_MULTIPROC_DIR": str(folder),
        }
        stack.web(workers=2)
        wait_until(lambda: len(counting(stack, folder)) == 2, 60, "two processes that have answered")
        before = value_of(scrape(stack), REQUESTS)
        ask(stack, 20)
        # The scrape before is counted, too.
        assert value_of(scrape(stack), REQUESTS) == before + 21
        lost = processes_of(stack)[0]
        lost.kill()
        wait_until(lambda: lost.pid not in {one.pid for one in processes_of(stack)}, 30, "its end")
        wait_until(lambda: len(processes_of(stack)) == 2, 30, "another process")
        stack.wait_for_web()
        assert value_of(scrape(stack), REQUESTS) >= before + 22
        redis.stop()
        shown = scrape(stack)
        assert value_of(shown, "lapidary_broker_up") == 0
        assert value_of(shown, "lapidary_database_up") == 1
        assert "lapidary_queue_messages{" not in shown
    assert not folder.exists()


def counting(stack: Stack, folder: Path) -> set[int]:
    """The processes that have written counters, after one more request."""
    ask(stack, 1)
    alive = {one.pid for one in processes_of(stack)}
    return {pid for pid in alive if (folder / f"counter_{pid}.db").exists()}
