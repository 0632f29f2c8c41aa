"""Taking data out: choose a shape, see what would leave and what would not, follow the export, download the file."""

import json
import shlex
from dataclasses import fields
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.rest.streams import StreamedFile
from dialogues.models import Split
from frontend.pages import signed_in
from frontend.pages.imports import rendered
from frontend.pages.project_steps import steps_in
from jobs.models import LIVE_STATES
from jobs.selectors import live_workers
from jobs.services import cancel_job, retry_job
from preference.api import JSON_LINES
from preference.exports import FORMATS
from preference.exports.writing import Manifest
from preference.models import Export, Shape
from preference.selectors.exports import export_for, exports_of, file_of, missing_export
from preference.selectors.selection import Filters, preview
from preference.selectors.shapes import shapes_for
from preference.services import checked_filters, remove_file, start_export
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import project_for

QUEUE = "default"
PAGE_SIZE = 20


class ExportForm(forms.Form):
    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=Shape.choices, initial=Shape.DIAMANTE)
    splits = forms.MultipleChoiceField(
        label=gettext_lazy("Splits"),
        choices=Split.choices,
        initial=Split.values,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Choose at least one split.")},
        help_text=gettext_lazy("A dialogue's split was assigned once, by a hash, and never changes."),
    )
    include_unreviewed = forms.BooleanField(
        label=gettext_lazy("Also dialogues that no expert has judged yet"),
        required=False,
        help_text=gettext_lazy("Imported dialogues are among them."),
    )
    include_withheld = forms.BooleanField(
        label=gettext_lazy("Also dialogues labelled as private or abandoned"),
        required=False,
        help_text=gettext_lazy("Those labelled -1, -2 or phone, which diqad keeps out of training data."),
    )


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def export_list(request: HttpRequest, slug: str) -> HttpResponse:
    """With `?part=preview` what the choices in the query would take."""
    user = signed_in(request)
    project = project_for(user, slug, Capability.EXPORT)
    if request.method == "POST":
        return _start(request, project)
    if request.GET.get("part") == "preview":
        form = ExportForm(request.GET)
        form.is_valid()
        return render(request, "exports/preview.html", _previewed(user, project, form.cleaned_data))
    return _listed(request, project, ExportForm())


def _start(request: HttpRequest, project: Project) -> HttpResponse:
    form = ExportForm(request.POST)
    if not form.is_valid():
        return _listed(request, project, form, status=400)
    asked = dict(form.cleaned_data)
    export = start_export(export_id=asked.pop("id"), project=project, actor=signed_in(request), **asked)
    return redirect("export", project.slug, export.pk)


def _listed(request: HttpRequest, project: Project, form: ExportForm, status: int = 200) -> HttpResponse:
    if project.protocol == Protocol.LABELLING:
        unreviewed = form.fields["include_unreviewed"]
        unreviewed.label = _("Also dialogues without a final label")
        unreviewed.help_text = _("And those of batches that no controller has accepted yet.")
    page = Paginator(exports_of(project), PAGE_SIZE).get_page(request.GET.get("page"))
    chosen = {name: field.initial for name, field in form.fields.items()}
    context = {
        "project": project,
        "title": _("Export"),
        "form": form,
        "formats": [FORMATS[shape] for shape in shapes_for(project)],
        "chosen_format": fitting(project, form["format"].value()),
        "page": page,
        "worker_alive": live_workers(QUEUE).exists(),
        **_previewed(signed_in(request), project, form.cleaned_data if form.is_bound else chosen),
    }
    return render(request, "exports/list.html", context, status=status)


def fitting(project: Project, chosen: str | None) -> str:
    """The chosen format where the project has data for it, else the first that it has data for."""
    shapes = [str(shape.value) for shape in shapes_for(project)]
    return chosen if chosen in shapes else shapes[0]


def _previewed(user: User, project: Project, chosen: dict[str, Any]) -> dict[str, Any]:
    """What would leave, why the rest would not, and the same on the command line.

    next_step: where nothing would leave, what every page names as the person's next step, unless that is here.
    """
    splits = [split for split in chosen.get("splits") or [] if split in Split.values]
    unreviewed, withheld = (bool(chosen.get(f"include_{name}")) for name in ("unreviewed", "withheld"))
    format = fitting(project, chosen.get("format"))
    filters = checked_filters(splits, unreviewed, withheld)
    seen = preview(project, filters, format)
    steps = [] if seen.leaving else steps_in(user, project)
    here = reverse("exports", args=[project.slug])
    return {
        "project": project,
        "preview": seen,
        "next_step": next((step for step in steps[:1] if step.url != here), None),
        "unreviewed": unreviewed,
        "no_split": not splits,
        "command": command_for(project.slug, format, filters),
    }


