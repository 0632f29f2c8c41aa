"""Where evaluators write while they run; their scores are stored in rows afterwards."""

from pathlib import Path

from preference.evaluators.models import MetaEvaluation, ScoringRun
from preference.registry.files import models_root


def folder_of_scoring(run: ScoringRun) -> Path:
    return models_root() / "scoring" / str(run.pk)


def folder_of_meta_evaluation(evaluation: MetaEvaluation) -> Path:
    return models_root() / "meta-evaluations" / str(evaluation.pk)
