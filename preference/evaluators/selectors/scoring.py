"""Scoring runs and their scores."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotFound
from preference.evaluators.models import Score, ScoringRun
from preference.registry.models import RegisteredModel
from projects.models import Membership, Project
from projects.roles import CAPABILITIES, Capability
from projects.selectors import capabilities_of

RELATED = ("job", "project", "model", "created_by")
LOWEST, HIGHEST, UNSCORED = "lowest", "highest", "unscored"
ORDERS = (LOWEST, HIGHEST, UNSCORED)
READ_AT_ONCE = 2000  # scores


def scoring_runs_of(project: Project) -> QuerySet[ScoringRun]:
    """The project's runs, the newest first."""
    rows = ScoringRun.objects.filter(project=project).select_related(*RELATED)
    return rows.defer("description").order_by("-created_at", "-id")


def scoring_run_for(user: User, run_id: UUID) -> ScoringRun:
    """The run, for members of its project who may train."""
    run = ScoringRun.objects.select_related(*RELATED).filter(pk=run_id).first()
    if run is None or Capability.TRAIN not in capabilities_of(user, run.project):
        raise NotFound(_("There are no such scores."), _("They may belong to a project that you have left."))
    return run


def scores_of(run: ScoringRun) -> QuerySet[Score]:
    """The scores in the order of the dialogues, with the texts they are about."""
    rows = Score.objects.filter(run=run).select_related("dialogue", "utterance__candidate_set")
    return rows.order_by("id")


def sorted_scores(run: ScoringRun, order: str) -> QuerySet[Score]:
    """The scores, the lowest or the highest first, or the rows without one."""
    rows = scores_of(run)
    if order == UNSCORED:
        return rows.filter(value=None)
    value = F("value").desc() if order == HIGHEST else F("value").asc()
    return rows.filter(value__isnull=False).order_by(value, "id")


def text_of(score: Score) -> str:
    """The reply or candidate that was scored; empty if the candidates are gone."""
    if score.place is None:
        return score.utterance.text
    shown = score.utterance.candidate_set
    return shown.candidates[score.place]["text"] if shown and score.place < len(shown.candidates) else ""


def exported_scores(run: ScoringRun) -> Iterator[dict[str, Any]]:
    """One row per score for a download; reads READ_AT_ONCE at a time, so that no transaction stays open."""
    after = 0
    while page := list(scores_of(run).filter(id__gt=after)[:READ_AT_ONCE]):
        yield from map(_export_row, page)
        after = page[-1].pk


def _export_row(score: Score) -> dict[str, Any]:
    reason = {"reason": score.reason} if score.value is None else {}
    return {
        "dialogue": score.dialogue.external_id,
        "position": score.utterance.position,
        "candidate": score.place,
        "text": text_of(score),
        "score": score.value,
        **reason,
        **score.details,
    }


def usable_models(user: User, kinds: Sequence[str]) -> QuerySet[RegisteredModel]:
    """The models of these kinds with files, of all projects in which the person may train, the newest first."""
    rows = RegisteredModel.objects.filter(kind__in=kinds).exclude(folder="").select_related("project")
    rows = rows.order_by("-created_at", "-id")
    if user.is_superuser:
        return rows
    roles = [role for role, granted in CAPABILITIES.items() if Capability.TRAIN in granted]
    return rows.filter(
        project__in=Membership.objects.filter(user=user, roles__overlap=roles).values("project")
    )
