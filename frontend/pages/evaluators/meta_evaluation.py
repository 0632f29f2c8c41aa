"""Evaluators compared with people: choose a question and scores, read which evaluator agrees."""

from typing import Any, cast
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
from annotation.batch_review.selectors.batch_plan import batch_plan_for
from common.refusals import NotFound, Refusal
from frontend.charts.evaluation import find_estimate
from frontend.charts.files import chart_file, json_file
from frontend.charts.meta_evaluation import draw_meta_evaluation, ordered_figures
from frontend.pages.jobs.actions import job_view
from frontend.pages.jobs.partials import render_job_page
from frontend.pages.requests import signed_in
from frontend.ui.questions import judged_titles
from jobs.models import LIVE_STATES, Job
from jobs.selectors import live_workers
from jobs.services import cancel_job, retry_job
from preference.child_process import QUEUE
from preference.evaluators.catalogue import run_title
from preference.evaluators.models import MetaEvaluation
from preference.evaluators.selectors.judgements import judged_questions
from preference.evaluators.selectors.meta_evaluations import comparable_runs, meta_evaluation_for, titles_of
from preference.evaluators.services.meta_evaluations import start_meta_evaluation
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for


class MetaEvaluationForm(forms.Form):
    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    question = forms.ChoiceField(label=gettext_lazy("What people judged"))
    runs = forms.MultipleChoiceField(
        label=gettext_lazy("Evaluators"),
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=gettext_lazy("The newest scores of each. None chosen: all of them."),
    )

    def __init__(self, project: Project, data: QueryDict | None = None) -> None:
        super().__init__(data, initial={"question": batch_plan_for(project).question})
        questions = cast("forms.ChoiceField", self.fields["question"])
        titles = judged_titles(project)
        questions.choices = [(name, titles.get(name, name)) for name in judged_questions(project)]
        runs = cast("forms.MultipleChoiceField", self.fields["runs"])
        runs.choices = [(str(run.pk), run_title(run)) for run in comparable_runs(project)]

    @property
    def is_possible(self) -> bool:
        """Whether there is something to compare with, and something to compare."""
        return bool(self.fields["question"].choices and self.fields["runs"].choices)  # type: ignore[attr-defined]


@require_POST
@login_required
def meta_evaluation_start(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.TRAIN)
    form = MetaEvaluationForm(project, request.POST)
    if not form.is_valid():
        return _refused(request, project, form, 422)
    try:
        evaluation = start_meta_evaluation(
            evaluation_id=form.cleaned_data["id"],
            project=project,
            actor=user,
            question=form.cleaned_data["question"],
            runs=[UUID(run) for run in form.cleaned_data["runs"]],
        )
    except Refusal as refusal:
        form.add_error(None, str(refusal))
        return _refused(request, project, form, refusal.status)
    return redirect("meta_evaluation", slug, evaluation.pk)


def _refused(request: HttpRequest, project: Project, form: MetaEvaluationForm, status: int) -> HttpResponse:
    context = {"project": project, "title": _("Compare with people"), "compare_form": form}
    return render(request, "evaluators/compare.html", context, status=status)


def _evaluation_in(user: User, slug: str, evaluation_id: UUID) -> MetaEvaluation:
    evaluation = meta_evaluation_for(user, evaluation_id)
    if evaluation.project.slug != slug:
        raise NotFound(
            _("There is no such comparison in this project."), _("Look it up in the list of evaluators.")
        )
    return evaluation


def _job_in(user: User, slug: str, evaluation_id: UUID) -> Job:
    return _evaluation_in(user, slug, evaluation_id).job


@login_required
@never_cache
@require_safe
def meta_evaluation_page(request: HttpRequest, slug: str, evaluation_id: UUID) -> HttpResponse:
    """With `?part=live` only what changes while it runs, with `?part=row` only its line in a list."""
    evaluation = _evaluation_in(signed_in(request), slug, evaluation_id)
    titles = titles_of(evaluation)
    report = evaluation.report
    context = {
        "project": evaluation.project,
        "title": _("Evaluators compared with people"),
        "evaluation": evaluation,
        "question": judged_titles(evaluation.project).get(evaluation.question, evaluation.question),
        "job": evaluation.job,
        "live": evaluation.job.state in LIVE_STATES,
        "charts": draw_meta_evaluation(evaluation, titles) if report else [],
        "verdict": _verdict(evaluation, titles) if report else "",
        "notes": report.get("notes", []),
        "unscored": _unscored(report, titles) if report else [],
        "worker_alive": live_workers(QUEUE).exists(),
    }
    return render_job_page(
        request, context, template="evaluators/meta_evaluation.html", folder="evaluators/comparison"
    )


def _verdict(evaluation: MetaEvaluation, titles: dict[str, str]) -> str:
    """The result in one sentence."""
    report = evaluation.report
    best = ordered_figures(report)[0]
    found = find_estimate(best.get("systems", {}) if report["n_systems"] else best, "spearman")
    if found is None:
        return _("No evaluator's scores can be correlated with what people judged.")
    values = {"name": titles[best["name"]], "value": found, "interval": found.interval or "–"}
    people = (report["people"] or {}).get("spearman", {}).get("mean", {}).get("value")
    if people is None:
        return _("%(name)s agrees best with people: ρ = %(value)s (%(interval)s).") % values
    return _(
        "%(name)s agrees best with people: ρ = %(value)s (%(interval)s). A person agrees with the others at %(people)s."
    ) % {**values, "people": f"{people:.3f}"}


def _unscored(report: dict[str, Any], titles: dict[str, str]) -> list[tuple[str, str, int]]:
    return [
        (titles[figures["name"]], reason, n)
        for figures in ordered_figures(report)
        for reason, n in figures["reasons"].items()
    ]


@login_required
@never_cache
@require_safe
def meta_evaluation_download(
    request: HttpRequest, slug: str, evaluation_id: UUID, name: str, suffix: str
) -> HttpResponse:
    """The whole report as JSON, or one of its charts."""
    evaluation = _evaluation_in(signed_in(request), slug, evaluation_id)
    stem = f"{slug}-evaluators-{name}"
    titles = titles_of(evaluation)
    if not evaluation.report:
        raise Http404
    if (name, suffix) == ("report", "json"):
        return json_file({"evaluators_by_run": titles, **evaluation.report}, f"{stem}.json")
    charts = draw_meta_evaluation(evaluation, titles)
    chart = next((candidate for candidate in charts if candidate.name == name), None)
    if chart is None:
        raise Http404
    return chart_file(chart, stem, suffix)


COMPARISON_URL = "p/<slug:slug>/evaluators/comparisons/<uuid:evaluation_id>/"
urlpatterns = [
    path("p/<slug:slug>/evaluators/comparisons/", meta_evaluation_start, name="meta_evaluation_start"),
    path(COMPARISON_URL, meta_evaluation_page, name="meta_evaluation"),
    path(
        f"{COMPARISON_URL}cancel/",
        job_view(cancel_job, _job_in, "meta_evaluation"),
        name="meta_evaluation_cancel",
    ),
    path(
        f"{COMPARISON_URL}retry/",
        job_view(retry_job, _job_in, "meta_evaluation"),
        name="meta_evaluation_retry",
    ),
    path(
        f"{COMPARISON_URL}<slug:name>.<str:suffix>", meta_evaluation_download, name="meta_evaluation_download"
    ),
]
