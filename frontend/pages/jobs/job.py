"""One long job: its progress, what it was asked to do, and buttons to stop it or to start it again."""

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from common.refusals import NotFound
from frontend.pages.requests import signed_in
from frontend.templatetags.jobs import job_title
from jobs.models import LIVE_STATES, Job
from jobs.registry import capability_for
from jobs.selectors import job_for, job_to_manage, served_queues
from jobs.services import cancel_job, retry_job
from preference.registry.models import RegisteredModel
from projects.selectors import capabilities_of

# Labels of job parameters and results. A name without a label is shown as it is.
LABELS: Final = {
    "name": gettext_lazy("File"),
    "format": gettext_lazy("Format"),
    "size": gettext_lazy("Size"),
    "bytes": gettext_lazy("Size"),
    "sha256": "SHA-256",
    "on_error": gettext_lazy("Rows that cannot be read"),
    "include_unreviewed": gettext_lazy("Also dialogues that no expert has judged yet"),
    "include_withheld": gettext_lazy("Also dialogues labelled as private or abandoned"),
    "run": gettext_lazy("Run"),
    "least_score": gettext_lazy("Lowest mean rating"),
    "dialogues": gettext_lazy("Dialogues"),
    "stored": gettext_lazy("Dialogues stored"),
    "already_there": gettext_lazy("Already there"),
    "utterances": gettext_lazy("Utterances"),
    "refused": gettext_lazy("Rows refused"),
    "rows": gettext_lazy("Rows"),
    "same_as": gettext_lazy("Imported before as"),
    "snapshot": gettext_lazy("Snapshot"),
    "file_type": gettext_lazy("File type"),
    "seed": gettext_lazy("Seed"),
    "epoch": gettext_lazy("Epoch"),
    "random": gettext_lazy("Also pairs with a random reply of another dialogue"),
    "leading_assistant": gettext_lazy("First turns of the assistant"),
    "repo_id": gettext_lazy("Repository"),
    "private": gettext_lazy("Private"),
    "model": gettext_lazy("Model"),
    "recipe": gettext_lazy("Recipe"),
    "split": gettext_lazy("Split"),
    "loss": gettext_lazy("Loss"),
    "turns": gettext_lazy("Turns"),
    "kind": gettext_lazy("Kind"),
    "target": gettext_lazy("Raters"),
    "source": gettext_lazy("Source"),
    "count": gettext_lazy("Contexts"),
    "rounds": gettext_lazy("Rounds"),
    "any_split": gettext_lazy("Also dialogues outside of the test split"),
    "with_human": gettext_lazy("Rate the human reply, too"),
    "missing": gettext_lazy("Missing"),
    "planned": gettext_lazy("Planned"),
    "collection": gettext_lazy("Collection"),
    "tagger": gettext_lazy("Tagger"),
    "replaces": gettext_lazy("Also retag dialogues that a machine tagged"),
    "tagged": gettext_lazy("Dialogues tagged"),
    "unanswered": gettext_lazy("Without an answer"),
    "deleted": gettext_lazy("Already deleted for good"),
    "dialogue": gettext_lazy("Dialogue"),
    "exports": gettext_lazy("Exports removed"),
    "snapshots": gettext_lazy("Snapshots closed"),
    "removed": gettext_lazy("Dialogues removed"),
    "kept": gettext_lazy("Dialogues that stay"),
    "tasks": gettext_lazy("Dialogues"),
    "folder": gettext_lazy("Folder"),
    "parent": gettext_lazy("Trained from"),
    "evaluation": gettext_lazy("Evaluation"),
    "note": gettext_lazy("Note"),
}
# An id that says nothing to anybody; what the job shows as its cause; what the page of the import says in words.
HIDDEN: Final = {"import", "exception", "language_given", "is_refused"}
ON_ERROR: Final = {
    "skip": gettext_lazy("Leave out, import the others"),
    "stop": gettext_lazy("Import nothing"),
}


