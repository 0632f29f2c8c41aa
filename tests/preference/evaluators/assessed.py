"""A finished scoring run of an assessor, without a model: its class probabilities are given."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from dialogues.models import Dialogue, Utterance
from jobs.models import Job, JobState
from preference.evaluators.models import EvaluatorName, ScoringRun, Target
from preference.evaluators.services.scoring import store_scores
from projects.models import Project

SURE: Sequence[Sequence[float]] = ((0.96, 0.02, 0.02), (0.02, 0.96, 0.02), (0.02, 0.02, 0.96))
UNSURE: Sequence[float] = (0.34, 0.33, 0.33)


def assessed_run(
    project: Project, probabilities: Mapping[int, Sequence[float]], **changes: Any
) -> ScoringRun:
    """probabilities: of the classes 0, 1 and 2, by dialogue."""
    run_id = uuid4()
    job = Job.objects.create(id=run_id, project=project, kind="scoring", state=JobState.DONE)
    fields = {"evaluator": EvaluatorName.ASSESSOR, "target": Target.REPLIES, "base": "chat-assessor-1"}
    run = ScoringRun.objects.create(id=run_id, project=project, job=job, **{**fields, **changes})
    last = Utterance.objects.filter(dialogue__in=probabilities).order_by("dialogue_id", "-position")
    ends = dict(last.distinct("dialogue_id").values_list("dialogue_id", "pk"))
    rows = (
        {
            "id": str(ends[dialogue]),
            "dialogue": dialogue,
            "score": sum(place * share for place, share in enumerate(row)),
            "label": list(row).index(max(row)),
            "probabilities": list(row),
        }
        for dialogue, row in probabilities.items()
    )
    store_scores(run=run, rows=rows, description={"version": "abc", "task": {"classes": [0, 1, 2]}})
    return ScoringRun.objects.select_related("job", "project", "model").get(pk=run.pk)


def ids_of(project: Project) -> list[int]:
    return list(Dialogue.objects.filter(project=project).order_by("pk").values_list("pk", flat=True))
