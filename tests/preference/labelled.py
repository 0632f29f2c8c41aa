"""Labelling projects whose dialogues have final labels, and snapshots of them."""

import io
import json
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from accounts.models import User
from annotation.project_setup.services import create_project
from dialogues.models import Dialogue, Split
from dialogues.services.imports import start_import
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.data.models.snapshots import Snapshot
from preference.data.services.snapshots import take_snapshot
from projects.models import Project
from tests.processes import wait_until

SPLITS = (Split.TRAIN, Split.TRAIN, Split.TRAIN, Split.VALID, Split.TEST)
ENDINGS = {0: "That does not help at all", 1: "It helps a little", 2: "Thank you, solved"}


def labelled_project(
    actor: User | None, labels: Sequence[Any] = (2, 0, 1, 2, 0), slug: str = "quality"
) -> Project:
    """A project of the preset diqad with an imported dialogue for each label; None: without one."""
    project = create_project(slug=slug, preset="diqad", actor=actor)
    rows = [_row(number, label) for number, label in enumerate(labels)]
    job = start_import(
        project=project,
        actor=None,
        source=io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode()),
        name="labels.jsonl",
        format="diqad",
        submission_id=uuid4(),
        enqueue=False,
    )
    assert not run_job(job_id=job.pk).error
    for place, dialogue in enumerate(Dialogue.objects.filter(project=project).order_by("id")):
        Dialogue.objects.filter(pk=dialogue.pk).update(split=SPLITS[place % len(SPLITS)], language="en")
    return project


def _row(number: int, label: Any) -> dict[str, Any]:
    dialogue = [
        {"role": "user", "content": f"My card {number} is lost"},
        {"role": "assistant", "content": f"Call the bank about card {number}"},
        {"role": "user", "content": ENDINGS.get(label, "Good bye")},
    ]
    return {
        "id": f"d{number}",
        "dialogue": dialogue,
        "domain": ("bank", "shop")[number % 2],
        "license": "CC0",
        **({} if label is None else {"label": label}),
    }


def state_of(job: Job) -> str:
    job.refresh_from_db()
    return job.state


def labelled_snapshot(project: Project, actor: User | None, **choices: Any) -> Snapshot:
    """A finished snapshot."""
    snapshot = take_snapshot(snapshot_id=uuid4(), project=project, actor=actor, **choices)
    job = run_job(job_id=snapshot.job_id)
    # Where a worker runs, it may have been faster to take the job.
    wait_until(lambda: state_of(job) not in (JobState.QUEUED, JobState.RUNNING), 60, "the snapshot")
    assert job.state == JobState.DONE, job.error
    return Snapshot.objects.select_related("project", "job").get(pk=snapshot.pk)
