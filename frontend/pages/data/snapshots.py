"""Snapshots: freeze dialogues for training, read the card, download the files, push them to a Hub."""

from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from common.rest.resumed_files import is_resumed, resumable_file
from dialogues.models import Split
from frontend.charts import snapshot as charts
from frontend.pages.data.selection import SelectionForm, chosen_filters, first_step_elsewhere, format_command
from frontend.pages.jobs.actions import job_view
from frontend.pages.jobs.partials import render_job_page
from frontend.pages.requests import signed_in
from frontend.ui.questions import question_words
from jobs.models import LIVE_STATES, Job
from jobs.selectors import live_workers
from jobs.services import cancel_job, retry_job
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.exports import content_type_of
from preference.data.selectors.formats import FROZEN
from preference.data.selectors.frozen_dialogues import FILES
from preference.data.selectors.hub_tokens import hub_token_state
from preference.data.selectors.selection import Filters, select
from preference.data.selectors.shortages import expected_shortages
from preference.data.selectors.snapshots import (
    missing_snapshot,
    preview_snapshot_of,
    pushes_of,
    snapshot_file,
    snapshot_for,
    snapshots_of,
)
from preference.data.services.downloads import record_download
from preference.data.services.exports import LARGEST
from preference.data.services.snapshots import (
    NAME_CHARS,
    is_in_use,
    push_snapshot,
    remove_snapshot_files,
    take_snapshot,
)
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of, project_for

QUEUE = "default"
PAGE_SIZE = 20


class SnapshotForm(SelectionForm):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=NAME_CHARS,
        required=False,
        help_text=gettext_lazy("Empty: the project and the time."),
    )
    seed = forms.IntegerField(
        label=gettext_lazy("Seed"),
        min_value=0,
        max_value=LARGEST,
        initial=0,
        required=False,
        help_text=gettext_lazy(
            "Stored with the snapshot and used for everything that is drawn from it at random."
        ),
    )


class LabelledSnapshotForm(SnapshotForm):
    """Of a labelling project, where only final labels are frozen."""

    include_unreviewed = None  # type: ignore[assignment]


def form_class(project: Project) -> type[SnapshotForm]:
    return LabelledSnapshotForm if project.protocol == Protocol.LABELLING else SnapshotForm


class PushForm(forms.Form):
    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    repo_id = forms.CharField(
        label=gettext_lazy("Repository"),
        max_length=200,
        help_text=gettext_lazy("owner/name on the Hub; created if missing."),
    )
    private = forms.BooleanField(
        label=gettext_lazy("Private"),
        required=False,
        initial=True,
        help_text=gettext_lazy(
            "Applies only if the repository is created now: an existing one is not changed."
        ),
    )


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def snapshot_list(request: HttpRequest, slug: str) -> HttpResponse:
    """With `?part=preview` only what the choices in the query string would freeze."""
    user = signed_in(request)
    project = project_for(user, slug, Capability.EXPORT)
    if request.method == "POST":
        return _take(request, project)
    if request.GET.get("part") == "preview":
        form = form_class(project)(request.GET)
        form.is_valid()
        return render(
            request, "data/snapshots/preview.html", _build_preview(user, project, form.cleaned_data)
        )
    return _render_list(request, project, form_class(project)())


def _take(request: HttpRequest, project: Project) -> HttpResponse:
    form = form_class(project)(request.POST)
    if not form.is_valid():
        return _render_list(request, project, form, status=400)
    options = {name: value for name, value in form.cleaned_data.items() if value is not None}
    snapshot = take_snapshot(
        snapshot_id=options.pop("id"), project=project, actor=signed_in(request), **options
    )
    return redirect("snapshot", project.slug, snapshot.pk)


def _render_list(
    request: HttpRequest, project: Project, form: SnapshotForm, status: int = 200
) -> HttpResponse:
    initial = {name: field.initial for name, field in form.fields.items()}
    context = {
        "project": project,
        "title": _("Snapshots"),
        "form": form,
        "page": Paginator(snapshots_of(project), PAGE_SIZE).get_page(request.GET.get("page")),
        "worker_alive": live_workers(QUEUE).exists(),
        **_build_preview(signed_in(request), project, form.cleaned_data if form.is_bound else initial),
    }
    return render(request, "data/snapshots/list.html", context, status=status)


def _build_preview(user: User, project: Project, choices: dict[str, Any]) -> dict[str, Any]:
    """What would be frozen, what it would lack, and the equivalent command."""
    filters = chosen_filters(choices)
    summary = preview_snapshot_of(project, filters)
    shortages = expected_shortages(select(project, filters)) if summary.leaving else []
    return {
        "project": project,
        "preview": summary,
        "next_step": None if summary.leaving else first_step_elsewhere(user, project, "snapshots"),
        "unreviewed": filters.include_unreviewed,
        "shortages": [shortage.text() for shortage in shortages],
        "command": command_for(project.slug, str(choices.get("name") or ""), filters, choices.get("seed") or 0),
    }  # fmt: skip


def command_for(slug: str, name: str, filters: Filters, seed: int) -> str:
    """The command that takes the same snapshot."""
    options = [["--name", name]] if name else []
    all_splits = set(filters.splits) == set(Split.values)
    options += [] if all_splits else [["--splits", *filters.splits]]
    options += [["--include-unreviewed"]] if filters.include_unreviewed else []
    options += [["--seed", str(seed)]] if seed else []
    return format_command("take_snapshot", slug, options)


