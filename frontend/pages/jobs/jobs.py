"""Long jobs of a project: how far they are, stop, start again. A page that is left and opened again shows the same."""

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.urls import NoReverseMatch, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from common.refusals import NotFound
from frontend.pages import signed_in
from frontend.templatetags.jobs import job_title
from jobs.models import LIVE_STATES, Job, JobState
from jobs.registry import capability_for
from jobs.selectors import job_for, job_to_manage, jobs_of, served_queues
from jobs.services import cancel_job, retry_job
from projects.selectors import capabilities_of, project_for

PAGE_SIZE = 50
# What imports and exports are asked and what they answer, in words; a name that is not here is shown as it is.
FACTS: Final = {
    "name": gettext_lazy("File"),
    "format": gettext_lazy("Format"),
    "size": gettext_lazy("Size"),
    "bytes": gettext_lazy("Size"),
    "sha256": "SHA-256",
    "on_error": gettext_lazy("Rows that cannot be read"),
    "include_unreviewed": gettext_lazy("Also dialogues that no expert has judged yet"),
    "include_withheld": gettext_lazy("Also dialogues labelled as private or abandoned"),
    "dialogues": gettext_lazy("Dialogues"),
    "stored": gettext_lazy("dialogues stored"),
    "already_there": gettext_lazy("already there"),
    "utterances": gettext_lazy("Utterances"),
    "refused": gettext_lazy("rows refused"),
    "rows": gettext_lazy("Rows"),
    "same_as": gettext_lazy("Imported before as"),
    "snapshot": gettext_lazy("Snapshot"),
    "file_type": gettext_lazy("File type"),
    "seed": gettext_lazy("Seed"),
    "epoch": gettext_lazy("Epoch"),
    "random": gettext_lazy("Also pairs with a random reply of another dialogue"),
    "repo_id": gettext_lazy("Repository"),
    "private": gettext_lazy("Private"),
    "model": gettext_lazy("Model"),
    "recipe": gettext_lazy("Recipe"),
    "split": gettext_lazy("Split"),
    "loss": gettext_lazy("loss"),
    "turns": gettext_lazy("turns"),
}
ON_ERROR: Final = {
    "skip": gettext_lazy("Leave out, import the others"),
    "stop": gettext_lazy("Import nothing"),
}


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


@login_required
@never_cache
@require_safe
def job_page(request: HttpRequest, slug: str, job_id: UUID) -> HttpResponse:
    """With `?part=row` only the line of a list, with `?part=live` only what changes while it runs."""
    job = _in_project(job_for(signed_in(request), job_id), slug)
    context: dict[str, Any] = {
        "project": job.project,
        "title": job_title(job),
        "job": job,
        "live": job.state in LIVE_STATES,
        "queues": served_queues(),
        "result_url": result_url(job) if may_open(signed_in(request), job) else "",
        "facts": facts_of(job),
    }
    parts = {"row": "jobs/row.html", "live": "jobs/live.html"}
    return render(request, parts.get(request.GET.get("part", ""), "jobs/job.html"), context)


def _in_project(job: Job, slug: str) -> Job:
    if job.project is None or job.project.slug != slug:
        raise NotFound(_("There is no such job in this project."), _("Look it up in the list of jobs."))
    return job


def facts_of(job: Job) -> list[tuple[str, Any]]:
    """What it was asked to do and what came of it, as far as it is short; lists have their own pages."""
    both = {**job.parameters, **job.result}
    return [
        (str(FACTS.get(name, name.replace("_", " "))), _shown(name, value))
        for name, value in both.items()
        if _is_short(value)
    ]


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if name in {"size", "bytes"}:
        return filesizeformat(value)
    return ON_ERROR.get(value, value) if name == "on_error" else value


def _is_short(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and 0 < len(value) <= 200)


# Of jobs whose page is called otherwise than their kind.
PAGES = {"training": "training_run"}


def may_open(user: User, job: Job) -> bool:
    """Whether the person's roles open the page of what the job made."""
    return job.project is None or capability_for(job.kind) in capabilities_of(user, job.project)


def result_url(job: Job) -> str:
    """The page of the import or export that the job carries out; empty where there is none."""
    if job.project is None:
        return ""
    try:
        if job.kind == "agreement":
            return reverse("statistics", args=[job.project.slug])
        if job.kind == "push":
            return reverse("snapshot", args=[job.project.slug, job.parameters["snapshot"]])
        return reverse(PAGES.get(job.kind, job.kind), args=[job.project.slug, job.pk])
    except NoReverseMatch:
        return ""


@require_POST
@login_required
def cancel(request: HttpRequest, slug: str, job_id: UUID) -> HttpResponse:
    user = signed_in(request)
    job = cancel_job(job=_in_project(job_to_manage(user, job_id), slug), actor=user)
    if job.state in LIVE_STATES:
        messages.success(request, _("It stops at the next place where nothing is left half-done."))
    return redirect("job", slug, job_id)


@require_POST
@login_required
def retry(request: HttpRequest, slug: str, job_id: UUID) -> HttpResponse:
    user = signed_in(request)
    retry_job(job=_in_project(job_to_manage(user, job_id), slug), actor=user)
    messages.success(request, _("It is in the queue again."))
    return redirect("job", slug, job_id)


urlpatterns = [
    path("p/<slug:slug>/jobs/", job_list, name="jobs"),
    path("p/<slug:slug>/jobs/<uuid:job_id>/", job_page, name="job"),
    path("p/<slug:slug>/jobs/<uuid:job_id>/cancel/", cancel, name="job_cancel"),
    path("p/<slug:slug>/jobs/<uuid:job_id>/retry/", retry, name="job_retry"),
]
