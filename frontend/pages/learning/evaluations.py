"""Evaluations: how well a model ranks what people wrote, measured on the held-out part of a snapshot."""

from typing import cast
from uuid import UUID, uuid4

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from common.refusals import NotFound, Refusal
from dialogues.models import Split
from frontend.charts.evaluation import draw_report, name_of
from frontend.charts.files import chart_file, json_file
from frontend.pages.jobs.actions import job_view
from frontend.pages.jobs.partials import render_job_page
from frontend.pages.learning.training import snapshot_url, trainable_project
from frontend.pages.learning.training_form import base_name
from frontend.pages.requests import signed_in
from jobs.models import LIVE_STATES, Job
from jobs.selectors import live_workers
from jobs.services import cancel_job, retry_job
from preference.child_process import QUEUE
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.snapshots import usable_snapshots
from preference.evaluation.models import Evaluation
from preference.evaluation.selectors import evaluation_for
from preference.evaluation.services import start_evaluation
from preference.registry.selectors.bases import selectable_bases
from preference.registry.services.trained_models import check_trainable
from projects.models import Project


class EvaluationForm(forms.Form):
    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    model = forms.ChoiceField(label=gettext_lazy("Model"))
    snapshot = forms.ModelChoiceField(
        label=gettext_lazy("Snapshot"), queryset=Snapshot.objects.none(), empty_label=None
    )
    split = forms.ChoiceField(
        label=gettext_lazy("Split"),
        choices=[("", gettext_lazy("held-out dialogues")), *Split.choices],
        required=False,
    )

    def __init__(self, user: User, project: Project, data: QueryDict | None = None, model: str = "") -> None:
        super().__init__(data, initial={"model": model} if model else None)
        bases = [(base.name, base_name(base)) for base in selectable_bases(user, project)]
        model_field = cast("forms.ChoiceField", self.fields["model"])
        model_field.choices = [(model, model)] if model else bases
        if model:
            model_field.widget = forms.HiddenInput()
        snapshots = cast("forms.ModelChoiceField[Snapshot]", self.fields["snapshot"])
        snapshots.queryset = usable_snapshots(project)


@require_POST
@login_required
def evaluate(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = trainable_project(user, slug)
    check_trainable(project)
    form = EvaluationForm(user, project, request.POST)
    if not form.is_valid():
        return _refused(request, project, form)
    values = form.cleaned_data
    try:
        evaluation = start_evaluation(evaluation_id=values.pop("id"), project=project, actor=user, **values)
    except Refusal as refusal:
        form.add_error(None, str(refusal))
        return _refused(request, project, form)
    return redirect("evaluation", slug, evaluation.pk)


def _refused(request: HttpRequest, project: Project, form: EvaluationForm) -> HttpResponse:
    context = {"project": project, "title": _("Evaluate"), "evaluation_form": form}
    return render(request, "learning/evaluations/refused.html", context, status=422)


def _evaluation_in(user: User, slug: str, evaluation_id: UUID) -> Evaluation:
    row = evaluation_for(user, evaluation_id)
    if row.project.slug != slug:
        raise NotFound(
            _("There is no such evaluation in this project."), _("Look it up in the list of models.")
        )
    return row


def _job_in(user: User, slug: str, evaluation_id: UUID) -> Job:
    return _evaluation_in(user, slug, evaluation_id).job


@login_required
@never_cache
@require_safe
def evaluation_page(request: HttpRequest, slug: str, evaluation_id: UUID) -> HttpResponse:
    """With `?part=live` only what changes while the evaluation runs, with `?part=row` only its line in a list."""
    row = _evaluation_in(signed_in(request), slug, evaluation_id)
    context = {
        "project": row.project,
        "title": _("Evaluation of %(name)s") % {"name": name_of(row)},
        "evaluation": row,
        "job": row.job,
        "live": row.job.state in LIVE_STATES,
        "charts": draw_report(row.report) if row.report else [],
        "notes": row.report.get("notes", []),
        "snapshot_url": snapshot_url(row.project.slug, row.snapshot_id),
        "worker_alive": live_workers(QUEUE).exists(),
    }
    return render_job_page(
        request, context, template="learning/evaluations/evaluation.html", folder="learning/evaluations"
    )


@login_required
@never_cache
@require_safe
def evaluation_download(
    request: HttpRequest, slug: str, evaluation_id: UUID, name: str, suffix: str
) -> HttpResponse:
    """The whole report as JSON, or one of its charts as CSV or SVG."""
    row = _evaluation_in(signed_in(request), slug, evaluation_id)
    stem = f"{name_of(row).replace('/', '-')}-{row.split}-{name}"
    if (name, suffix) == ("report", "json") and row.report:
        return json_file(row.report, f"{stem}.json")
    chart = next((candidate for candidate in draw_report(row.report) if candidate.name == name), None)
    if chart is None:
        raise Http404
    return chart_file(chart, stem, suffix)


EVALUATION_URL = "p/<slug:slug>/evaluations/<uuid:evaluation_id>/"
urlpatterns = [
    path("p/<slug:slug>/evaluations/", evaluate, name="evaluate"),
    path(EVALUATION_URL, evaluation_page, name="evaluation"),
    path(f"{EVALUATION_URL}cancel/", job_view(cancel_job, _job_in, "evaluation"), name="evaluation_cancel"),
    path(f"{EVALUATION_URL}retry/", job_view(retry_job, _job_in, "evaluation"), name="evaluation_retry"),
    path(f"{EVALUATION_URL}<slug:name>.<str:suffix>", evaluation_download, name="evaluation_download"),
]
