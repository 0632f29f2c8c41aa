"""Meta-evaluations of a project."""

from collections import Counter
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotFound
from jobs.models import JobState
from preference.evaluators.catalogue import run_title
from preference.evaluators.models import MetaEvaluation, ScoringRun, Target
from preference.evaluators.selectors.scoring import scoring_runs_of
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

RELATED = ("job", "project", "created_by")
MOST_COMPARED = 40  # runs that a form offers


def meta_evaluations_of(project: Project) -> QuerySet[MetaEvaluation]:
    """The project's meta-evaluations, the newest first, without their points."""
    rows = MetaEvaluation.objects.filter(project=project).select_related(*RELATED)
    rows = rows.prefetch_related("runs__model").defer("points")
    return rows.order_by("-created_at", "-id")


def meta_evaluation_for(user: User, evaluation_id: UUID) -> MetaEvaluation:
    """The meta-evaluation, for members of its project who may train."""
    rows = MetaEvaluation.objects.select_related(*RELATED).prefetch_related("runs__model")
    row = rows.filter(pk=evaluation_id).first()
    if row is None or Capability.TRAIN not in capabilities_of(user, row.project):
        raise NotFound(_("There is no such comparison."), _("It may belong to a project that you have left."))
    return row


def comparable_runs(project: Project) -> list[ScoringRun]:
    """The newest finished run of each evaluator with each model and settings, the newest first."""
    runs = scoring_runs_of(project).filter(job__state=JobState.DONE).exclude(target=Target.CANDIDATES)
    newest: dict[tuple[str, str], ScoringRun] = {}
    for run in runs[: 5 * MOST_COMPARED]:
        newest.setdefault((run_title(run), run.target), run)
    return list(newest.values())[:MOST_COMPARED]


def titles_of(evaluation: MetaEvaluation) -> dict[str, str]:
    """The runs' titles by id; equal ones are numbered."""
    runs = sorted(evaluation.runs.all(), key=lambda run: (run.created_at, str(run.pk)))
    times = Counter(run_title(run) for run in runs)
    seen: Counter[str] = Counter()
    titles = {}
    for run in runs:
        title = run_title(run)
        seen[title] += 1
        titles[str(run.pk)] = f"{title} ({seen[title]})" if times[title] > 1 else title
    return titles
