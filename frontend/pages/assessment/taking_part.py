"""Members of the project take part themselves, without a join link."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from assessment.sessions.models.runs import RunState
from assessment.sessions.selectors.assignments import assignments_of_member
from assessment.sessions.selectors.runs import run_in, runs_of
from assessment.sessions.services import participants
from assessment.setup.selectors import assessment_project
from frontend.pages.assessment.participant import set_cookie
from frontend.pages.requests import signed_in
from projects.roles import Capability

RUNS_SHOWN = 20


@login_required
@require_safe
def take_part(request: HttpRequest, slug: str) -> HttpResponse:
    """The open runs, and what the member has done in earlier ones."""
    user = signed_in(request)
    project = assessment_project(user, slug, Capability.SEE)
    own = {assignment.run_id: assignment for assignment in assignments_of_member(project, user)}
    runs = [run for run in runs_of(project) if run.state == RunState.OPEN or run.pk in own]
    context = {
        "project": project,
        "title": _("Take part"),
        "runs": [(run, own.get(run.pk)) for run in runs[:RUNS_SHOWN]],
    }
    return render(request, "assessment/manager/take_part.html", context)


@login_required
@require_POST
def enter_run(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Begin or go on, in this browser."""
    user = signed_in(request)
    run = run_in(assessment_project(user, slug, Capability.SEE), number)
    assignment = participants.take_part(user=user, run=run, language=get_language() or "en")
    response = redirect("join", slug)
    set_cookie(response, assignment)
    return response


urlpatterns = [
    path("p/<slug:slug>/take-part/", take_part, name="take_part"),
    path("p/<slug:slug>/runs/<int:number>/take-part/", enter_run, name="run_take_part"),
]
