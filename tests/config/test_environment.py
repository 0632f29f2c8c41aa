"""The file .env and wrong values in it, each tried with a real process and a real environment."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import get_commands
from environs import Env

from config.checked_values import read_public_url
from config.environment import read_env_file
from config.worker_check import WORKER_COMMANDS

CHECKOUT = Path(__file__).parent.parent.parent
NOBODY = {"DATABASE_URL": "postgresql://l:l@127.0.0.1:1/l", "REDIS_URL": "redis://127.0.0.1:1/0"}
COMMANDS = {
    "settings": ["-c", "from django.conf import settings; settings.DEBUG"],
    "manage": ["manage.py", "check"],
    "gunicorn": ["-m", "gunicorn", "-c", "python:config.gunicorn", "--bind", "127.0.0.1:0"],
    "celery": ["-m", "celery", "-A", "config", "worker", "-Q", "default"],
}
WRONG = [
    "DEBUG=maybe",
    "TRUSTED_PROXIES=two",
    "DATABASE_POOL=-3",
    "DATABASE_URL=postgresql://l:secret@host:port/l",
    "REDIS_URL=redis://:secret@host:x/0",
    "DATABASE_LOCK_TIMEOUT=soon",
    "TIME_ZONE=Mars/Olympus",
    "LOG_LEVEL=NOISY",
    "API_RATE_LIMIT=many",
    "LOGIN_RATE_LIMIT=lots",
    "PUBLIC_URL=lapidary.example",
    "RETENTION=abc",
    "IMPORT_MAX_BYTES=2GB",
    "UPLOADS_AT_ONCE=0",
    "TRAINING_THREADS=-1",
]


def start(command: str, *wrong: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "LAPIDARY_VAR", "HOME") if name in os.environ}
    changes = dict(each.split("=", 1) for each in wrong)
    environment = {**kept, "DJANGO_SETTINGS_MODULE": "config.settings", **NOBODY, **changes}
    return subprocess.run(
        [sys.executable, *COMMANDS[command]],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_value_is_named_in_one_line(wrong: str) -> None:
    run = start("settings", wrong)
    [line] = run.stderr.splitlines()
    assert run.returncode != 0
    assert wrong.partition("=")[0] in line
    assert "secret" not in line


@pytest.mark.parametrize("command", ["manage", "gunicorn", "celery"])
def test_no_program_answers_a_wrong_value_with_a_traceback(command: str) -> None:
    run = start(command, "TRUSTED_PROXIES=two")
    assert run.returncode != 0
    assert 'Environment variable "TRUSTED_PROXIES" invalid' in run.stderr + run.stdout
    assert "Traceback" not in run.stderr


def test_the_web_servers_own_variables_are_named_too() -> None:
    run = start("gunicorn", "WEB_THREADS=0")
    assert run.stderr.startswith('Environment variable "WEB_THREADS" invalid')
    assert "Traceback" not in run.stderr


def test_the_file_reaches_libraries_and_the_environment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ".env"
    file.write_text('HF_TOKEN=hf_from_file\nTIME_ZONE="Europe/Vienna"\n# SIGNUP_OPEN=1\n')
    monkeypatch.setenv("TIME_ZONE", "Asia/Shanghai")
    monkeypatch.setenv("HF_TOKEN", "")  # so that it is removed again afterwards
    monkeypatch.delenv("HF_TOKEN")
    read_env_file(file)
    assert os.environ["HF_TOKEN"] == "hf_from_file"
    assert os.environ["TIME_ZONE"] == "Asia/Shanghai"
    assert "SIGNUP_OPEN" not in os.environ


def test_the_page_for_operators_without_containers_starts_every_worker_that_doctor_misses() -> None:
    page = (CHECKOUT / "docs" / "operators" / "without-containers.md").read_text(encoding="utf-8")
    assert all(f"\n{command}\n" in page for command in WORKER_COMMANDS.values())
    assert " ".join(["\npython", *COMMANDS["gunicorn"][:4]]) in page
    commands = set(re.findall(r"^python manage\.py (\w+)", page, re.MULTILINE))
    assert commands == {"migrate", "collectstatic", "create_user", "doctor"}
    assert commands <= set(get_commands())


@pytest.mark.parametrize(
    ("values", "url"),
    [
        ({}, "http://localhost:8000"),
        ({"LAPIDARY_PORT": ""}, "http://localhost:8000"),
        ({"LAPIDARY_PORT": "8200"}, "http://localhost:8200"),
        ({"LAPIDARY_PORT": "8200", "PUBLIC_URL": "https://lapidary.example/"}, "https://lapidary.example"),
    ],
)
def test_printed_addresses_have_the_port_that_is_set(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], url: str
) -> None:
    for name in ("LAPIDARY_PORT", "PUBLIC_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert read_public_url(Env()) == url


@pytest.mark.parametrize("port", ["abc", "0", "65536", "8000/x"])
def test_a_wrong_port_is_named_as_such(monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.delenv("PUBLIC_URL", raising=False)
    monkeypatch.setenv("LAPIDARY_PORT", port)
    with pytest.raises(ImproperlyConfigured, match=f"^LAPIDARY_PORT={port} is not a port"):
        read_public_url(Env())
