"""The doctor names what is wrong and how to mend it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from pytest_django.fixtures import Settings

from common.release import code_version
from config import doctor, worker_check
from config.findings import Finding
from generation.models import BackendKind, Generator
from jobs.folders import folder_ids
from jobs.services import record_heartbeat
from preference.registry.services.trained_models import remove_model
from projects.models import Project
from tests.disks import disk_of
from tests.preference.learning import trained_model
from tests.processes import database_url

CHECKOUT = Path(__file__).parent.parent.parent


def run_doctor(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SECRET_KEY": "0123456789" * 6, **changes}
    command = [sys.executable, "manage.py", "doctor", *arguments]
    return subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)


def states(findings: Any) -> list[str]:
    return [finding.state for finding in findings]


@pytest.mark.django_db
def test_a_sound_database_and_broker_are_ok() -> None:
    assert states(doctor.database()) == ["ok"]
    assert states(doctor.migrations()) == ["ok"]
    assert states(doctor.broker()) == ["ok"]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"LAPIDARY_VAR": "/dev/null/x", "SECRET_KEY": ""},
            "/dev/null/x/secret.key cannot be written or read",
        ),
        ({"GENERATION_BATCH": "many"}, 'Environment variable "GENERATION_BATCH" invalid'),
        ({"PRODUCTION": "1", "SECRET_KEY": "short"}, "Lapidary will not start with PRODUCTION=1: SECRET_KEY"),
    ],
)
def test_settings_that_cannot_be_read_are_one_line(changes: dict[str, str], line: str) -> None:
    run = run_doctor("--quick", **changes)
    assert run.returncode == 1
    assert run.stderr.startswith(line)
    assert len(run.stderr.splitlines()) == 1


def test_without_the_database_one_line_says_what_is_unknown() -> None:
    run = run_doctor("--json", "--quick", DATABASE_URL="postgresql://l@localhost:1/l")
    findings = json.loads(run.stdout)
    about = [finding["what"] for finding in findings if "orker" in finding["what"]]
    assert about == ["Workers are unknown until then."]
    (problem,) = [finding for finding in findings if finding["state"] == "problem"]
    assert problem["remedy"] == "Start PostgreSQL, or correct DATABASE_URL."


@contextmanager
def empty_database() -> Iterator[str]:
    """The URL of a database without tables, beside that of the tests."""
    name = f"empty_{os.getpid()}"
    with psycopg.connect(database_url(), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield f"{database_url().rpartition('/')[0]}/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.django_db
def test_a_database_without_tables_asks_for_migrations_only() -> None:
    with empty_database() as url:
        run = run_doctor("--json", "--quick", DATABASE_URL=url)
    (problem,) = [finding for finding in json.loads(run.stdout) if finding["state"] == "problem"]
    assert problem["remedy"] == "Run: manage.py migrate"


@pytest.mark.parametrize("key", ["short", "changeme" * 8])
def test_a_secret_that_can_be_guessed_is_a_problem(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    settings.SECRET_KEY = key
    monkeypatch.setenv("SECRET_KEY", key)
    problem = Finding("problem", "SECRET_KEY is easy to guess.", "Use 50 random characters or more.")
    assert problem in list(doctor.secrets())


def test_a_folder_that_cannot_be_written_is_named_with_the_reason(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings.VAR = tmp_path
    settings.FILES_ROOT = tmp_path / "file" / "files"
    settings.MODELS_ROOT = settings.FILES_ROOT / "models"
    problem = next(finding for finding in doctor.disk() if finding.state == "problem")
    assert problem.what == f"{settings.FILES_ROOT} cannot be written: Not a directory"
    assert "FILES_ROOT" in problem.remedy


@pytest.mark.django_db
def test_a_worker_of_another_release_or_disk_is_named(settings: Settings, tmp_path: Path) -> None:
    settings.FILES_ROOT, settings.MODELS_ROOT = tmp_path / "files", tmp_path / "models"
    ours = folder_ids()
    record_heartbeat(name="same", queues=[], details={}, version=code_version(), folders=ours)
    assert states(worker_check.worker_folders()) == ["ok"]
    other = {**ours, "MODELS_ROOT": "another id"}
    record_heartbeat(name="other", queues=[], details={}, version=code_version(), folders=other)
    record_heartbeat(name="old", queues=[], details={}, version="0123456789abcdef", folders=ours)
    old, disk = worker_check.worker_folders()
    assert "runs another release (0123456789ab)" in old.what
    assert f"does not read the folder {tmp_path / 'models'}" in disk.what
    assert "same volume" in disk.remedy


def test_a_dead_database_and_broker_are_problems_with_exit_code_1() -> None:
    dead = {"DATABASE_URL": "postgresql://l@localhost:1/l", "REDIS_URL": "redis://localhost:1/0"}
    run = run_doctor("--json", "--quick", **dead)
    problems = {
        finding["what"].partition(":")[0]
        for finding in json.loads(run.stdout)
        if finding["state"] == "problem"
    }
    assert run.returncode == 1
    assert {"The database does not answer", "The broker (Redis) does not answer"} <= problems


def test_lines_for_people_say_the_remedy() -> None:
    run = run_doctor("--quick", REDIS_URL="redis://localhost:1/0")
    (line,) = [line for line in run.stdout.splitlines() if "broker" in line]
    assert line.startswith("PROBLEM")
    assert line.endswith("Start Redis, or correct REDIS_URL.")


@pytest.mark.django_db
def test_a_queue_without_a_worker_is_a_problem_that_names_the_command() -> None:
    record_heartbeat(name="w1", queues=["default"], details={})
    served, candidates, chats, webhooks, training = worker_check.workers()
    missing = (candidates, chats, webhooks, training)
    assert [finding.state for finding in (served, *missing)] == ["ok"] + ["problem"] * 4
    assert "-Q gpu" in candidates.remedy
    assert "-Q chat" in chats.remedy
    assert "webhooks" in webhooks.remedy
    assert "-Q training" in training.remedy


@pytest.mark.django_db
def test_a_model_whose_files_were_removed_is_not_a_problem(
    project: Project, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FILES_ROOT, settings.MODELS_ROOT = tmp_path, tmp_path / "models"
    tried: list[str] = []

    def tries(name: str, *_about: object) -> Finding:
        tried.append(name)
        return Finding("ok", name)

    monkeypatch.setattr(doctor, "check_model", tries)
    model = trained_model(project, None, model="/models/base")
    list(doctor.generators())
    assert f"The model {model.slug}" in tried
    remove_model(model=model, actor=None)
    tried.clear()
    list(doctor.generators())
    assert f"The model {model.slug}" not in tried


@pytest.mark.django_db
def test_every_configured_model_is_tried(settings: Settings, tmp_path: Path) -> None:
    settings.GENERATION_MODEL = str(tmp_path / "nothing")
    Generator.objects.create(slug="scripted", backend=BackendKind.SCRIPTED)
    default, scripted = doctor.generators()
    assert default.state == "problem"
    assert "nothing" in default.what
    assert scripted.state == "ok"


@pytest.mark.django_db
def test_each_address_of_a_model_server_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = ["http://10.0.0.1:8000/v1", "http://10.0.0.2:8000/v1"]
    options = {"base_url": addresses, "model": "qwen"}
    Generator.objects.create(slug="qwen", backend=BackendKind.OPENAI, options=options)
    tried: dict[str, object] = {}

    def tries(name: str, _backend: str, options: dict[str, object]) -> Finding:
        tried[name] = options.get("base_url")
        return Finding("ok", name)

    monkeypatch.setattr(doctor, "check_model", tries)
    list(doctor.generators())
    assert {f"The model qwen at {address}": address for address in addresses}.items() <= tried.items()


def test_a_public_address_that_the_settings_refuse_is_a_problem(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://lapidary.example"
    settings.ALLOWED_HOSTS, settings.CSRF_TRUSTED_ORIGINS = ["localhost"], []
    assert [finding.remedy for finding in doctor.public_url() if finding.state == "problem"] == [
        "Add it to ALLOWED_HOSTS.",
        "Add it to CSRF_TRUSTED_ORIGINS.",
    ]


def test_passwords_in_the_clear_are_warned_about(settings: Settings) -> None:
    settings.PUBLIC_URL = "http://lapidary.example"
    settings.ALLOWED_HOSTS, settings.CSRF_TRUSTED_ORIGINS = ["*"], ["http://lapidary.example"]
    assert states(doctor.public_url()) == ["ok", "warning"]


def test_debug_is_warned_about(settings: Settings) -> None:
    settings.DEBUG = True
    assert Finding("warning", "DEBUG is on: error pages show settings and data.", "Set: DEBUG=0") in list(
        doctor.secrets()
    )


def test_free_space_is_reported_for_every_folder(settings: Settings, tmp_path: Path) -> None:
    settings.VAR, settings.FILES_ROOT = tmp_path, tmp_path / "not" / "yet"
    settings.MODELS_ROOT = tmp_path / "not" / "yet" / "models"
    assert [str(tmp_path) in finding.what for finding in doctor.disk()] == [True, True]


def test_the_doctor_itself_loads_no_torch() -> None:
    code = "import sys, django; django.setup(); import config.doctor; print('torch' in sys.modules)"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, env=environment, capture_output=True, text=True
    )
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("name", "value"), [("DATABASE_URL", "mysql://host/name"), ("REDIS_URL", "localhost:6379")]
)
def test_an_address_of_another_kind_is_one_line_with_an_example(name: str, value: str) -> None:
    run = run_doctor("--quick", **{name: value})
    assert run.returncode == 1
    assert run.stderr.startswith(f"{name} is not understood. Write it as ")
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("locale", "language"), [("zh_CN.UTF-8", "zh-hans"), ("en_GB.UTF-8", "en"), ("C", "en"), ("", "en")]
)
def test_doctor_speaks_the_language_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, locale: str, language: str
) -> None:
    for variable in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("LANG", locale)
    assert doctor.terminal_language() == language


def test_little_space_is_reported_in_megabytes(settings: Settings, tmp_path: Path) -> None:
    with disk_of(20 * 1024**2, tmp_path / "small") as small:
        settings.VAR = settings.FILES_ROOT = settings.MODELS_ROOT = small
        (finding,) = doctor.disk()
    assert (finding.state, finding.what) == ("problem", f"20 MB free for {small}.")


@pytest.mark.django_db
def test_a_migration_that_was_not_applied_is_named(settings: Settings) -> None:
    MigrationRecorder(connection).record_unapplied("jobs", "0004_folders_and_indexes")
    (finding,) = doctor.migrations()
    assert (finding.state, finding.remedy) == ("problem", "Run: manage.py migrate")
    assert "jobs.0004_folders_and_indexes" in finding.what


@pytest.mark.django_db
def test_old_code_on_a_newer_database_is_reported() -> None:
    MigrationRecorder(connection).record_applied("jobs", "9999_of_newer_code")
    (finding,) = doctor.migrations()
    assert (finding.state, "jobs.9999_of_newer_code" in finding.what) == ("problem", True)
    assert "restoring a backup" in finding.remedy


def test_styles_are_missed_where_pages_are_served(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PRODUCTION, settings.STATIC_ROOT = True, str(tmp_path)
    (finding,) = doctor.static_files()
    assert (finding.state, finding.remedy) == ("problem", "Run: manage.py collectstatic")
    monkeypatch.setenv("LAPIDARY_PROCESS", "worker")
    assert states(doctor.static_files()) == []
