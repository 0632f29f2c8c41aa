"""Boards over the batches of a project, for managers: each chart answers the question that is its title."""

from collections.abc import Callable
from typing import Final

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.batch_review.selectors.boards import Boards
from annotation.labelling.selectors.settings import labelling_project
from frontend.charts import batches
from frontend.charts.chart import Chart
from frontend.charts.files import chart_file
from frontend.pages.requests import signed_in
from projects.roles import Capability

CHARTS: Final[dict[str, Callable[[Boards], Chart]]] = {
    "states": batches.draw_states,
    "rounds": batches.draw_rounds,
    "groups": batches.draw_acceptance_by_group,
    "course": batches.draw_acceptance_over_time,
    "load": batches.draw_controller_loads,
}


@login_required
@require_safe
def boards_page(request: HttpRequest, slug: str) -> HttpResponse:
    project = labelling_project(signed_in(request), slug, Capability.READ_STATISTICS)
    boards = Boards(project)
    charts = [draw(boards) for draw in CHARTS.values()]
    context = {"project": project, "title": _("Boards"), "charts": charts}
    return render(request, "batch_review/boards.html", context)


@login_required
@require_safe
def download(request: HttpRequest, slug: str, name: str, suffix: str) -> HttpResponse:
    project = labelling_project(signed_in(request), slug, Capability.READ_STATISTICS)
    if name not in CHARTS:
        raise Http404
    return chart_file(CHARTS[name](Boards(project)), f"{slug}-batches-{name}", suffix)


urlpatterns = [
    path("p/<slug:slug>/batches/boards/", boards_page, name="batch_boards"),
    path("p/<slug:slug>/batches/boards/<slug:name>.<str:suffix>", download, name="batch_boards_download"),
]
