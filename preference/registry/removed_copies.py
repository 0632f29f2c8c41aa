"""Copies of models that were removed on another host, which knows nothing of this host's disk."""

import re
from pathlib import Path
from typing import Final
from uuid import UUID

from common.storage.shared_disk import remove_from_disk
from jobs.models import Job, JobState
from preference.registry.models import RegisteredModel

BEGIN_OF_ID: Final = re.compile(
    r"[0-9a-f]{12}"
)  # of the job that made the model; names its folder below MODELS_ROOT


def remove_copies_of_removed_models(root: Path) -> None:
    """Only what has the mark of a copy (see `copies`): checkpoints of trainings that go on stay."""
    for mark in root.glob("*/*/.*.sha256"):
        top = mark.parent.parent
        if BEGIN_OF_ID.fullmatch(top.name) and not _is_needed(top.name):
            remove_from_disk(top)


def _is_needed(name: str) -> bool:
    """By a model, or by a job that has still to register it."""
    first, last = (UUID(name.ljust(32, digit)) for digit in "0f")
    jobs = Job.objects.filter(pk__range=(first, last)).exclude(state=JobState.DONE)
    return RegisteredModel.objects.filter(folder__startswith=f"{name}/").exists() or jobs.exists()
