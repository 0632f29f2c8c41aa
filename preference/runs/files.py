"""What a training writes, and where."""

from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from django.utils.translation import gettext as _

from common.refusals import Refusal
from common.storage.shared_files import shared_models
from preference.registry.files import models_root, parse_object
from preference.runs.models import TrainingRun

LOG, MODEL, CHECKPOINTS, CURVE = "train.log", "model", "checkpoints", "progress.jsonl"
LAST = "last"  # the model of the last step, if validation chose an earlier one
STATES = "models.json"  # of the models that an assessor's training compares
CARD = "training.json"  # recipe, data, base, layout, versions
FOR_PAGES = (CURVE, LOG, CARD, STATES)


def folder_of_run(run: TrainingRun) -> Path:
    """Raises Refusal files_gone once its files were removed."""
    if not run.folder:
        raise Refusal(
            "files_gone", _("The files of this training were removed."), _("Train again."), status=410
        )
    return models_root() / run.folder


def open_run_file(run: TrainingRun, name: str) -> BinaryIO | None:
    """One of FOR_PAGES, with an object store as the training's host has last sent it; None if it is missing.

    Raises Refusal files_gone, storage_away, storage_refused.
    """
    path = folder_of_run(run) / name
    try:
        if shared_models().is_remote:
            return BytesIO(shared_models().read(path))
    except FileNotFoundError:
        pass  # perhaps it was made here before there was a store
    return path.open("rb") if path.is_file() else None


def read_run_json(run: TrainingRun, name: str) -> dict[str, Any]:
    """The object in one of FOR_PAGES; {} if the file is missing or incomplete."""
    file = open_run_file(run, name)
    if file is None:
        return {}
    with file:
        return parse_object(file.read())
