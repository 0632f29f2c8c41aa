"""Evaluators over a project's replies: start one, follow it, read its scores."""

import json
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from common.refusals import Refusal
from frontend.charts.evaluators import draw_histogram
from frontend.charts.files import chart_file
from frontend.pages.evaluators.assessments import describe_uses
from frontend.pages.evaluators.meta_evaluation import MetaEvaluationForm
from frontend.pages.evaluators.run_address import RUN_URL, run_in
from frontend.pages.evaluators.scoring_form import ScoringForm, target_name
from frontend.pages.jobs.actions import job_view
from frontend.pages.jobs.partials import render_job_page
from frontend.pages.requests import signed_in
from frontend.ui.questions import judged_titles
from jobs.models import LIVE_STATES, Job, JobState
from jobs.selectors import live_workers
from jobs.services import cancel_job, retry_job
from preference.child_process import QUEUE
from preference.data.selectors.exports import JSON_LINES
from preference.data.services.downloads import record_download
from preference.evaluators.catalogue import KINDS, run_title
from preference.evaluators.models import EvaluatorName, ScoringRun, Target
from preference.evaluators.selectors.meta_evaluations import meta_evaluations_of
from preference.evaluators.selectors.scoring import (
    HIGHEST,
    LOWEST,
    ORDERS,
    UNSCORED,
    exported_scores,
    scoring_runs_of,
    sorted_scores,
    text_of,
)
from preference.evaluators.services.scoring import start_scoring
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

PAGE_SIZE = 20
COMPARISONS = 10  # the newest, above the scores


@login_required
@never_cache
@require_safe
def scoring_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.TRAIN)
    page = Paginator(scoring_runs_of(project), PAGE_SIZE).get_page(request.GET.get("page"))
    questions = judged_titles(project)
    context = {
        "project": project,
        "title": _("Evaluators"),
        "page": page,
        "rows": [(run, run_title(run), target_name(project, Target(run.target))) for run in page],
        "comparisons": [
            (row, questions.get(row.question, row.question))
            for row in meta_evaluations_of(project)[:COMPARISONS]
        ],
        "compare_form": MetaEvaluationForm(project),
        "evaluators": [(name, label, KINDS[name].meaning) for name, label in EvaluatorName.choices],
        "worker_alive": live_workers(QUEUE).exists(),
    }
    return render(request, "evaluators/list.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def scoring_new(request: HttpRequest, slug: str) -> HttpResponse:
    """The form for the evaluator that `?evaluator=` names."""
    user = signed_in(request)
    project = project_for(user, slug, Capability.TRAIN)
    evaluator = request.GET.get("evaluator", "")
    if evaluator not in EvaluatorName.values:
        return redirect("evaluators", slug)
    if request.method != "POST":
        return _render_form(request, project, evaluator, ScoringForm(user, project, evaluator))
    form = ScoringForm(user, project, evaluator, request.POST)
    if not form.is_valid():
        return _render_form(request, project, evaluator, form, status=422)
    return _start(request, user, project, evaluator, form)


def _start(
    request: HttpRequest, user: User, project: Project, evaluator: str, form: ScoringForm
) -> HttpResponse:
    try:
        run = start_scoring(
            run_id=form.cleaned_data["id"],
            project=project,
            actor=user,
            evaluator=evaluator,
            target=form.cleaned_data["target"],
            model=form.cleaned_data.get("model", ""),
            settings=form.settings(),
        )
    except Refusal as refusal:
        form.add_error(None, str(refusal))
        return _render_form(request, project, evaluator, form, status=refusal.status)
    return redirect("scoring_run", project.slug, run.pk)


def _render_form(
    request: HttpRequest, project: Project, evaluator: str, form: ScoringForm, status: int = 200
) -> HttpResponse:
    context = {
        "project": project,
        "title": EvaluatorName(evaluator).label,
        "meaning": form.kind.meaning,
        "form": form,
    }
    return render(request, "evaluators/new.html", context, status=status)


def _job_in(user: User, slug: str, run_id: UUID) -> Job:
    return run_in(user, slug, run_id).job


@login_required
@never_cache
@require_safe
def scoring_page(request: HttpRequest, slug: str, run_id: UUID) -> HttpResponse:
    """With `?part=live` only what changes while the run goes on, with `?part=row` only its line in a list."""
    run = run_in(signed_in(request), slug, run_id)
    order = request.GET.get("order", LOWEST)
    order = order if order in ORDERS else LOWEST
    done = run.job.state == JobState.DONE
    page = Paginator(sorted_scores(run, order), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "project": run.project,
        "title": run_title(run),
        "run": run,
        "job": run.job,
        "live": run.job.state in LIVE_STATES,
        "done": done,
        "meaning": KINDS[run.evaluator].meaning,
        "target": target_name(run.project, Target(run.target)),
        "chart": draw_histogram(run) if run.summary else None,
        "reasons": list(run.reasons.items()),
        "order": order,
        "orders": _orders(run),
        "page": page,
        "scores": [(score, text_of(score)) for score in page] if done else [],
        "worker_alive": live_workers(QUEUE).exists(),
        **describe_uses(run),
    }
    return render_job_page(request, context, template="evaluators/run.html", folder="evaluators")


def _orders(run: ScoringRun) -> list[tuple[str, str]]:
    orders = [(LOWEST, _("Lowest first")), (HIGHEST, _("Highest first"))] if run.scored else []
    return [*orders, (UNSCORED, _("Without a score"))] if run.unscored else orders


@login_required
@never_cache
@require_safe
def scoring_download(
    request: HttpRequest, slug: str, run_id: UUID, name: str, suffix: str
) -> HttpResponseBase:
    """All scores as JSON Lines, or the histogram as CSV, JSON or SVG."""
    user = signed_in(request)
    run = run_in(user, slug, run_id)
    stem = f"{slug}-{run.evaluator}-{str(run.pk)[:8]}"
    if (name, suffix) == ("all", "jsonl"):
        record_download(person=user, project=run.project, row=run, name=f"{stem}.jsonl")
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in exported_scores(run))
        headers = {"Content-Disposition": f'attachment; filename="{stem}.jsonl"'}
        return StreamingHttpResponse(lines, content_type=JSON_LINES, headers=headers)
    if name != "scores" or not run.summary:
        raise Http404
    return chart_file(draw_histogram(run), stem, suffix)


urlpatterns = [
    path("p/<slug:slug>/evaluators/", scoring_list, name="evaluators"),
    path("p/<slug:slug>/evaluators/new/", scoring_new, name="scoring_new"),
    path(RUN_URL, scoring_page, name="scoring_run"),
    path(f"{RUN_URL}cancel/", job_view(cancel_job, _job_in, "scoring_run"), name="scoring_cancel"),
    path(f"{RUN_URL}retry/", job_view(retry_job, _job_in, "scoring_run"), name="scoring_retry"),
    path(f"{RUN_URL}<slug:name>.<str:suffix>", scoring_download, name="scoring_download"),
]
