"""The models of a project: their origin, how well they rank, which one is in use, and changing that."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from assessment.report.selectors.model_assessments import assessments_of
from common.refusals import NotFound, Refusal
from common.rest.resumed_files import is_resumed, resumable_file
from common.storage.shared_files import shared_models
from frontend.charts.assessor import draw_assessor_report
from frontend.charts.evaluation import (
    ReportedEstimate,
    build_matrix,
    draw_comparison,
    draw_report,
    find_estimate,
    list_all_measures,
    name_of,
    overall,
)
from frontend.charts.files import chart_file, json_file
from frontend.pages.learning.evaluations import EvaluationForm
from frontend.pages.learning.training import snapshot_url, trainable_project
from frontend.pages.learning.training_form import SETTINGS, describe_setting, settings_of_run
from frontend.pages.requests import posted_uuid, signed_in
from generation.selectors import generators_from_others, projects_sharing
from jobs.models import LIVE_STATES, JobState
from jobs.selectors import live_workers
from preference.child_process import QUEUE
from preference.data.services.downloads import record_download
from preference.evaluation.model_card import card_of
from preference.evaluation.selectors import Comparison, comparisons_of, evaluations_of
from preference.registry.files import model_file
from preference.registry.models import RegisteredModel
from preference.registry.selectors.trained_models import (
    children_of,
    current_model,
    lineage_of,
    model_for,
    models_of,
    promotion_to_undo,
    promotions_of,
    registrations_of,
)
from preference.registry.services.promotion import promote_model, roll_back
from preference.registry.services.trained_models import remove_model, update_model
from preference.runs.selectors import runs_of
from preference.training.joint.recipe import diamante
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of

PAGE_SIZE = 20
PROMOTIONS = 20
EVALUATIONS = 40  # of one model, the newest
FAILED_FOR = timedelta(days=3)


# ---- all models ------------------------------------------------------------------------------------------------------


@login_required
@never_cache
@require_safe
def model_list(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    return _render_list(request, user, trainable_project(user, slug))


def _render_list(
    request: HttpRequest,
    user: User,
    project: Project,
    refusal: Refusal | None = None,
) -> HttpResponse:
    current, worker_alive = current_model(project), live_workers(QUEUE).exists()
    comparisons = comparisons_of(project)
    chosen = choose_comparison(comparisons, request.GET.get("on", ""))
    undoable = promotion_to_undo(project)
    context: dict[str, Any] = {
        "project": project,
        "title": _("Models"),
        "current": current,
        "page": Paginator(models_of(project), PAGE_SIZE).get_page(request.GET.get("page")),
        "running": runs_of(project).filter(job__state__in=LIVE_STATES),
        "arriving": registrations_of(project).filter(_recent_job())[:PAGE_SIZE],
        "evaluating": evaluations_of(project).filter(_recent())[:PAGE_SIZE],
        "first": _headline_figures(comparisons),
        "compared": [(key_of(comparison), comparison) for comparison in comparisons],
        "chosen": chosen,
        "promotions": promotions_of(project)[:PROMOTIONS],
        "undoable": undoable if undoable and current and undoable.after == current.generator else None,
        "evaluation_form": EvaluationForm(user, project),
        "ranks_replies": project.protocol == Protocol.AUTHORING,
        "refusal": refusal,
        "worker_alive": worker_alive,
        "queues": [QUEUE] if worker_alive else [],
        "from_others": generators_from_others(project)[:PAGE_SIZE] if _manages(user, project) else [],
        **(_comparison_context(chosen) if chosen else {}),
    }
    return render(request, "learning/models/list.html", context, status=refusal.status if refusal else 200)


def _manages(user: User, project: Project) -> bool:
    return Capability.MANAGE_MEMBERS in capabilities_of(user, project)


def _recent() -> Q:
    """Evaluations that run or failed lately; the failed ones explain why a model is not in the comparison."""
    failed = Q(job__state=JobState.FAILED, created_at__gt=timezone.now() - FAILED_FOR)
    return Q(job__state__in=LIVE_STATES) | failed


def _recent_job() -> Q:
    failed = Q(state=JobState.FAILED, created_at__gt=timezone.now() - FAILED_FOR)
    return Q(state__in=LIVE_STATES) | failed


def key_of(comparison: Comparison) -> str:
    return f"{comparison.snapshot.pk}:{comparison.split}"


def choose_comparison(comparisons: list[Comparison], key: str) -> Comparison | None:
    """The requested comparison, or else the newest one with several models, or else the newest."""
    requested = next((comparison for comparison in comparisons if key_of(comparison) == key), None)
    with_several_models = next((comparison for comparison in comparisons if len(comparison.rows) > 1), None)
    return requested or with_several_models or next(iter(comparisons), None)


def _comparison_context(chosen: Comparison) -> dict[str, Any]:
    return {
        "on": key_of(chosen),
        "chart": draw_comparison(chosen.rows),
        "columns": [(name_of(row), row) for row in chosen.rows],
        "matrix": build_matrix(chosen.rows),
    }


def _headline_figures(comparisons: list[Comparison]) -> dict[int, Any]:
    """P@1 by preference score of each model's newest evaluation, by model id."""
    rows = sorted(
        (row for comparison in comparisons for row in comparison.rows), key=lambda row: row.created_at
    )
    return {row.model_id: find_estimate(overall(row), "preference", "p_at_1") for row in rows if row.model_id}


