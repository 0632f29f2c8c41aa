"""What a training on another machine leaves, without training anything."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

from accounts.models import User
from jobs.models import Job
from jobs.services import run_job
from preference.registry.incoming import INCOMING
from preference.registry.models import RegisteredModel
from preference.registry.services.incoming import start_registration
from preference.training.joint.recipe import quick
from projects.models import Project
from tests.frontend.trained import report

HASH = "0123456789ab"  # of every version that fake_checker answers
OTHER_DATA = "d" * 64


def trained_folder(
    parent: Path,
    name: str = "run7b",
    *,
    data: str = OTHER_DATA,
    base: str = "Qwen/Qwen3-8B",
    base_hash: str = "c0ffee",
) -> Path:
    """DIR of a finished training, with DIR/model."""
    folder = parent / name
    model = folder / "model"
    model.mkdir(parents=True)
    (model / "config.json").write_text('{"model_type": "qwen3"}')
    (model / "model.safetensors").write_bytes(name.encode() * 1000)
    (model / "preference_head.safetensors").write_bytes(b"head")
    about = {
        "recipe": {**quick().as_dict(), "lora_rank": 16},
        "data": {"path": "/data/may", "sha256": data, "dialogues": 540},
        "base_model": {"name": base, "version": base_hash},
        "layout": {"name": "trees", "notes": []},
        "commit": "abc1234567890", "versions": {"torch": "2.8.0"}, "processes": 8, "device": "cuda", "steps": 8,
    }  # fmt: skip
    (model / "training.json").write_text(json.dumps(about))
    (folder / "training.json").write_text(json.dumps(about))
    steps = ({"step": step, "loss": 3 / step, "nll": 2 / step, "ranking": 1 / step} for step in (1, 2))
    (folder / "progress.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    return folder


def measured(
    folder: Path, data: str, *, version: str = f"run7b/model@{HASH}", **changes: Any
) -> dict[str, Any]:
    """Write evaluation.json, as preference.training.joint.evaluation does."""
    values = report(0.45)
    values |= {
        "model": {**values["model"], "version": version},
        "data": {"path": "/data/may", "sha256": data},
    }
    (folder / "evaluation.json").write_text(json.dumps(values | changes))
    return values | changes


def incoming(models_root: Path, name: str = "run7b", **about: Any) -> Path:
    """The same below MODELS_ROOT/incoming."""
    return trained_folder(models_root / INCOMING, name, **about)


def registration(project: Project, folder: Path | str, actor: User | None = None, **chosen: Any) -> Job:
    """A job that waits for a worker. chosen: as of start_registration."""
    return start_registration(
        registration_id=uuid4(), project=project, actor=actor, folder=str(folder), enqueue=False, **chosen
    )


def come_home(
    project: Project, folder: Path | str, actor: User | None = None, **chosen: Any
) -> RegisteredModel:
    job = run_job(job_id=registration(project, folder, actor, **chosen).pk)
    assert job.state == "done", (job.error, job.remedy)
    return RegisteredModel.objects.get(slug=job.result["model"])
