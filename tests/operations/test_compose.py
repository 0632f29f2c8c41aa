"""compose.yaml as docs/operators.md says: build, start, work, restart, back up, restore into empty volumes.

Needs a Docker daemon with compose, which is in no Python package; skipped without. It builds the images, so it takes
minutes, and runs in `make soak` only. What the build needs beside PyPI can be given by TORCH_INDEX in the environment.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from tests.processes import ROOT, free_port, wait_until
from tests.sizes import FULL

pytestmark = pytest.mark.soak
NOT_COPIED: Final = shutil.ignore_patterns(
    ".git", ".venv", "var", "node_modules", "__pycache__", ".*_cache", ".env*"
)
NAME: Final = "lapidary.example.org"
# What the proxy in front would set.
PROXIED: Final = {"Host": NAME, "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.5"}
PASSWORD: Final = secrets.token_urlsafe(16)
TOKEN: Final = """
from accounts.models import Scope, User
from accounts.services import create_token
print(create_token(user=User.objects.get(username="olga"), name="walk", scopes=list(Scope))[1])
"""
KEPT: Final = ("PATH", "HOME", "DOCKER_CONFIG", "DOCKER_HOST", "TORCH_INDEX")


def has_docker() -> bool:
    if shutil.which("docker") is None:
        return False
    asked = [["docker", "info"], ["docker", "compose", "version"]]
    return all(not subprocess.run(one, capture_output=True, check=False).returncode for one in asked)


@dataclass
class Installation:
    """A copy of the project with an `.env`, as a compose project of its own."""

    folder: Path
    port: int
    name: str
    token: str = ""

    def run(self, *words: str) -> str:
        command = ["docker", "compose", "--project-name", self.name, *words]
        # Variables of the tests, such as DATABASE_URL, would win over the file .env.
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        ran = subprocess.run(command, cwd=self.folder, env=kept, capture_output=True, text=True, check=False)
        if ran.returncode and words[0] != "logs":
            pytest.fail(f"{' '.join(words)}\n{ran.stderr[-2000:]}\n{self.run('logs', '--tail', '40')}")
        return ran.stdout

    def manage(self, *words: str, service: str = "web") -> str:
        return self.run("exec", "--no-TTY", service, "python", "manage.py", *words)

    def get(self, path: str, **headers: str) -> httpx.Response:
        url = f"http://127.0.0.1:{self.port}{path}"
        return httpx.get(url, headers=PROXIED | headers, timeout=60, trust_env=False)

    def api(self, method: str, path: str, **sent: Any) -> Any:
        answer = httpx.request(
            method,
            f"http://127.0.0.1:{self.port}/api/v1/{path}",
            headers=PROXIED | {"Authorization": f"Bearer {self.token}"},
            json=sent or None,
            timeout=60,
            trust_env=False,
        )
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()


def write_env(folder: Path, port: int) -> None:
    """The example, filled in."""
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    for name, value in {
        "SECRET_KEY": secrets.token_urlsafe(64),
        "POSTGRES_PASSWORD": secrets.token_urlsafe(16),
    }.items():
        assert f"\n{name}=\n" in text
        text = text.replace(f"\n{name}=\n", f"\n{name}={value}\n")
    (folder / ".env").write_text(f"{text}\nMETRICS_TOKEN=metrics-of-this-test\nLAPIDARY_PORT={port}\n")


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    if not FULL:
        pytest.skip("builds images of gigabytes; in `make soak` only")
    if not has_docker():
        pytest.skip("no Docker daemon with compose answers; it is in no Python package")
    folder = Path(shutil.copytree(ROOT, tmp_path / "lapidary", ignore=NOT_COPIED))
    made = Installation(folder, free_port(), f"lapidary-test-{uuid4().hex[:8]}")
    write_env(folder, made.port)
    try:
        yield made
    finally:
        made.run("down", "--volumes", "--timeout", "10")


def check_it_is_sound(here: Installation) -> None:
    here.manage("doctor", "--quick")
    assert "ok       The default model" in here.manage("doctor", service="worker-gpu")
    assert here.get("/readyz?workers=required").status_code == 200
    assert here.get("/metrics").status_code == 404
    counted = here.get("/metrics", Authorization="Bearer metrics-of-this-test").text
    assert 'lapidary_workers{queue="training"} 1.0' in counted


def check_styles_are_served(here: Installation) -> None:
    page = here.get("/accounts/login/").text
    style = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
    assert here.get(style).status_code == 200, style


def people(here: Installation) -> None:
    words = ["createsuperuser", "--no-input", "--username", "olga", "--email", "olga@example.org"]
    password = ["--env", f"DJANGO_SUPERUSER_PASSWORD={PASSWORD}"]
    here.run("exec", "--no-TTY", *password, "web", "python", "manage.py", *words)
    here.token = here.manage("shell", "--verbosity", "0", "-c", TOKEN).split()[-1]


def check_a_worker_writes_candidates(here: Installation) -> None:
    here.api("POST", "projects/", id=str(uuid4()), slug="walk", preset="diamante", title="Walk")
    here.api("POST", "projects/walk/members/", who="olga", roles=["manager", "annotator", "engineer"])
    here.api("POST", "projects/walk/plan/", plan_id=str(uuid4()), count=2)
    held = here.api("POST", "projects/walk/assignments/", claim_id=str(uuid4()))["id"]
    here.api("POST", f"assignments/{held}/turns/", id=str(uuid4()), position=0, text="Do you like the woods?")

    def waiting() -> Mapping[str, Any]:
        asked: Mapping[str, Any] = here.api("GET", f"assignments/{held}/")["request"] or {}
        return asked

    wait_until(lambda: waiting().get("state") == "done", 60, "the candidates")
    assert len(waiting()["candidates"]) == 7


def check_a_job_runs(here: Installation) -> None:
    job = here.api("POST", "projects/walk/exports/", id=str(uuid4()), format="sft")["id"]
    wait_until(lambda: here.api("GET", f"exports/{job}/")["state"] == "done", 60, "the export")
    assert here.get(f"/api/v1/exports/{job}/file/", Authorization=f"Bearer {here.token}").status_code == 200


def back_up_and_restore(here: Installation, backups: Path) -> None:
    """As docs/operators/data.md says, into the empty volumes of a new installation."""
    backups.mkdir()
    shutil.chown(backups, 10001, 10001)
    mounted = ("run", "--rm", "--no-deps", "--volume", f"{backups}:/backups", "web", "python", "manage.py")
    here.run(*mounted, "backup", "/backups/today", "--verify")
    here.run("down", "--volumes", "--timeout", "30")
    here.run("up", "--detach", "--wait", "postgres", "redis")
    here.run(*mounted, "restore", "/backups/today", "--migrate")
    here.run("up", "--detach", "--wait")


def test_an_installation_with_compose(installation: Installation, tmp_path: Path) -> None:
    here = installation
    here.run("up", "--build", "--detach", "--wait")
    check_it_is_sound(here)
    check_styles_are_served(here)
    people(here)
    check_a_worker_writes_candidates(here)
    check_a_job_runs(here)
    here.run("restart")
    here.run("up", "--detach", "--wait")
    check_it_is_sound(here)
    back_up_and_restore(here, tmp_path / "backups")
    check_it_is_sound(here)
    assert [row["slug"] for row in here.api("GET", "projects/")["results"]] == ["walk"]
    check_a_job_runs(here)
