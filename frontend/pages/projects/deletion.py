"""Deleting an archived project: what goes, the name typed to confirm, and the progress."""

from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common.refusals import Refusal
from frontend.pages.jobs.partials import render_job_page
from frontend.pages.requests import signed_in
from jobs.models import LIVE_STATES, JobState
from jobs.selectors import served_queues
from jobs.services import cancel_job, retry_job
from preference.deletion.project_deletion import (
    COUNTED,
    blockers_of,
    count_contents,
    delete_project,
    deletion_for,
)
from projects.roles import Capability
from projects.selectors import project_for


class DeletionForm(forms.Form):
    request_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    slug = forms.CharField(
        label=gettext_lazy("Short name of the project, to confirm"),
        max_length=80,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.MANAGE_MEMBERS)
    form = DeletionForm(request.POST or None)
    form.fields["slug"].help_text = _("Type “%(slug)s”.") % {"slug": project.slug}
    if request.method == "POST" and form.is_valid():
        sent = form.cleaned_data
        try:
            job = delete_project(
                project=project, actor=user, request_id=sent["request_id"], slug=sent["slug"]
            )
        except Refusal as refusal:
            form.add_error("slug" if refusal.code == "invalid" else None, str(refusal))
        else:
            return redirect("project_deletion", job.pk)
    counts = count_contents(project)
    context = {
        "project": project,
        "title": _("Delete the project"),
        "form": form,
        "goes": [(words, counts[code]) for code, (words, _model) in COUNTED.items() if counts[code]],
        "blockers": blockers_of(project),
    }
    return render(request, "projects/delete.html", context, status=422 if form.errors else 200)


@login_required
@never_cache
@require_safe
def progress(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The page, or the part that `?part=` names."""
    job = deletion_for(signed_in(request), job_id)
    context: dict[str, Any] = {
        "title": _("Deleting “%(name)s”") % {"name": job.parameters["title"]},
        "job": job,
        "live": job.state in LIVE_STATES,
        "can_cancel": job.state == JobState.QUEUED and not job.attempts,
        "queues": served_queues(),
    }
    return render_job_page(request, context, template="projects/deletion.html", folder="projects/deletion")


@require_POST
@login_required
def cancel(request: HttpRequest, job_id: UUID) -> HttpResponse:
    user = signed_in(request)
    cancel_job(job=deletion_for(user, job_id), actor=user)
    return redirect("project_deletion", job_id)


@require_POST
@login_required
def retry(request: HttpRequest, job_id: UUID) -> HttpResponse:
    user = signed_in(request)
    retry_job(job=deletion_for(user, job_id), actor=user)
    return redirect("project_deletion", job_id)


urlpatterns = [
    path("p/<slug:slug>/settings/delete/", delete, name="project_delete"),
    path("projects/deletions/<uuid:job_id>/", progress, name="project_deletion"),
    path("projects/deletions/<uuid:job_id>/cancel/", cancel, name="project_deletion_cancel"),
    path("projects/deletions/<uuid:job_id>/retry/", retry, name="project_deletion_retry"),
]
