"""What leaves (exported files, frozen data sets), and what is learned from it (trainings, models)."""

from preference.models.exports import Export, FileType, Shape
from preference.models.registry import Evaluation, Promotion, RegisteredModel, TrainingRun
from preference.models.snapshots import Snapshot

__all__ = [
    "Evaluation",
    "Export",
    "FileType",
    "Promotion",
    "RegisteredModel",
    "Shape",
    "Snapshot",
    "TrainingRun",
]
