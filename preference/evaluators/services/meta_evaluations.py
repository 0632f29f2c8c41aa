"""Starting meta-evaluations; `evaluators.meta_evaluation_job` carries them out."""

from collections.abc import Collection, Sequence
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from jobs.models import JobState
from jobs.services import start_job
from preference.child_process import QUEUE
from preference.evaluators.models import MetaEvaluation, ScoringRun
from preference.evaluators.selectors.judgements import judged_questions, judged_rows
from preference.evaluators.selectors.meta_evaluations import comparable_runs
from projects.models import Project

KIND = "meta_evaluation"


@transaction.atomic
def start_meta_evaluation(
    *,
    evaluation_id: UUID,
    project: Project,
    actor: User | None,
    question: str = "",
    runs: Collection[UUID] = (),
    enqueue: bool = True,
) -> MetaEvaluation:
    """Compare finished scoring runs with what people judged, in the background. The same id returns the first one.

    question: empty for the first that people answered. runs: empty for the newest of each evaluator. Raises Invalid
    (question, runs), Refusal no_judgements, no_scores, id_in_use.
    """
    asked = {"question": question, "runs": sorted(map(str, runs))}
    evaluation = MetaEvaluation.objects.select_related("job", "project").filter(pk=evaluation_id).first()
    if evaluation:
        check_repeat(evaluation, project_id=project.pk)
        check_repeat(evaluation.job.parameters, **asked)
        return evaluation
    chosen_question = _resolve_question(project, question)
    chosen = _resolve_runs(project, runs)
    job = start_job(
        id=evaluation_id,
        kind=KIND,
        project=project,
        actor=actor,
        parameters=asked,
        queue=QUEUE,
        enqueue=enqueue,
    )
    evaluation, created = MetaEvaluation.objects.get_or_create(
        id=evaluation_id,
        defaults={"project": project, "job": job, "question": chosen_question, "created_by": actor},
    )
    if created:
        evaluation.runs.set(chosen)
    return evaluation


def _resolve_question(project: Project, question: str) -> str:
    offered = judged_questions(project)
    if not offered:
        raise nobody_judged()
    if question and question not in offered:
        raise Invalid(
            _("People were not asked “%(question)s”.") % {"question": question[:80]},
            _("Choose one of: %(names)s.") % {"names": ", ".join(offered)},
            field="question",
        )
    for name in [question] if question else offered:
        if next(judged_rows(project, name), None) is not None:
            return name
    raise nobody_judged()


def _resolve_runs(project: Project, ids: Collection[UUID]) -> Sequence[ScoringRun]:
    if not ids:
        newest = comparable_runs(project)
        if not newest:
            raise Refusal(
                "no_scores",
                _("No evaluator has scored this project's replies."),
                _("Score them first, for example with the length as a control."),
            )
        return newest
    runs = list(ScoringRun.objects.filter(project=project, pk__in=ids, job__state=JobState.DONE))
    if len(runs) < len(set(ids)):
        raise Invalid(
            _("Some of the scores are not finished, or belong to another project."),
            _("Choose finished ones of this project."),
            field="runs",
        )
    return runs


def nobody_judged() -> Refusal:
    return Refusal(
        "no_judgements",
        _("Nobody has judged replies of this project yet."),
        _("Evaluators are compared with final labels, or with the ratings of an assessment."),
    )
