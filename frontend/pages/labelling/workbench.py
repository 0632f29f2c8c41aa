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
from annotation.labelling.serializers import serialize_assignment
from annotation.labelling.services.submissions import MAX_NOTE, serve
from annotation.tasks.models.work import HELD, Assignment, AssignmentState, Task, TaskState
from annotation.tasks.selectors.assignments import assignment_for, assignment_not_found
from annotation.tasks.selectors.languages import readable_tasks
from annotation.tasks.selectors.queue import today_of
from frontend.pages.requests import signed_in
from frontend.script_modules import loaded_on_need, preloaded
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

SCRIPT = "js/labelling/workbench.js"


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


def begun_assignment_of(user: User, project: Project) -> Assignment | None:
    active = Assignment.objects.filter(annotator=user, project=project, state=AssignmentState.ACTIVE)
    return active.filter(served_at__isnull=False).first() or active.first()


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
        "files": [static(name) for name in loaded_on_need(SCRIPT)],
        "urls": {
            "bench": reverse("label", args=[project.slug, 0]),
            "next": reverse("label_next", args=[project.slug]),
            "queue": reverse("queue", args=[project.slug]),
            "login": reverse("account_login"),
        },
    }


def count_submitted(user: User, project: Project) -> int:
    """Leaves out labels that were withdrawn with their batch: those dialogues are labelled again."""
    own = Assignment.objects.filter(annotator=user, project=project, state=AssignmentState.SUBMITTED)
    return own.exclude(task__state=TaskState.WITHDRAWN).count()


def count_available(user: User, project: Project) -> int:
    """How many dialogues the person has labelled, holds or can still get; others may take some of those before."""
    own = Assignment.objects.filter(
        annotator=user, project=project, state__in=(*HELD, AssignmentState.SUBMITTED)
    ).exclude(task__state=TaskState.WITHDRAWN)
    free = Task.objects.filter(
        readable_tasks(user.reading_languages, [project]), project=project, open_slots__gt=0
    ).exclude(pk__in=own.values("task"))
    available = own.count() + free.count()
    return min(available, project.labelling.max_per_person or available)


def skip_reasons() -> list[str]:
    return [
        _("I do not understand it"),
        _("It is in another language"),
        _("It is broken or empty"),
        _("It contains private data"),
        _("I know the people in it"),
    ]


urlpatterns = [
    path("p/<slug:slug>/label/", label_next, name="label_next"),
    path("p/<slug:slug>/label/<int:assignment_id>/", label, name="label"),
]
