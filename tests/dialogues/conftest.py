"""A project to import into, and a place for its files."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from dialogues.services.imports import start_import
from jobs.models import Job
from jobs.services import run_job
from projects.models import Project, Protocol

Import = Callable[..., Job]


@pytest.fixture(autouse=True)
def files_root(settings: Settings, tmp_path: Path) -> Path:
    settings.FILES_ROOT = tmp_path / "files"
    return tmp_path / "files"


@pytest.fixture
def chitchat(db: None) -> Project:
    return Project.objects.create(slug="chitchat", title="Chit-chat", protocol=Protocol.AUTHORING)


@pytest.fixture
def start(chitchat: Project) -> Import:
    """Take a file in: start(data, format, **options)."""

    def start(data: str | bytes, format: str = "messages", **options: Any) -> Job:
        raw = data.encode() if isinstance(data, str) else data
        defaults = {
            "project": chitchat,
            "actor": None,
            "name": "file",
            "submission_id": uuid4(),
            "enqueue": False,
        }
        return start_import(source=io.BytesIO(raw), format=format, **(defaults | options))

    return start


@pytest.fixture
def imported(start: Import) -> Import:
    """Take a file in and carry its import out: imported(data, format, **options)."""

    def imported(*args: Any, **options: Any) -> Job:
        return run_job(job_id=start(*args, **options).pk)

    return imported


def chats(*texts: str, **keys: Any) -> str:
    """A `messages` row for each text."""
    rows = [{"messages": [{"role": "user", "content": text}], **keys} for text in texts]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
