"""Trainings: choose a snapshot and a recipe, follow the loss, stop, resume, read the log, open the model."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from common.refusals import NotFound, Refusal
from frontend.charts.files import chart_file
from frontend.charts.training import POINTS, draw_held_out, draw_loss, is_validated
from frontend.pages.jobs.partials import render_job_page
from frontend.pages.learning.evaluator_training import chosen_kind, evaluator_new, kind_links, model_states
from frontend.pages.learning.training_form import (
    TrainingForm,
    forecast,
    settings_of_run,
    source_name,
)
from frontend.pages.requests import signed_in
from jobs.models import LIVE_STATES
from jobs.selectors import live_workers
from jobs.services import cancel_job
from preference.child_process import QUEUE
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.snapshots import usable_snapshots
from preference.registry.models import ModelKind, RegisteredModel
from preference.registry.services.trained_models import check_trainable
from preference.runs.files import CARD, read_run_json
from preference.runs.memory import memory_of_training
from preference.runs.models import TrainingRun
from preference.runs.selectors import Curve, curve_of, log_of, run_for, runs_of
from preference.runs.services.trainings import remove_run_files, resume_training, start_training
from preference.runs.trainers import kinds_of_project
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

PAGE_SIZE = 20
COMPARED = 20  # earlier trainings whose speed predicts how long a new one takes
TAIL = 6000  # bytes of the log that a page shows
CHARTS = {"loss": draw_loss, "ranking": draw_held_out}
LAYOUTS = {
    "trees": gettext_lazy("Dialogue trees: what a dialogue's turns share is computed once."),
    "packed": gettext_lazy("Packed quadruples: a turn's three replies share its context."),
    "naive": gettext_lazy("One row for every reply, with its own copy of the context."),
}


def trainable_project(user: User, slug: str) -> Project:
    """For members who may train. Raises Refusal no_authoring if the project has nothing to learn from."""
    project = project_for(user, slug, Capability.TRAIN)
    if not kinds_of_project(project):
        check_trainable(project)
    return project


@login_required
@never_cache
@require_safe
def training_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = trainable_project(signed_in(request), slug)
    page = Paginator(runs_of(project), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "title": pgettext("models", "Training"),
        "page": page,
        "has_snapshot": usable_snapshots(project).exists(),
        "snapshots_url": reverse("snapshots", args=[slug]),
        "worker_alive": live_workers(QUEUE).exists(),
    }
    return render(request, "learning/training/list.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def training_new(request: HttpRequest, slug: str) -> HttpResponse:
    """With `?part=forecast` only how long a training with the choices in the query would take."""
    user = signed_in(request)
    project = trainable_project(user, slug)
    kind = chosen_kind(request, project)
    if kind != ModelKind.JOINT:
        return evaluator_new(request, user, project, kind, _linked_snapshot(request, project))
    if request.method == "POST":
        return _start(request, user, project)
    if request.GET.get("part") == "forecast":
        form = TrainingForm(user, project, request.GET)
        form.is_valid()
        return render(request, "learning/training/forecast.html", _forecast(user, project, form))
    snapshot = _linked_snapshot(request, project)
    form = TrainingForm(user, project, snapshot=snapshot, model=request.GET.get("model"))
    return _render_form(request, user, project, form)


def _linked_snapshot(request: HttpRequest, project: Project) -> Snapshot | None:
    snapshot_id = request.GET.get("snapshot", "")
    return usable_snapshots(project).filter(pk=snapshot_id).first() if is_uuid(snapshot_id) else None


def is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _start(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    form = TrainingForm(user, project, request.POST)
    if not form.is_valid():
        return _render_form(request, user, project, form, status=422)
    values = form.cleaned_data
    try:
        run = start_training(
            run_id=values["id"],
            project=project,
            actor=user,
            snapshot=values["snapshot"],
            seed=values["seed"],
            **form.choices(),
        )
    except Refusal as refusal:
        form.add_error(None, str(refusal))
        return _render_form(request, user, project, form, status=refusal.status)
    return redirect("training_run", project.slug, run.pk)


def _render_form(
    request: HttpRequest, user: User, project: Project, form: TrainingForm, status: int = 200
) -> HttpResponse:
    context = {
        "title": _("Train a model"),
        "form": form,
        "kinds": kind_links(project, ModelKind.JOINT),
        "snapshots_url": reverse("snapshots", args=[project.slug]),
        "worker_alive": live_workers(QUEUE).exists(),
        **_forecast(user, project, form),
    }
    return render(request, "learning/training/new.html", context, status=status)


def _forecast(user: User, project: Project, form: TrainingForm) -> dict[str, Any]:
    prediction = forecast(form, list(runs_of(project)[:COMPARED]))
    return {
        "project": project,
        "prediction": prediction,
        **_memory(user, project, form),
        "queue": QUEUE,
        "worker_alive": live_workers(QUEUE).exists(),
    }


def _memory(user: User, project: Project, form: TrainingForm) -> dict[str, Any]:
    """What the training would take, or why that cannot be said; neither as long as a choice is wrong."""
    try:
        return {"memory": memory_of_training(project=project, actor=user, **form.choices())}
    except Refusal as refusal:
        return {"memory_unknown": refusal if refusal.code == "not_plannable" else None}


@login_required
@never_cache
@require_safe
def training_run(request: HttpRequest, slug: str, run_id: UUID) -> HttpResponse:
    """With `?part=live` only what changes while it runs, with `?part=row` its line in the list."""
    run = _run_in(signed_in(request), slug, run_id)
    live = run.job.state in LIVE_STATES
    context: dict[str, Any] = {
        "project": run.project,
        "title": _("Training %(n)d") % {"n": run.number},
        "run": run,
        "job": run.job,
        "live": live,
        "worker_alive": live_workers(QUEUE).exists(),
    }
    if request.GET.get("part") != "row":
        context |= _run_context(run)
    return render_job_page(
        request, context, template="learning/training/run.html", folder="learning/training"
    )


def _run_context(run: TrainingRun) -> dict[str, Any]:
    """What the trainer has written so far; what the row has kept if the files were removed."""
    card: dict[str, Any] = {}
    model: RegisteredModel | None = getattr(run, "model", None)
    if run.folder:
        card = read_run_json(run, CARD)
    elif model:
        card = model.config
    curve = _curve(run)
    return {
        "chart": draw_loss(curve),
        "held_out": draw_held_out(curve) if is_validated(curve) else None,
        "about": card,
        "settings": settings_of_run(run, card.get("recipe", {}) | run.changes),
        "changed": settings_of_run(run, run.changes),
        "models": model_states(run),
        "layout": LAYOUTS.get(run.layout, run.layout),
        "notes": run.message.splitlines(),
        "log": _log_tail(run),
        "model": model,
        "measuring": bool(model and model.evaluations.filter(job__state__in=LIVE_STATES).exists()),
        "base": run.parent.slug if run.parent else source_name(run.base) or _("from scratch"),
        "snapshot_url": snapshot_url(run.project.slug, run.snapshot_id),
    }


def snapshot_url(slug: str, snapshot_id: UUID) -> str:
    return reverse("snapshot", args=[slug, snapshot_id])


def _curve(run: TrainingRun, most: int = POINTS) -> Curve:
    return curve_of(run, most=most) if run.folder else Curve((), run.latest.get("steps", 0), None)


def _log_tail(run: TrainingRun) -> str:
    try:
        with log_of(run) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL))
            text = file.read().decode(errors="replace")
    except Refusal:
        return ""
    return text if size <= TAIL else text.partition("\n")[2]


def _run_in(user: User, slug: str, run_id: UUID) -> TrainingRun:
    run = run_for(user, run_id)
    if run.project.slug != slug:
        raise NotFound(_("There is no such training in this project."), _("Look it up in the list."))
    return run


@login_required
@never_cache
@require_safe
def training_download(request: HttpRequest, slug: str, run_id: UUID, name: str, suffix: str) -> HttpResponse:
    """The loss of every step and the figures of every validation as CSV, or the curves as SVG."""
    run = _run_in(signed_in(request), slug, run_id)
    if name not in CHARTS:
        raise Http404
    most = POINTS if suffix == "svg" else 10**9
    return chart_file(CHARTS[name](_curve(run, most)), f"{slug}-training-{run.number}-{name}", suffix)


@login_required
@never_cache
@require_safe
def training_log(request: HttpRequest, slug: str, run_id: UUID) -> FileResponse:
    run = _run_in(signed_in(request), slug, run_id)
    name = f"{slug}-training-{run.number}.log"
    return FileResponse(
        log_of(run), as_attachment=True, filename=name, content_type="text/plain; charset=utf-8"
    )


@require_POST
@login_required
def training_cancel(request: HttpRequest, slug: str, run_id: UUID) -> HttpResponse:
    job = cancel_job(job=_run_in(signed_in(request), slug, run_id).job, actor=signed_in(request))
    if job.state in LIVE_STATES:
        messages.success(request, _("It writes a checkpoint, then stops. You can resume from there."))
    return redirect("training_run", slug, run_id)


@require_POST
@login_required
def training_resume(request: HttpRequest, slug: str, run_id: UUID) -> HttpResponse:
    resume_training(run=_run_in(signed_in(request), slug, run_id), actor=signed_in(request))
    messages.success(request, _("It continues from its last checkpoint as soon as a worker is free."))
    return redirect("training_run", slug, run_id)


@require_POST
@login_required
def training_remove(request: HttpRequest, slug: str, run_id: UUID) -> HttpResponse:
    remove_run_files(run=_run_in(signed_in(request), slug, run_id), actor=signed_in(request))
    messages.success(request, _("The files of this training are removed."))
    return redirect("training_run", slug, run_id)


urlpatterns = [
    path("p/<slug:slug>/trainings/", training_list, name="trainings"),
    path("p/<slug:slug>/trainings/new/", training_new, name="training_new"),
    path("p/<slug:slug>/trainings/<uuid:run_id>/", training_run, name="training_run"),
    path("p/<slug:slug>/trainings/<uuid:run_id>/cancel/", training_cancel, name="training_cancel"),
    path("p/<slug:slug>/trainings/<uuid:run_id>/resume/", training_resume, name="training_resume"),
    path("p/<slug:slug>/trainings/<uuid:run_id>/remove/", training_remove, name="training_remove"),
    path("p/<slug:slug>/trainings/<uuid:run_id>/log/", training_log, name="training_log"),
    path(
        "p/<slug:slug>/trainings/<uuid:run_id>/<slug:name>.<str:suffix>",
        training_download,
        name="training_download",
    ),
]
