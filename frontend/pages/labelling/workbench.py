"""The labelling workbench: dialogues and the questions of a schema. static/js/labelling/workbench.js runs it over the
REST API. Opened without a dialogue, the script claims the next one."""

from time import time
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.labelling.selectors.workbench import (
    assignments_to_confirm,
    begun_assignment_of,
    count_available,
    count_submitted,
)
from annotation.labelling.serializers import serialize_assignment
from annotation.labelling.services.submissions import MAX_NOTE, serve
from annotation.tasks.models.work import Assignment
from annotation.tasks.selectors.assignments import assignment_for, assignment_not_found
from annotation.tasks.selectors.queue import today_of
from frontend.pages.requests import signed_in
from frontend.script_modules import loaded_on_need, preloaded
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

SCRIPT = "js/labelling/workbench.js"
MOST_TO_CONFIRM = 100


@login_required
@never_cache
@require_safe
def label(request: HttpRequest, slug: str, assignment_id: int) -> HttpResponse:
    """One of the person's own assignments, open or submitted."""
    user = signed_in(request)
    assignment = assignment_for(user, assignment_id)
    if assignment.project.slug != slug:
        raise assignment_not_found()
    return _render(request, user, assignment.project, assignment)


@login_required
@never_cache
@require_safe
def label_next(request: HttpRequest, slug: str) -> HttpResponse:
    """The assignment that the person has begun; without one, the script claims the next dialogue."""
    user = signed_in(request)
    project = project_for(user, slug, Capability.ANNOTATE)
    return _render(request, user, project, begun_assignment_of(user, project))


def _render(
    request: HttpRequest, user: User, project: Project, assignment: Assignment | None
) -> HttpResponse:
    context = {
        "project": project,
        "script": SCRIPT,
        "modules": preloaded(SCRIPT),
        "longest_note": MAX_NOTE,
        "skip_reasons": skip_reasons(),
        "data": _workbench_data(user, project, assignment),
    }
    return render(request, "labelling/workbench/workbench.html", context)


def _workbench_data(user: User, project: Project, assignment: Assignment | None) -> dict[str, Any]:
    """The initial data of static/js/labelling/workbench.js."""
    today = today_of(user, project)
    schema = project.labelling.schema
    return {
        "project": project.slug,
        "made_at": int(time() * 1000),
        "assignment": serialize_assignment(serve(assignment=assignment)) if assignment else None,
        "schema": {"version": schema.version, "content": schema.content} if schema else None,
        "today": {"finished": today.finished, "goal": today.goal},
        "done": count_submitted(user, project),
        "of": count_available(user, project),
        "to_confirm": list(
            assignments_to_confirm(user, project).values_list("pk", flat=True)[:MOST_TO_CONFIRM]
        ),
        "most_to_confirm": MOST_TO_CONFIRM,
        "files": [static(name) for name in loaded_on_need(SCRIPT)],
        "urls": {
            "bench": reverse("label", args=[project.slug, 0]),
            "next": reverse("label_next", args=[project.slug]),
            "queue": reverse("queue", args=[project.slug]),
            "login": reverse("account_login"),
        },
    }


def skip_reasons() -> list[tuple[str, str]]:
    """Each reason, and the address of the setting that keeps such dialogues away, "" without such a setting."""
    return [
        (_("I do not understand it"), ""),
        (_("It is in another language"), f"{reverse('profile')}#id_reading_languages"),
        (_("It is broken or empty"), ""),
        (_("It contains private data"), ""),
        (_("I know the people in it"), ""),
    ]


urlpatterns = [
    path("p/<slug:slug>/label/", label_next, name="label_next"),
    path("p/<slug:slug>/label/<int:assignment_id>/", label, name="label"),
]
