"""An assessment project, and files of ratings to import into it."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from accounts.models import User
from annotation.project_setup.services import create_project
from dialogues.services.imports import start_import
from jobs.models import Job
from jobs.services import run_job
from projects.models import Project

STATEMENTS = ("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic")
REVERSED = ("robotic", "repetitive")
Rates = Callable[..., Job]


@pytest.fixture(autouse=True)
def files_root(settings: Settings, tmp_path: Path) -> Path:
    settings.FILES_ROOT = tmp_path / "files"
    return tmp_path / "files"


@pytest.fixture
def study(mara: User) -> Project:
    """Mara's assessment project with the paper's seven statements."""
    return create_project(actor=mara, slug="study", title="Which chatbot is best?", preset="live-assessment")


def rating_file(data: Sequence[Mapping[str, Any]], systems: Sequence[str] = ()) -> str:
    """A file of the format `assessment`; its degraded system is called qc."""
    kinds = {
        name: {"positive": name not in REVERSED, "qc": name not in REVERSED, "max": 100}
        for name in STATEMENTS
    }
    metadata = {"score": kinds, "model": list(systems), "qc-model": "qc"}
    return json.dumps({"metadata": metadata, "data": list(data)}, ensure_ascii=False)


def assignment(name: str, worker: str, *results: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """An assignment of half an hour."""
    entry = {"hit": f"h-{name}", "assignment": name, "worker": worker, "duration in seconds": 1800}
    return {**entry, "result": list(results), **more}


def result(model: str, score: float, **more: Any) -> dict[str, Any]:
    """A conversation that somebody finds as good as `score` in every way, give or take."""
    values = {name: min(100, max(0, score + place)) for place, name in enumerate(STATEMENTS)}
    return {
        "model": model,
        "score": {name: 100 - value if name in REVERSED else value for name, value in values.items()},
        **more,
    }


@pytest.fixture
def rates(study: Project) -> Rates:
    """Import a file of ratings and carry the import out: rates(text, run=2)."""

    def rates(text: str, **options: Any) -> Job:
        defaults = {"project": study, "actor": None, "name": "ratings.json", "submission_id": uuid4()}
        source = io.BytesIO(text.encode())
        job = start_import(source=source, format="assessment", enqueue=False, **(defaults | options))
        return run_job(job_id=job.pk)

    return rates