@login_required
@never_cache
@require_safe
def job_page(request: HttpRequest, slug: str, job_id: UUID) -> HttpResponse:
    """The page, or the part that `?part=` names: "row" in a list, "live" while the job runs."""
    job = _in_project(job_for(signed_in(request), job_id), slug)
    context: dict[str, Any] = {
        "project": job.project,
        "title": job_title(job),
        "job": job,
        "live": job.state in LIVE_STATES,
        "queues": served_queues(),
        "result_url": result_url(job) if may_open_result(signed_in(request), job) else "",
        "result_label": RESULT_LABELS.get(job.kind, _("Outcome")),
        "facts": describe_facts(job),
    }
    parts = {"row": "jobs/row.html", "live": "jobs/live.html"}
    return render(request, parts.get(request.GET.get("part", ""), "jobs/job.html"), context)


def _in_project(job: Job, slug: str) -> Job:
    if job.project is None or job.project.slug != slug:
        raise NotFound(_("There is no such job in this project."), _("Look it up in the list of jobs."))
    return job


def describe_facts(job: Job) -> list[tuple[str, Any]]:
    """Labels and values of the short parameters and results of a job; long values have their own pages."""
    values = {**job.parameters, **job.result}
    if "stored" in values:
        values.pop("dialogues", None)  # the sum of the stored, present and deleted ones
    return [
        (str(LABELS.get(name, name.replace("_", " ").capitalize())), _format_value(name, value))
        for name, value in values.items()
        if _is_short(value) and name not in HIDDEN
    ]


def _format_value(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if name in {"size", "bytes"}:
        return filesizeformat(value)
    return ON_ERROR.get(value, value) if name == "on_error" else value


def _is_short(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and 0 < len(value) <= 200)


# The URL names of results that have the id of their job, by kind of job.
RESULT_PAGES: Final = {
    "import": "import",
    "export": "export",
    "snapshot": "snapshot",
    "training": "training_run",
    "evaluation": "evaluation",
    "scoring": "scoring_run",
    "tagging": "tagging_run",
    "meta_evaluation": "meta_evaluation",
}

# What the link to the result says, if it is not an outcome.
RESULT_LABELS: Final = {"undo_import": gettext_lazy("Back to the import")}


def may_open_result(user: User, job: Job) -> bool:
    """Whether the person may open the page of the result."""
    return job.project is None or capability_for(job.kind) in capabilities_of(user, job.project)


def result_url(job: Job) -> str:
    """The page of the result, for example the import or the snapshot; empty if there is no page for it."""
    if job.project is None:
        return ""
    if job.kind == "agreement":
        return reverse("statistics", args=[job.project.slug])
    if job.kind == "undo_import":
        return reverse("import", args=[job.project.slug, job.parameters["import"]])
    if job.kind == "push":
        return reverse("snapshot", args=[job.project.slug, job.parameters["snapshot"]])
    if job.kind == "registration":
        return _registered_model_url(job)
    if job.kind == "collection":
        return reverse("collection", args=[job.project.slug, job.parameters["collection"]])
    page = RESULT_PAGES.get(job.kind)  # None: a kind of another release
    return reverse(page, args=[job.project.slug, job.pk]) if page else ""


def _registered_model_url(job: Job) -> str:
    """The page of the model; that of all models until it is registered, or after it was renamed."""
    model = RegisteredModel.objects.filter(
        project=job.project, sha256=job.result.get("sha256", ""), slug=job.result.get("model", "")
    ).first()
    slug = job.project.slug if job.project else ""
    return reverse("model", args=[slug, model.slug]) if model else reverse("models", args=[slug])


@require_POST
@login_required
def cancel(request: HttpRequest, slug: str, job_id: UUID) -> HttpResponse:
    user = signed_in(request)
    job = cancel_job(job=_in_project(job_to_manage(user, job_id), slug), actor=user)
    if job.state in LIVE_STATES:
        messages.success(request, _("The job stops at the next point where nothing is left half-done."))
    return redirect("job", slug, job_id)


@require_POST
@login_required
def retry(request: HttpRequest, slug: str, job_id: UUID) -> HttpResponse:
    user = signed_in(request)
    retry_job(job=_in_project(job_to_manage(user, job_id), slug), actor=user)
    messages.success(request, _("The job is back in the queue."))
    return redirect("job", slug, job_id)


urlpatterns = [
    path("p/<slug:slug>/jobs/<uuid:job_id>/", job_page, name="job"),
    path("p/<slug:slug>/jobs/<uuid:job_id>/cancel/", cancel, name="job_cancel"),
    path("p/<slug:slug>/jobs/<uuid:job_id>/retry/", retry, name="job_retry"),
]
