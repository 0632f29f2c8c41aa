"""Where evaluators write while they run; their scores are stored in rows afterwards."""

from pathlib import Path

from preference.evaluators.models import ScoringRun
from preference.registry.files import models_root


def folder_of_scoring(run: ScoringRun) -> Path:
    return models_root() / "scoring" / str(run.pk)
