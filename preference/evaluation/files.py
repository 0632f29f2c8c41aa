"""Where evaluations write."""

from pathlib import Path

from preference.evaluation.models import Evaluation
from preference.registry.files import models_root


def folder_of_evaluation(evaluation: Evaluation) -> Path:
    """Working folder of the evaluator; the report is stored in the row."""
    return models_root() / "evaluations" / str(evaluation.pk)
