"""A project's first page, and making a new one."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.expert_review.selectors import review_counts
from annotation.labelling.selectors.workbench import labelling_progress
from annotation.overview.selectors import Overview, overviews
from annotation.project_setup.presets.registry import PRESETS
from annotation.project_setup.services import create_project
from annotation.tasks.selectors.queue import task_counts, today_of
from common.refusals import NotAllowed, Refusal
from frontend.pages import signed_in
from frontend.pages.projects.project_steps import missing_steps, next_steps
from frontend.ui.markdown import to_html
from jobs.models import LIVE_STATES, Job
from jobs.selectors import MAY_SEE_JOBS, served_queues
from projects.models import DialogueLanguage, Project, Protocol, Role
from projects.roles import Capability
from projects.selectors import (
    capabilities_of,
    may_create_projects,
    members_of,
    memberships_by_project,
    project_for,
)

JOBS_SHOWN = 3


@login_required
@require_safe
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    """Where the project is, and the next step of each of the person's roles."""
    user = signed_in(request)
    project = project_for(user, slug)
    granted = capabilities_of(user, project)
    seen = overviews(user, [project]).get(project.pk, Overview())
    steps = next_steps(project, granted, seen)
    context: dict[str, Any] = {
        "project": project,
        "title": _("Overview"),
        "roles": [Role(role).label for role in memberships_by_project(user, [project]).get(project.pk, [])],
        "steps": steps,
        "missing": missing_steps(project, granted, seen, steps) if Capability.CONFIGURE in granted else [],
        "configures": Capability.CONFIGURE in granted,
        "description": to_html(project.description),
        "members": members_of(project).count() if Capability.MANAGE_MEMBERS in granted else None,
        "jobs": running_jobs(project) if MAY_SEE_JOBS & granted else [],
        "queues": served_queues(),
        **progress_of(user, project, granted),
    }
    return render(request, "projects/overview.html", context)


def progress_of(user: User, project: Project, granted: frozenset[Capability]) -> dict[str, Any]:
    today = today_of(user, project) if Capability.ANNOTATE in granted else None
    if project.protocol == Protocol.LABELLING:
        return {"labelling": labelling_progress(project), "today": today}
    return {"tasks": task_counts(project), "reviews": review_counts(project), "today": today}


def running_jobs(project: Project) -> list[Job]:
    live = Job.objects.filter(project=project, state__in=LIVE_STATES)
    return list(live.select_related("project")[:JOBS_SHOWN])


class NewProjectForm(forms.Form):
    title = forms.CharField(label=gettext_lazy("Title"), max_length=200)
    slug = forms.RegexField(
        r"^[a-z0-9][a-z0-9_-]*$",
        label=gettext_lazy("Short name"),
        max_length=80,
        help_text=gettext_lazy("Used in addresses and on the command line: small letters, digits, - and _."),
        error_messages={"invalid": gettext_lazy("Small letters, digits, - and _ only.")},
    )
    preset = forms.ChoiceField(
        label=gettext_lazy("Starts with"), choices=[(name, name.capitalize()) for name in PRESETS]
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of the dialogues"),
        choices=DialogueLanguage.choices,
        initial=DialogueLanguage.MIXED,
        widget=forms.RadioSelect,
    )
    description = forms.CharField(
        label=gettext_lazy("Description"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("One or two sentences for the people who take part."),
    )
    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


@login_required
def new_project(request: HttpRequest) -> HttpResponse:
    user = signed_in(request)
    if not may_create_projects(user):
        raise NotAllowed(
            _("Only managers make projects."), _("Ask one of them, or whoever runs this server.")
        )
    form = NewProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        values = dict(form.cleaned_data)
        try:
            made = create_project(actor=user, creation_id=values.pop("id"), **values)
        except Refusal as refusal:
            form.add_error(_field_of(form, refusal), str(refusal))
            # Sent again, the form is a request of its own.
            form.data = {**request.POST.dict(), "id": str(uuid4())}
        else:
            messages.success(request, _("The project is made, and you manage it. Next: who takes part?"))
            return redirect("project", made.slug)
    return render(request, "projects/new.html", {"form": form, "title": _("New project")})


def _field_of(form: forms.Form, refusal: Refusal) -> str | None:
    field = refusal.details.get("field")
    return field if field in form.fields else None


urlpatterns = [
    path("projects/new/", new_project, name="project_new"),
    path("p/<slug:slug>/", overview, name="project"),
]
