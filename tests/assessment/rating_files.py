"""Files of ratings, and their import."""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from dialogues.services.imports import start_import
from jobs.models import Job
from jobs.services import run_job
from projects.models import Project

STATEMENTS = ("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic")
REVERSED = ("robotic", "repetitive")


def rating_file(*data: Mapping[str, Any], systems: Sequence[str] = (), maximum: int = 100) -> str:
    """A file of the format `assessment` with the statements of the paper; its degraded system is called qc."""
    kinds = {
        name: {"positive": name not in REVERSED, "qc": name not in REVERSED, "max": maximum}
        for name in STATEMENTS
    }
    metadata = {"score": kinds, "model": list(systems), "qc-model": "qc"}
    return json.dumps({"metadata": metadata, "data": list(data)}, ensure_ascii=False)


def assignment(name: str, worker: str, *results: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """An assignment of half an hour."""
    entry = {"hit": f"h-{name}", "assignment": name, "worker": worker, "duration in seconds": 1800}
    return {**entry, "result": list(results), **more}


def result(model: str, score: float, **more: Any) -> dict[str, Any]:
    """A conversation that somebody finds as good as `score`, a little better with every statement."""
    values = {name: min(100, max(0, score + place)) for place, name in enumerate(STATEMENTS)}
    return {
        "model": model,
        "score": {name: 100 - value if name in REVERSED else value for name, value in values.items()},
        **more,
    }


def careful(name: str, worker: str, shift: float = 0) -> dict[str, Any]:
    """An assignment by somebody who passes the reliability test: good is better than fair, and qc is worst."""
    return assignment(
        name, worker, result("good", 80 + shift), result("fair", 55 - shift), result("qc", 5 + shift)
    )


def careless(name: str, worker: str) -> dict[str, Any]:
    """An assignment by somebody who does not: they like qc best."""
    return assignment(name, worker, result("good", 30), result("fair", 45), result("qc", 90))


def with_texts(given: dict[str, Any]) -> dict[str, Any]:
    """The same assignment with what was said in its conversations."""
    said = {
        "dialogue": [{"user": "Do you like cats?", "bot": "I do."}, {"user": "Me too.", "bot": "Why?"}],
        "topic": [{"round": 0, "topic": "cats", "attitude": "like"}],
        "bot opinion": "like",
        "topic change": "none",
    }
    return {**given, "result": [{**each, **said} for each in given["result"]]}


def import_ratings(project: Project, text: str, **options: Any) -> Job:
    """Import a file and carry the import out."""
    defaults = {"actor": None, "name": "ratings.json", "format": "assessment", "submission_id": uuid4()}
    job = start_import(
        project=project, source=io.BytesIO(text.encode()), enqueue=False, **(defaults | options)
    )
    return run_job(job_id=job.pk)
