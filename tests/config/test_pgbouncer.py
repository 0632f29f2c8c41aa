"""DATABASE_POOLER=transaction: people and workers on a real PgBouncer that lends a connection for a transaction."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import psycopg
import pytest
from django.db import connection
from environs import Env

from accounts.models import Scope, User
from accounts.services import create_token
from annotation.labelling.models.labels import Submission
from annotation.tasks.models.work import Task, TaskState
from config.database_connection import connection_settings
from dialogues.models import Dialogue
from jobs.models import Job, JobState
from preference.data.services.exports import start_export
from tests.concurrency.test_labels import OVERLAP, helpdesk, people, run_labellers
from tests.config.test_production import start
from tests.processes import ROOT, Stack, free_port, wait_until

DIALOGUES, LABELLERS, CONNECTIONS = 12, 6, 3
INI = """
[databases]
* = {server} connect_query='SET lock_timeout=10000; SET idle_in_transaction_session_timeout=60000'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
reserve_pool_size = 0
max_client_conn = 200
"""


@pytest.fixture
def pgbouncer(transactional_db: None, tmp_path: Path) -> Iterator[str]:
    """The address of a PgBouncer in front of the test database."""
    if shutil.which("pgbouncer") is None:
        pytest.skip("pgbouncer is not installed; it is in no Python package")
    database = connection.settings_dict
    names = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
    server = " ".join(f"{name}={database[key]}" for name, key in names.items() if database[key])
    port, log = free_port(), tmp_path / "pgbouncer.log"
    address = f"postgresql://{database['USER']}@127.0.0.1:{port}/{database['NAME']}"
    with TemporaryDirectory() as folder, log.open("wb") as out:
        ini = Path(folder) / "pgbouncer.ini"
        ini.write_text(INI.format(server=server, port=port, size=CONNECTIONS))
        ini.parent.chmod(0o755)  # its account is not that of the tests
        account = server_account(database["HOST"])
        process = subprocess.Popen(["pgbouncer", str(ini)], stdout=out, stderr=out, user=account)
        try:
            wait_until(lambda: answers(address, process), 10, f"pgbouncer (see {log})")
            yield address
        finally:
            process.terminate()
            process.wait(10)


def server_account(host: str) -> int | None:
    """PgBouncer refuses to run as root; the owner of PostgreSQL's socket may use it."""
    if os.geteuid():
        return None
    return Path(host).stat().st_uid if host.startswith("/") else 65534


def answers(address: str, process: "subprocess.Popen[bytes]") -> bool:
    assert process.poll() is None, "pgbouncer ended"
    try:
        psycopg.connect(address, connect_timeout=1).close()
    except psycopg.OperationalError:
        return False
    return True


def pooled_stack(folder: Path, address: str) -> Stack:
    stack = Stack.on_this_database(folder, DATABASE_POOLER="transaction")
    stack.database = address
    return stack


def test_people_label_and_workers_export_through_few_connections(pgbouncer: str, tmp_path: Path) -> None:
    project = helpdesk(DIALOGUES)
    Dialogue.objects.update(split="train")
    labellers = people(project, LABELLERS)
    scopes = [Scope.READ, Scope.ANNOTATE]
    tokens = [create_token(user=person, name="test", scopes=scopes)[1] for person in labellers]
    with pooled_stack(tmp_path, pgbouncer) as stack:
        stack.web(workers=2)
        stack.worker("default")
        claims = asyncio.run(run_labellers(stack.url, tokens))
        assert not Task.objects.exclude(open_slots=0, state=TaskState.FINAL).exists(), claims
        live = Submission.objects.filter(superseded_at=None)
        assert live.count() == DIALOGUES * OVERLAP == claims["acknowledged"]
        manager = User.objects.create(username="mara", is_superuser=True)
        export = start_export(export_id=uuid4(), project=project, actor=manager, format="dialeval")
        jobs = Job.objects.filter(pk=export.job_id)
        wait_until(lambda: jobs.exclude(state__in=["queued", "running"]).exists(), 30, "the export")
    job = jobs.get()
    assert (job.state, job.result["rows"]) == (JobState.DONE, DIALOGUES), job.error


def test_the_pooler_sets_the_timeouts(pgbouncer: str) -> None:
    with psycopg.connect(pgbouncer) as pooled:
        assert pooled.execute("SHOW lock_timeout").fetchone() == ("10s",)


def test_commands_work_and_a_backup_asks_for_the_server_itself(pgbouncer: str, tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": pgbouncer, "DATABASE_POOLER": "transaction"}
    runs = [
        subprocess.run(
            [sys.executable, "manage.py", *command], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        for command in (["migrate", "--no-input"], ["backup", str(tmp_path / "backup")])
    ]
    assert [run.returncode for run in runs] == [0, 1]
    assert "cannot work through a transaction pooler" in runs[1].stderr


def test_one_setting_switches_off_what_a_pooler_cannot_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAPIDARY_PROCESS", "web")
    monkeypatch.setenv("DATABASE_POOLER", "transaction")
    pooled = connection_settings(Env(), "postgresql://l@pooler:6432/l")
    assert pooled["DISABLE_SERVER_SIDE_CURSORS"] is True
    assert pooled["OPTIONS"] == {"connect_timeout": 5}
    monkeypatch.setenv("DATABASE_POOLER", "")
    direct = connection_settings(Env(), "postgresql://l@server/l")
    assert not direct.get("DISABLE_SERVER_SIDE_CURSORS")
    assert "lock_timeout" in direct["OPTIONS"]["options"]
    assert direct["OPTIONS"]["server_side_binding"]


def test_another_mode_is_refused() -> None:
    run = start({"DATABASE_POOLER": "statement"}, ["manage.py", "check"])
    assert run.returncode == 1
    assert run.stderr.strip() == (
        "DATABASE_POOLER=statement is not understood. Write transaction, or leave it out."
    )
