"""What a training writes, and where."""

from pathlib import Path

from django.utils.translation import gettext as _

from common.refusals import Refusal
from preference.registry.files import models_root
from preference.runs.models import TrainingRun

LOG, MODEL, CHECKPOINTS, CURVE = "train.log", "model", "checkpoints", "progress.jsonl"
LAST = "last"  # the model of the last step, if validation chose an earlier one
STATES = "models.json"  # of the models that an assessor's training compares


def folder_of_run(run: TrainingRun) -> Path:
    """Raises Refusal files_gone once its files were removed."""
    if not run.folder:
        raise Refusal(
            "files_gone", _("The files of this training were removed."), _("Train again."), status=410
        )
    return models_root() / run.folder
