"""The parts of a job's page that htmx polls for."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def render_job_page(
    request: HttpRequest, context: dict[str, Any], *, template: str, folder: str
) -> HttpResponse:
    """Render the page of a job, or the part that `?part=` names: "row" in a list, "live" while the job runs.

    context["live"]: whether the job still runs. When it has ended, polling reloads the page, which then shows more.
    """
    part = request.GET.get("part")
    if part == "row":
        return render(request, f"{folder}/row.html", context)
    if part != "live":
        return render(request, template, context)
    response = render(request, f"{folder}/live.html", context)
    if not context["live"]:
        response["HX-Refresh"] = "true"
    return response
