"""Tasks, who holds them, and what was written, labelled and judged."""

from annotation.models.authoring import AuthoringSettings, Draft, Topic, Turn
from annotation.models.labelling import (
    FinalLabel,
    LabelDraft,
    LabellingSettings,
    LabelOrigin,
    Order,
    Resolution,
    Schema,
    Stage,
    Submission,
    Ties,
)
from annotation.models.review import ExpertReview, Verdict
from annotation.models.work import (
    ASSIGNMENT_MOVES,
    HELD,
    TASK_MOVES,
    Assignment,
    AssignmentState,
    Task,
    TaskState,
    Workload,
    WorkSettings,
)

__all__ = [
    "ASSIGNMENT_MOVES",
    "HELD",
    "TASK_MOVES",
    "Assignment",
    "AssignmentState",
    "AuthoringSettings",
    "Draft",
    "ExpertReview",
    "FinalLabel",
    "LabelDraft",
    "LabelOrigin",
    "LabellingSettings",
    "Order",
    "Resolution",
    "Schema",
    "Stage",
    "Submission",
    "Task",
    "TaskState",
    "Ties",
    "Topic",
    "Turn",
    "Verdict",
    "WorkSettings",
    "Workload",
]
