"""Copies of models that were removed on another host, which knows nothing of this host's disk."""

import re
from pathlib import Path
from typing import Final
from uuid import UUID

from django.db.models import Q

from common.storage.shared_disk import remove_from_disk
from jobs.models import LIVE_STATES, Job, JobState
from preference.registry.models import RegisteredModel

BEGIN_OF_ID: Final = re.compile(
    r"[0-9a-f]{12}"
)  # of the job that made the model; names its folder below MODELS_ROOT


def remove_copies_of_removed_models(root: Path) -> None:
    """Only what has the mark of a copy (see `copies`): checkpoints of trainings that go on stay."""
    for mark in root.glob("*/*/.*.sha256"):
        top = mark.parent.parent
        if BEGIN_OF_ID.fullmatch(top.name) and not is_needed(top.name):
            remove_from_disk(top)


def is_needed(name: str) -> bool:
    """By a job that has still to register its model, by a training that has its files, or by a model.

    Jobs are asked first: one is done only after its model is stored. Nothing resumes a training without its files.
    """
    first, last = (UUID(name.ljust(32, digit)) for digit in "0f")
    jobs = Job.objects.filter(pk__range=(first, last))
    removed = Q(training_run__folder="") & ~Q(state__in=LIVE_STATES)
    return (
        jobs.exclude(state=JobState.DONE).exclude(removed).exists()
        or jobs.exclude(training_run=None).exclude(training_run__folder="").exists()
        or RegisteredModel.objects.filter(folder__startswith=f"{name}/").exists()
    )
