"""Statistics of a project: each chart answers the question that is its title."""

from collections.abc import Callable
from typing import Final

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.authoring.selectors.settings import authoring_settings_of
from annotation.authoring.selectors.statistics import Statistics
from annotation.tasks.selectors.forecast import forecast_of
from frontend.charts import actions, comparison, pace, topics
from frontend.charts.chart import Chart
from frontend.charts.files import chart_file
from frontend.pages.labelling import agreement
from frontend.pages.requests import signed_in
from projects.models import Protocol
from projects.roles import Capability
from projects.selectors import project_for

CHARTS: Final[dict[str, Callable[[Statistics], Chart]]] = {
    "table-1": actions.tabulate_data,
    "actions-over-time": actions.draw_actions_over_time,
    "actions-by-annotator": actions.draw_actions_by_annotator,
    "edit-distance": actions.draw_edit_distances,
    "place": actions.draw_chosen_places,
    "pace": pace.draw_paces,
    "waiting": pace.tabulate_waits,
    comparison.NAME: comparison.draw_model_comparison,
    topics.TOPICS: lambda statistics: topics.draw_topics(statistics.project),
}


@login_required
@require_safe
def statistics_page(request: HttpRequest, slug: str) -> HttpResponse:
    """A labelling project has the page of agreement at this address; an assessment project has its report."""
    project = project_for(signed_in(request), slug, Capability.READ_STATISTICS)
    if project.protocol == Protocol.LABELLING:
        return agreement.render_page(request, project)
    if project.protocol == Protocol.ASSESSMENT:
        return redirect("assessment_report", slug)
    authoring_settings_of(project)  # refuses other protocols
    statistics = Statistics(project)
    table_one, *charts = (draw(statistics) for draw in CHARTS.values())
    context = {
        "project": project,
        "title": _("Statistics"),
        "table_one": table_one,
        "charts": charts,
        "is_empty": not any(chart.rows for chart in charts) and not statistics.table_one()[-1].dialogues,
        "forecast": forecast_of(project),
    }
    return render(request, "authoring/statistics.html", context)


@login_required
@require_safe
def download(request: HttpRequest, slug: str, name: str, suffix: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.READ_STATISTICS)
    if project.protocol == Protocol.LABELLING:
        return agreement.download_chart(request, project, name, suffix)
    authoring_settings_of(project)
    if name not in CHARTS:
        raise Http404
    return chart_file(CHARTS[name](Statistics(project)), f"{slug}-{name}", suffix)


urlpatterns = [
    path("p/<slug:slug>/statistics/", statistics_page, name="statistics"),
    path("p/<slug:slug>/statistics/<slug:name>.<str:suffix>", download, name="statistics_download"),
]