@login_required
@never_cache
@require_safe
def snapshot_page(request: HttpRequest, slug: str, snapshot_id: UUID) -> HttpResponse:
    """The page, or the part that `?part=` names."""
    return _render_snapshot(request, _snapshot_in(signed_in(request), slug, snapshot_id), PushForm())


def _render_snapshot(
    request: HttpRequest, snapshot: Snapshot, push: PushForm, status: int = 200
) -> HttpResponse:
    filters = Filters.of(snapshot.filters)
    context = {
        "project": snapshot.project,
        "title": snapshot.name,
        "snapshot": snapshot,
        "job": snapshot.job,
        "live": snapshot.job.state in LIVE_STATES,
        "splits": [Split(split).label for split in filters.splits],
        "command": command_for(snapshot.project.slug, snapshot.name, filters, snapshot.seed),
        "worker_alive": live_workers(QUEUE).exists(),
    }
    if request.GET.get("part") is None and snapshot.card:
        context |= _card(snapshot, push) | _hub(signed_in(request), snapshot.project)
    response = render_job_page(
        request, context, template="data/snapshots/snapshot.html", folder="data/snapshots"
    )
    response.status_code = status
    return response


def _card(snapshot: Snapshot, push: PushForm) -> dict[str, Any]:
    """The context of a finished snapshot."""
    train_url = reverse("training_new", args=[snapshot.project.slug]) + f"?snapshot={snapshot.pk}"
    return {
        "table_one": charts.tabulate_data(snapshot.card),
        "tables": charts.tabulate_contents(snapshot.card, question_words(snapshot.project)),
        "gaps": charts.list_gaps(snapshot.card),
        "warnings": charts.list_warnings(snapshot),
        "files": FILES,
        "formats": [] if snapshot.is_labelled else [name.value for name in FROZEN if name != "diamante"],
        "train_url": train_url,
        "in_use": is_in_use(snapshot),
        "pushes": pushes_of(snapshot)[:PAGE_SIZE],
        "push_form": push,
    }


def _hub(user: User, project: Project) -> dict[str, Any]:
    return {
        "hub_token": hub_token_state(project),
        "may_set_token": Capability.MANAGE_MEMBERS in capabilities_of(user, project),
    }


def _snapshot_in(user: User, slug: str, snapshot_id: UUID) -> Snapshot:
    project = project_for(user, slug, Capability.EXPORT)
    snapshot = snapshot_for(user, snapshot_id)
    if snapshot.project_id != project.pk:
        raise missing_snapshot()
    return snapshot


def _job_in(user: User, slug: str, snapshot_id: UUID) -> Job:
    return _snapshot_in(user, slug, snapshot_id).job


@login_required
@never_cache
@require_safe
def download(request: HttpRequest, slug: str, snapshot_id: UUID, name: str) -> HttpResponseBase:
    user = signed_in(request)
    snapshot = _snapshot_in(user, slug, snapshot_id)
    file = snapshot_file(snapshot, name)
    kind, saved_as = content_type_of(file.name), f"{slug}-{file.name}"
    response = resumable_file(request, file, content_type=kind, name=saved_as)
    if not is_resumed(response):
        record_download(person=user, project=snapshot.project, row=snapshot, name=file.name)
    return response


@require_POST
@login_required
def push(request: HttpRequest, slug: str, snapshot_id: UUID) -> HttpResponse:
    snapshot = _snapshot_in(signed_in(request), slug, snapshot_id)
    project_for(signed_in(request), slug, Capability.PUBLISH)
    form = PushForm(request.POST)
    if not form.is_valid():
        return _render_snapshot(request, snapshot, form, status=400)
    values = form.cleaned_data
    push_snapshot(
        push_id=values["id"],
        snapshot=snapshot,
        actor=signed_in(request),
        repo_id=values["repo_id"].strip(),
        private=values["private"],
    )
    return redirect(reverse("snapshot", args=[slug, snapshot_id]) + "#push")


@require_POST
@login_required
def remove(request: HttpRequest, slug: str, snapshot_id: UUID) -> HttpResponse:
    remove_snapshot_files(
        snapshot=_snapshot_in(signed_in(request), slug, snapshot_id), actor=signed_in(request)
    )
    messages.success(request, _("The files are removed; the card stays."))
    return redirect("snapshot", slug, snapshot_id)


urlpatterns = [
    path("p/<slug:slug>/snapshots/", snapshot_list, name="snapshots"),
    path("p/<slug:slug>/snapshots/<uuid:snapshot_id>/", snapshot_page, name="snapshot"),
    path("p/<slug:slug>/snapshots/<uuid:snapshot_id>/files/<str:name>", download, name="snapshot_file"),
    path("p/<slug:slug>/snapshots/<uuid:snapshot_id>/push/", push, name="snapshot_push"),
    path("p/<slug:slug>/snapshots/<uuid:snapshot_id>/remove/", remove, name="snapshot_remove"),
    path(
        "p/<slug:slug>/snapshots/<uuid:snapshot_id>/cancel/",
        job_view(cancel_job, _job_in, "snapshot"),
        name="snapshot_cancel",
    ),
    path(
        "p/<slug:slug>/snapshots/<uuid:snapshot_id>/retry/",
        job_view(retry_job, _job_in, "snapshot"),
        name="snapshot_retry",
    ),
]
