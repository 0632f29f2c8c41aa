"""Where the files of evaluations are."""

from pathlib import Path

from preference.evaluation.models import Evaluation
from preference.registry.files import models_root


def folder_of_evaluation(evaluation: Evaluation) -> Path:
    """What its process writes while it runs; the report is kept in the row."""
    return models_root() / "evaluations" / str(evaluation.pk)
