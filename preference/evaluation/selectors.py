"""Evaluations and comparisons of models."""

from collections import defaultdict
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotFound
from jobs.models import JobState
from preference.data.models.snapshots import Snapshot
from preference.evaluation.models import Evaluation
from preference.registry.models import RegisteredModel
from preference.registry.selectors.trained_models import MAX_COMPARED
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of


def evaluations_of(project: Project, model: RegisteredModel | None = None) -> QuerySet[Evaluation]:
    """The project's evaluations, or those of one model, the newest first."""
    rows = Evaluation.objects.filter(project=project) if model is None else model.evaluations.all()
    related = ("job", "project", "snapshot", "model")
    return rows.select_related(*related).defer("snapshot__card").order_by("-created_at", "-id")


def evaluation_for(user: User, evaluation_id: UUID) -> Evaluation:
    """The evaluation, for members of its project who may train."""
    related = ("job", "project", "snapshot", "model")
    row = Evaluation.objects.select_related(*related).filter(pk=evaluation_id).first()
    if row is None or Capability.TRAIN not in capabilities_of(user, row.project):
        raise NotFound(_("There is no such evaluation."), _("It may belong to a project that you have left."))
    return row


@dataclass(frozen=True, slots=True)
class Comparison:
    """Models evaluated on the same data: the newest report of each, the newest first."""

    snapshot: Snapshot
    split: str
    rows: tuple[Evaluation, ...]


def comparisons_of(project: Project) -> list[Comparison]:
    """The newest MAX_COMPARED evaluations, grouped by the data they share; the newest snapshot first. One query."""
    finished = evaluations_of(project).filter(job__state=JobState.DONE)[:MAX_COMPARED]
    groups: dict[tuple[UUID, str], dict[str, Evaluation]] = defaultdict(dict)
    for row in finished:
        name = row.model.slug if row.model else row.base
        groups[row.snapshot_id, row.split].setdefault(name, row)
    comparisons = [
        Comparison(next(iter(rows.values())).snapshot, split, tuple(rows.values()))
        for (_snapshot, split), rows in groups.items()
    ]
    return sorted(comparisons, key=lambda comparison: comparison.snapshot.created_at, reverse=True)