def command_for(slug: str, format: str, filters: Filters) -> str:
    """The command that writes the same rows."""
    every = set(filters.splits) == set(Split.values)
    options = [["--format", format]]
    options += [] if every else [["--split", split] for split in filters.splits]
    options += [["--include-unreviewed"]] if filters.include_unreviewed else []
    options += [["--include-withheld"]] if filters.include_withheld and format == Shape.DIQAD else []
    options += [["--output", f"{slug}-{format}.{FORMATS[format].extension}"]]
    lines = [["python", "manage.py", "export_dataset", slug], *options]
    return " \\\n  ".join(shlex.join(line) for line in lines)


@login_required
@never_cache
@require_safe
def export_page(request: HttpRequest, slug: str, export_id: UUID) -> HttpResponse:
    """With `?part=live` only what changes while it runs, with `?part=row` its line in the list."""
    export = _export_in(signed_in(request), slug, export_id)
    filters = Filters.of(export.filters)
    context = {
        "project": export.project,
        "title": _("Export as %(format)s") % {"format": export.format},
        "export": export,
        "job": export.job,
        "live": export.job.state in LIVE_STATES,
        "format": FORMATS[export.format],
        "splits": [Split(split).label for split in filters.splits],
        "command": command_for(slug, export.format, filters),
        "manifest": manifest_of(export),
        "worker_alive": live_workers(QUEUE).exists(),
    }
    return rendered(request, context, whole="exports/export.html", folder="exports")


def manifest_of(export: Export) -> str:
    """As it lies beside the file; the database forgets the order of the keys. Empty before there is one."""
    names = [field.name for field in fields(Manifest) if field.name in export.manifest]
    kept = {name: export.manifest[name] for name in names}
    return json.dumps(kept, ensure_ascii=False, indent=2) if kept else ""


def _export_in(user: User, slug: str, export_id: UUID) -> Export:
    project = project_for(user, slug, Capability.EXPORT)
    export = export_for(user, export_id)
    if export.project_id != project.pk:
        raise missing_export()
    return export


@login_required
@never_cache
@require_safe
def download(request: HttpRequest, slug: str, export_id: UUID) -> StreamedFile:
    file = file_of(_export_in(signed_in(request), slug, export_id))
    return StreamedFile(file.open("rb"), as_attachment=True, filename=file.name, content_type=JSON_LINES)


@login_required
@never_cache
@require_safe
def manifest(request: HttpRequest, slug: str, export_id: UUID) -> HttpResponse:
    export = _export_in(signed_in(request), slug, export_id)
    answer = HttpResponse(manifest_of(export) + "\n", content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{slug}-{export.format}.manifest.json"'
    return answer


@require_POST
@login_required
def remove(request: HttpRequest, slug: str, export_id: UUID) -> HttpResponse:
    remove_file(export=_export_in(signed_in(request), slug, export_id), actor=signed_in(request))
    messages.success(request, _("The file is removed; its manifest stays."))
    return redirect("export", slug, export_id)


@require_POST
@login_required
def cancel(request: HttpRequest, slug: str, export_id: UUID) -> HttpResponse:
    cancel_job(job=_export_in(signed_in(request), slug, export_id).job, actor=signed_in(request))
    return redirect("export", slug, export_id)


@require_POST
@login_required
def retry(request: HttpRequest, slug: str, export_id: UUID) -> HttpResponse:
    retry_job(job=_export_in(signed_in(request), slug, export_id).job, actor=signed_in(request))
    return redirect("export", slug, export_id)


urlpatterns = [
    path("p/<slug:slug>/exports/", export_list, name="exports"),
    path("p/<slug:slug>/exports/<uuid:export_id>/", export_page, name="export"),
    path("p/<slug:slug>/exports/<uuid:export_id>/file/", download, name="export_file"),
    path("p/<slug:slug>/exports/<uuid:export_id>/manifest/", manifest, name="export_manifest"),
    path("p/<slug:slug>/exports/<uuid:export_id>/remove/", remove, name="export_remove"),
    path("p/<slug:slug>/exports/<uuid:export_id>/cancel/", cancel, name="export_cancel"),
    path("p/<slug:slug>/exports/<uuid:export_id>/retry/", retry, name="export_retry"),
]
