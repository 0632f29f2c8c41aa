"""What balancers, deploy scripts and Prometheus read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from config.busy_threads import BUSY_THREADS
from config.metrics import QUEUES
from jobs.services import record_heartbeat

CHECKOUT = Path(__file__).parent.parent.parent
ASK = """
import django; django.setup()
from django.test import Client
from pytest_django.fixtures import Settings
for path in ("/healthz", "/readyz"):
    response = Client().get(path, headers={"host": "localhost"})
    print(path, response.status_code, response.content.decode().strip())
"""


def test_alive_is_answered_without_the_database(client: Client) -> None:
    assert client.get("/healthz").content == b"ok\n"


@pytest.mark.django_db
def test_a_missing_worker_is_reported_and_keeps_nobody_from_saving(client: Client) -> None:
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {
        "database": "ok",
        "broker": "ok",
        "threads": "ok",
        "worker_default": "failed",
        "worker_gpu": "failed",
        "worker_chat": "failed",
        "worker_webhooks": "failed",
        "worker_training": "failed",
    }


@pytest.mark.django_db
def test_required_workers_must_serve_every_queue(client: Client) -> None:
    record_heartbeat(name="w1", queues=["default"], details={})
    assert client.get("/readyz?workers=required").status_code == 503
    record_heartbeat(name="w2", queues=["gpu"], details={})
    assert client.get("/readyz?workers=required").status_code == 503
    record_heartbeat(name="w3", queues=["training", "chat", "webhooks"], details={})
    response = client.get("/readyz?workers=required")
    assert response.status_code == 200
    assert set(response.json().values()) == {"ok"}
    assert len(response.json()) == 3 + len(QUEUES)


def test_a_lost_database_and_broker_are_named_while_the_process_lives() -> None:
    dead = {"DATABASE_URL": "postgresql://l@localhost:1/l", "REDIS_URL": "redis://localhost:1/0"}
    environment = {**os.environ, **dead, "DJANGO_SETTINGS_MODULE": "config.settings"}
    run = subprocess.run(
        [sys.executable, "-c", ASK], cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=True
    )
    alive, ready = run.stdout.splitlines()
    assert alive == "/healthz 200 ok"
    assert ready.startswith("/readyz 503")
    assert '"database": "failed"' in ready
    assert '"broker": "failed"' in ready


@pytest.mark.django_db
def test_a_lost_broker_is_reported_and_keeps_nobody_from_saving(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.health.broker_answers", lambda: False)
    response = client.get("/readyz")
    assert (response.status_code, response.json()["broker"]) == (200, "failed")
    assert client.get("/readyz?workers=required").status_code == 503


@pytest.mark.django_db
@pytest.mark.parametrize(("busy", "status", "state"), [(63, 200, "ok"), (64, 503, "failed")])
def test_no_free_thread_is_reported(
    client: Client, monkeypatch: pytest.MonkeyPatch, busy: int, status: int, state: str
) -> None:
    monkeypatch.setattr(BUSY_THREADS, "total", 64)
    monkeypatch.setattr(BUSY_THREADS, "busy", busy)
    response = client.get("/readyz")
    assert (response.status_code, response.json()["threads"]) == (status, state)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("token", "given"), [("", ""), ("", "Bearer "), ("right", ""), ("right", "Bearer wrong")]
)
def test_metrics_are_hidden_without_the_token(
    client: Client, settings: Settings, token: str, given: str
) -> None:
    settings.METRICS_TOKEN = token
    assert client.get("/metrics", headers={"authorization": given}).status_code == 404


@pytest.mark.django_db
def test_metrics_count_requests(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = "right"
    response = client.get("/metrics", headers={"authorization": "Bearer right"})
    assert b"django_http_requests_total_by_method_total" in response.content
