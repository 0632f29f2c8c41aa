"""The long jobs of a project."""

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from frontend.pages.requests import signed_in
from jobs.models import JobState
from jobs.selectors import jobs_of, served_queues
from projects.selectors import project_for

PAGE_SIZE = 50


@login_required
@never_cache
@require_safe
def job_list(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug)
    state = request.GET.get("state", "")
    filters = {"state": state} if state in JobState.values else {}
    page = Paginator(jobs_of(user, project, **filters), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "title": _("Jobs"),
        "page": page,
        "state": state,
        "states": JobState.choices,
        "queues": served_queues(),
    }
    return render(request, "jobs/list.html", context)


urlpatterns = [path("p/<slug:slug>/jobs/", job_list, name="jobs")]
