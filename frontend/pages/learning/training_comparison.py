"""Several trainings of a project side by side: their curves on the same axes, and how they end."""

from collections.abc import Sequence
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from frontend.charts.chart import Chart
from frontend.charts.files import chart_file
from frontend.charts.training import POINTS
from frontend.charts.trainings import draw_comparison, tabulate_results
from frontend.pages.learning.evaluator_training import kind_links
from frontend.pages.learning.training import is_uuid, trainable_project
from frontend.pages.requests import signed_in
from preference.registry.models import ModelKind
from preference.runs.models import TrainingRun
from preference.runs.selectors import curves_of, runs_of
from projects.models import Project

PAGE_SIZE = 20
MOST = 5  # trainings on one plot: more lines than colours that can be told apart


@login_required
@never_cache
@require_safe
def training_comparison(request: HttpRequest, slug: str) -> HttpResponse:
    """`?run=ID`, up to MOST times, chooses the trainings, all of one kind: others have losses of another meaning."""
    project = trainable_project(signed_in(request), slug)
    chosen, left_out = _chosen(request, project)
    kind = chosen[0].kind if chosen else _kind(request, project)
    others = comparable_runs(project).filter(kind=kind).exclude(pk__in=[run.pk for run in chosen])
    charts, results = _compare(chosen)
    context = {
        "project": project,
        "title": _("Compare trainings"),
        "chosen": chosen,
        "left_out": left_out,
        "most": MOST,
        "kinds": kind_links(project, kind, "training_comparison"),
        "page": Paginator(others, PAGE_SIZE).get_page(request.GET.get("page")),
        "charts": charts,
        "results": results,
        "query": "?" + urlencode([("run", str(run.pk)) for run in chosen]),
    }
    return render(request, "learning/training/comparison.html", context)


@login_required
@never_cache
@require_safe
def training_comparison_download(request: HttpRequest, slug: str, name: str, suffix: str) -> HttpResponse:
    """A chart of the comparison as CSV, JSON or SVG; the tables have as many points as the page."""
    project = trainable_project(signed_in(request), slug)
    charts, results = _compare(_chosen(request, project)[0])
    chart = next((chart for chart in [*charts, results] if chart.name == name), None)
    if chart is None:
        raise Http404
    return chart_file(chart, f"{slug}-trainings-{name}", suffix)


def comparable_runs(project: Project) -> QuerySet[TrainingRun]:
    """Trainings that have made a step and still have their files, the newest first."""
    return runs_of(project).exclude(folder="").exclude(latest={})


def _chosen(request: HttpRequest, project: Project) -> tuple[list[TrainingRun], bool]:
    """The trainings that the query names, of the kind of the first, by number; and whether some were left out."""
    ids = list(dict.fromkeys(UUID(value) for value in request.GET.getlist("run") if is_uuid(value)))
    found = {run.pk: run for run in comparable_runs(project).filter(pk__in=ids[: 2 * MOST])}
    runs = [found[run_id] for run_id in ids if run_id in found]
    alike = [run for run in runs if run.kind == runs[0].kind][:MOST]
    return sorted(alike, key=lambda run: run.number), len(alike) < len(ids)


def _kind(request: HttpRequest, project: Project) -> str:
    """The kind in the query, or that of the newest training."""
    asked = request.GET.get("kind", "")
    if asked in ModelKind.values:
        return asked
    newest = comparable_runs(project).first()
    return newest.kind if newest else ModelKind.JOINT


def _compare(runs: Sequence[TrainingRun]) -> tuple[list[Chart], Chart]:
    """The plots, none without a step, and the table of results below them."""
    ends, curves = curves_of(runs, most=POINTS)
    return draw_comparison(ends, curves) if curves else [], tabulate_results(curves)


urlpatterns = [
    path("p/<slug:slug>/trainings/compare/", training_comparison, name="training_comparison"),
    path(
        "p/<slug:slug>/trainings/compare/<slug:name>.<str:suffix>",
        training_comparison_download,
        name="training_comparison_download",
    ),
]
