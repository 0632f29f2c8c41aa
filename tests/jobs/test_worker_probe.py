"""The health check of a worker's container, as compose.yaml writes it."""

import os
import socket
import subprocess
import sys
from datetime import timedelta

import pytest
import yaml
from django.utils import timezone

from jobs import worker_probe
from jobs.models import Worker
from jobs.selectors import ALIVE_FOR
from jobs.services import record_heartbeat
from jobs.tasks import dead_neighbours
from tests.processes import ROOT, database_url

HERE = f"{socket.gethostname()}-1"


def run_check(address: str) -> subprocess.CompletedProcess[str]:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    python, *words = compose["x-worker"]["healthcheck"]["test"][1:]
    assert python == "python"
    environment = os.environ | {"DATABASE_URL": address}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.django_db(transaction=True)
def test_a_worker_of_this_machine_is_alive_while_its_heartbeat_is_fresh() -> None:
    for other in (f"x{HERE}", f"{socket.gethostname()}-2-1"):
        record_heartbeat(name=other, queues=["gpu"], details={})
    assert "No worker of this machine" in run_check(database_url()).stderr
    record_heartbeat(name=HERE, queues=["gpu"], details={})
    Worker.objects.update(seen_at=timezone.now() + timedelta(hours=1))  # fresh, however busy this machine is
    assert run_check(database_url()).returncode == 0
    Worker.objects.update(seen_at=timezone.now() - ALIVE_FOR - timedelta(seconds=1))
    assert run_check(database_url()).returncode == 1


def test_a_database_that_is_away_is_named() -> None:
    ended = run_check("postgresql://l@localhost:1/l")
    assert ended.returncode == 1
    assert "Connection refused" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_heartbeat_is_fresh_for_as_long_as_elsewhere() -> None:
    assert timedelta(seconds=worker_probe.ALIVE_SECONDS) == ALIVE_FOR


def test_a_worker_of_a_machine_with_a_longer_name_is_not_taken_for_a_dead_one() -> None:
    host, gone = socket.gethostname(), 2**22 + 7  # no process has this number
    alive = [f"{host}-{os.getppid()}", f"{host}-2-{gone}", f"x{host}-{gone}", f"{host}-"]
    assert dead_neighbours([*alive, f"{host}-{gone}", f"{host}-{os.getpid()}"]) == [
        f"{host}-{gone}",
        f"{host}-{os.getpid()}",
    ]