@login_required
@never_cache
@require_safe
def comparison_download(request: HttpRequest, slug: str, name: str, suffix: str) -> HttpResponse:
    project = trainable_project(signed_in(request), slug)
    chosen = choose_comparison(comparisons_of(project), request.GET.get("on", ""))
    if chosen is None or name != "p-at-1":
        raise Http404
    return chart_file(draw_comparison(chosen.rows), f"{slug}-models-{chosen.split}", suffix)


@require_POST
@login_required
def promotion_undo(request: HttpRequest, slug: str) -> HttpResponse:
    """Roll back the newest promotion; refused with a name if somebody changed the model in the meantime."""
    user = signed_in(request)
    project = trainable_project(user, slug)
    try:
        promotion = roll_back(
            promotion_id=posted_uuid(request, "request_id"),
            project=project,
            actor=user,
            expected_current=request.POST.get("expected") or None,
            reason=request.POST.get("reason", ""),
        )
    except Refusal as refusal:
        return _render_list(request, user, project, refusal)
    name = promotion.after.slug if promotion.after else _("the server's own model")
    messages.success(request, _("Rolled back. The next candidates come from %(name)s.") % {"name": name})
    return redirect("models", slug)


# ---- one model -------------------------------------------------------------------------------------------------------


@login_required
@never_cache
@require_safe
def model_page(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    user = signed_in(request)
    return _render_model(request, user, _model_in(user, slug, name))


def _model_in(user: User, slug: str, name: str) -> RegisteredModel:
    model = model_for(user, name)
    if model.project.slug != slug:
        raise NotFound(_("There is no such model in this project."), _("Look it up in the list."))
    return model


def _render_model(
    request: HttpRequest, user: User, model: RegisteredModel, refusal: Refusal | None = None
) -> HttpResponse:
    project, current = model.project, current_model(model.project)
    rows = list(evaluations_of(project, model)[:EVALUATIONS])
    done = [row for row in rows if row.job.state == JobState.DONE]
    requested = request.GET.get("evaluation")
    evaluation = next((row for row in done if str(row.pk) == requested), next(iter(done), None))
    run = model.training_run
    context = {
        "project": project,
        "title": model.slug,
        "model": model,
        "current": current,
        "in_use": bool(current and model.generator_id and current.generator == model.generator),
        "lineage": lineage_of(model)[::-1],
        "children": children_of(model),
        "run": run,
        "changed": settings_of_run(run, run.changes) if run else differences_from_paper(model.config),
        "brought": list_brought_figures(model),
        "report_charts": draw_assessor_report(model.report),
        "report_failures": model.report.get("failures", {}),
        "report_notes": model.report.get("notes", []),
        "evaluations": [(row, find_estimate(overall(row), "preference", "p_at_1")) for row in rows],
        "shown_evaluation": evaluation,
        "charts": draw_report(evaluation.report) if evaluation else [],
        "notes": evaluation.report.get("notes", []) if evaluation else [],
        "card": json.dumps(model.config, ensure_ascii=False, indent=2) if model.config else "",
        "snapshot_url": snapshot_url(project.slug, model.snapshot_id) if model.snapshot_id else "",
        "assessments": assessments_of(user, model.generator) if model.generator else [],
        "evaluation_form": EvaluationForm(user, project, model=model.slug),
        "worker_alive": live_workers(QUEUE).exists(),
        "may_share": model.generator is not None and _manages(user, project),
        "sharing": projects_sharing(model.generator)[:PAGE_SIZE] if model.generator else [],
        "refusal": refusal,
        "sent": request.POST if refusal else {},
    }
    return render(request, "learning/models/model.html", context, status=refusal.status if refusal else 200)


def differences_from_paper(config: dict[str, Any]) -> list[tuple[str, str]]:
    """Settings of a model trained elsewhere, in words, where its recipe is not the paper's."""
    recipe = config.get("recipe", {})
    return [
        (str(SETTINGS.get(name, name)), describe_setting(name, recipe[name]))
        for name, value in diamante().as_dict().items()
        if name in recipe and recipe[name] != value and isinstance(recipe[name], str | int | float | None)
    ]


def list_brought_figures(model: RegisteredModel) -> list[tuple[str, ReportedEstimate | None]]:
    """The measures of the report that came with a model trained elsewhere; [] without one."""
    report = model.report.get("evaluation", {})
    return [row for row in list_all_measures(report.get("overall", {})) if row[1]]


def act_on_model(
    request: HttpRequest, slug: str, name: str, act: Callable[[User, RegisteredModel], str]
) -> HttpResponse:
    """Change a model and show the message that `act` returns; after a refusal its page shows the current state."""
    user = signed_in(request)
    model = _model_in(user, slug, name)
    try:
        message = act(user, model)
    except Refusal as refusal:
        return _render_model(request, user, _model_in(user, slug, name), refusal)
    messages.success(request, message)
    return redirect("model", slug, model.slug)


@require_POST
@login_required
def model_promote(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    def act(user: User, model: RegisteredModel) -> str:
        promote_model(
            promotion_id=posted_uuid(request, "request_id"),
            model=model,
            project=model.project,
            actor=user,
            expected_current=request.POST.get("expected") or None,
            reason=request.POST.get("reason", ""),
        )
        return _("The next candidates come from %(name)s. You can roll back at any time.") % {
            "name": model.slug
        }

    return act_on_model(request, slug, name, act)


@require_POST
@login_required
def model_edit(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    def act(user: User, model: RegisteredModel) -> str:
        changes = {"slug": request.POST.get("slug", "").strip(), "note": request.POST.get("note", "").strip()}
        model.slug = update_model(model=model, actor=user, changes=changes).slug
        return _("Saved.")

    return act_on_model(request, slug, name, act)


@require_POST
@login_required
def model_remove(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    def act(user: User, model: RegisteredModel) -> str:
        remove_model(model=model, actor=user)
        return _("The files are removed; where the model came from and how good it was stay.")

    return act_on_model(request, slug, name, act)


@login_required
@never_cache
@require_safe
def model_card(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """training.json, as the trainer wrote it."""
    model = _model_in(signed_in(request), slug, name)
    return json_file(model.config, f"{model.slug}.training.json")


@login_required
@never_cache
@require_safe
def model_readme(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """The model's card."""
    model = _model_in(signed_in(request), slug, name)
    headers = {"Content-Disposition": f'attachment; filename="{model.slug}.README.md"'}
    return HttpResponse(card_of(model), content_type="text/markdown; charset=utf-8", headers=headers)


@login_required
@never_cache
@require_safe
def model_weights(request: HttpRequest, slug: str, name: str, file: str) -> HttpResponseBase:
    """One of the model's files, with an event in the project's history."""
    user = signed_in(request)
    model = _model_in(user, slug, name)
    path = model_file(model, file)
    kind = "application/octet-stream"
    response = resumable_file(request, path, content_type=kind, files=shared_models())
    if not is_resumed(response):
        record_download(person=user, project=model.project, row=model, name=file)
    return response


@login_required
@never_cache
@require_safe
def model_report(request: HttpRequest, slug: str, name: str, chart: str, suffix: str) -> HttpResponse:
    """A part of an assessor's report as a file."""
    model = _model_in(signed_in(request), slug, name)
    found = next((one for one in draw_assessor_report(model.report) if one.name == chart), None)
    if found is None:
        raise Http404
    return chart_file(found, f"{model.slug}-{chart}", suffix)


urlpatterns = [
    path("p/<slug:slug>/models/", model_list, name="models"),
    path("p/<slug:slug>/models/<slug:name>/", model_page, name="model"),
    path("p/<slug:slug>/models/<slug:name>/promote/", model_promote, name="model_promote"),
    path("p/<slug:slug>/models/<slug:name>/edit/", model_edit, name="model_edit"),
    path("p/<slug:slug>/models/<slug:name>/remove/", model_remove, name="model_remove"),
    path("p/<slug:slug>/models/<slug:name>/training.json", model_card, name="model_card"),
    path("p/<slug:slug>/models/<slug:name>/README.md", model_readme, name="model_readme"),
    path("p/<slug:slug>/models/<slug:name>/files/<path:file>", model_weights, name="model_file"),
    path(
        "p/<slug:slug>/models/<slug:name>/report/<slug:chart>.<str:suffix>", model_report, name="model_report"
    ),
    path(
        "p/<slug:slug>/comparison/<slug:name>.<str:suffix>", comparison_download, name="comparison_download"
    ),
    path("p/<slug:slug>/promotions/roll-back/", promotion_undo, name="promotion_undo"),
]
