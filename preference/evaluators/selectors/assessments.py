"""What an assessor's finished run says about whole dialogues: its class, how probable that is, and how unsure it is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Count, Exists, OuterRef

from annotation.batch_review.services.machine_labels import untouched_tasks
from annotation.tasks.models.work import Task
from jobs.models import JobState
from measures.uncertainty import normalised_entropy
from preference.evaluators.models import EvaluatorName, Score, ScoringRun
from projects.models import Project, Protocol


@dataclass(frozen=True, slots=True)
class Assessment:
    """label: the most probable class. probability: of it. entropy: of all classes, 0 to 1."""

    dialogue: int
    label: int | str
    probability: float
    entropy: float


@dataclass(frozen=True, slots=True)
class QueuePreview:
    """Open tasks of a project. ordered: with an assessment; others: without one, these follow."""

    ordered: int
    others: int


def has_assessments(run: ScoringRun) -> bool:
    """Whether the run can order a queue and label dialogues: an assessor's, finished, in a labelling project."""
    is_labelling = run.project.protocol == Protocol.LABELLING
    return is_labelling and run.evaluator == EvaluatorName.ASSESSOR and run.job.state == JobState.DONE


def assessments_of(run: ScoringRun) -> list[Assessment]:
    """One for each dialogue: that of its last scored utterance. In the order of the dialogues."""
    scores = Score.objects.filter(run=run, place=None, value__isnull=False)
    last = scores.order_by("dialogue_id", "-utterance__position").distinct("dialogue_id")
    rows = [
        (dialogue, label, probabilities)
        for dialogue, label, probabilities in last.values_list(
            "dialogue_id", "details__label", "details__probabilities"
        ).iterator()
    ]
    if not rows:
        return []
    table = np.array([probabilities for _dialogue, _label, probabilities in rows], float)
    figures = zip(rows, table.max(axis=1), normalised_entropy(table), strict=True)
    return [
        Assessment(dialogue, label, float(probability), float(entropy))
        for (dialogue, label, _probabilities), probability, entropy in figures
    ]


def most_uncertain_first(assessments: Sequence[Assessment]) -> list[int]:
    """Ids of the dialogues by falling entropy."""
    return [one.dialogue for one in sorted(assessments, key=lambda one: (-one.entropy, one.dialogue))]


def preview_queue(run: ScoringRun) -> QueuePreview:
    """How many open tasks an order by the run would place; one query."""
    scores = Score.objects.filter(run=run, dialogue=OuterRef("dialogue"), place=None, value__isnull=False)
    waiting = Task.objects.filter(project=run.project, open_slots__gt=0)
    counts = waiting.aggregate(all=Count("id"), ordered=Count("id", filter=Exists(scores)))
    return QueuePreview(counts["ordered"], counts["all"] - counts["ordered"])


def classes_of(run: ScoringRun) -> list[str]:
    """The classes of the assessor, as text."""
    return [str(label) for label in run.description["task"]["classes"]]


def untouched_assessments(project: Project, assessments: Sequence[Assessment]) -> list[Assessment]:
    """Those of dialogues that nobody has begun and that are in no batch; the most probable class first."""
    untouched = set(untouched_tasks(project).values_list("dialogue_id", flat=True))
    rows = [one for one in assessments if one.dialogue in untouched]
    return sorted(rows, key=lambda one: (-one.probability, one.dialogue))
