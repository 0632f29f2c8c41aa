"""What the tests of the data pages share: a project with dialogues, and its engineer's browser."""

import io
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from dialogues.services.imports import start_import
from jobs.models import Job
from jobs.services import run_job
from projects.models import Project

__all__ = ["erics_browser", "files_root", "html", "imported", "spoken"]


@pytest.fixture(autouse=True)
def files_root(settings: Settings, tmp_path: Path) -> Path:
    settings.FILES_ROOT = tmp_path / "files"
    return tmp_path / "files"


@pytest.fixture
def erics_browser(client: Client, eric: User) -> Client:
    client.force_login(eric)
    return client


def imported(project: Project, rows: list[dict[str, Any]] | str, format: str = "diamante") -> Job:
    data = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
    job = start_import(
        project=project,
        actor=None,
        source=io.BytesIO(data.encode()),
        name="chats.jsonl",
        format=format,
        submission_id=uuid4(),
        enqueue=False,
    )
    return run_job(job_id=job.pk)


def spoken(*texts: str, **about: Any) -> dict[str, Any]:
    """A dialogue without candidates."""
    return {"conversation": [{"utterance": text} for text in texts], **about}


def html(response: Any) -> str:
    text: str = response.content.decode()
    return text
