"""Exports: choose a format, preview what the file would contain, follow the job, download the file."""

import contextlib
import json
from dataclasses import dataclass, field, fields
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from assessment.sessions.selectors.runs import runs_of
from common.rest.resumed_files import is_resumed, resumable_file
from dialogues.models import Split
from frontend.pages.data.selection import SelectionForm, chosen_filters, first_step_elsewhere, format_command
from frontend.pages.jobs.actions import job_view
from frontend.pages.jobs.partials import render_job_page
from frontend.pages.requests import signed_in
from jobs.models import LIVE_STATES, Job
from jobs.selectors import live_workers
from jobs.services import cancel_job, retry_job
from measures.rated_dialogues import MAXIMUM
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.writing import Manifest
from preference.data.models.exports import Export, FileType, FormatName, LeadingTurns
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.exports import content_type_of, export_for, exports_of, file_of, missing_export
from preference.data.selectors.formats import FROZEN, formats_for
from preference.data.selectors.frozen_dialogues import preview_snapshot
from preference.data.selectors.random_replies import DrawSettings
from preference.data.selectors.selection import Filters
from preference.data.selectors.snapshots import usable_snapshots
from preference.data.selectors.sources import preview_source
from preference.data.selectors.study import TRAINING, WELL_RATED
from preference.data.services.downloads import record_download
from preference.data.services.exports import LARGEST, remove_file, start_export
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import project_for

QUEUE = "default"
PAGE_SIZE = 20


class ExportForm(SelectionForm):
    format = forms.ChoiceField(
        label=gettext_lazy("Format"), choices=FormatName.choices, initial=FormatName.DIAMANTE
    )
    file_type = forms.ChoiceField(
        label=gettext_lazy("File type"),
        choices=FileType.choices,
        initial=FileType.JSONL.value,
        required=False,
    )
    snapshot = forms.ModelChoiceField(
        label=gettext_lazy("Taken from"),
        queryset=Snapshot.objects.none(),
        required=False,
        empty_label=gettext_lazy("The project as it is now"),
        help_text=gettext_lazy("For a snapshot, only the splits can be chosen."),
    )
    seed = forms.IntegerField(
        label=gettext_lazy("Seed"),
        min_value=0,
        max_value=LARGEST,
        initial=0,
        required=False,
        help_text=gettext_lazy("The same seed and epoch draw the same replies."),
    )
    epoch = forms.IntegerField(
        label=gettext_lazy("Epoch"), min_value=0, max_value=LARGEST, initial=0, required=False
    )
    random = forms.BooleanField(
        label=gettext_lazy("Also pairs with a random reply of another dialogue"),
        required=False,
        initial=True,
    )
    leading_assistant = forms.ChoiceField(
        label=gettext_lazy("First turns of the assistant"),
        choices=LeadingTurns.choices,
        initial=LeadingTurns.KEEP.value,
        required=False,
        help_text=gettext_lazy(
            "Many chat templates refuse a conversation that the assistant opens (sft, preference, reward, kto)."
        ),
    )
    include_withheld = forms.BooleanField(
        label=gettext_lazy("Also dialogues labelled as private or abandoned"),
        required=False,
        help_text=gettext_lazy("Those labelled -1, -2 or phone, which diqad keeps out of training data."),
    )

    run = forms.TypedChoiceField(
        label=gettext_lazy("Run"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=gettext_lazy("A file of the format “assessment” holds one run."),
    )
    least_score = forms.FloatField(
        label=gettext_lazy("Lowest mean rating"),
        min_value=0,
        max_value=MAXIMUM,
        initial=int(WELL_RATED),
        required=False,
        help_text=gettext_lazy(
            "The formats sft and preference take only conversations whose statements have at least this mean (0-100)."
        ),
    )

    def __init__(self, project: Project, data: QueryDict | None = None) -> None:
        super().__init__(data)
        if project.protocol == Protocol.ASSESSMENT:
            self._offer_runs(project)
        snapshots = cast("forms.ModelChoiceField[Snapshot]", self.fields["snapshot"])
        snapshots.queryset = usable_snapshots(project)
        if project.protocol == Protocol.LABELLING:
            unreviewed = self.fields["include_unreviewed"]
            unreviewed.label = _("Also dialogues without a final label")
            unreviewed.help_text = _(
                "This includes dialogues of batches that no controller has accepted yet."
            )

    def _offer_runs(self, project: Project) -> None:
        numbers = [run.number for run in runs_of(project)]
        field = cast("forms.TypedChoiceField", self.fields["run"])
        field.choices = [(number, str(number)) for number in numbers] + [("", _("All runs"))]
        field.initial = numbers[0] if numbers else None


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def export_list(request: HttpRequest, slug: str) -> HttpResponse:
    """With `?part=preview` only what the choices in the query string would export."""
    user = signed_in(request)
    project = project_for(user, slug, Capability.EXPORT)
    if request.method == "POST":
        return _start(request, project)
    if request.GET.get("part") == "preview":
        form = ExportForm(project, request.GET)
        form.is_valid()
        return render(request, "data/exports/preview.html", _build_preview(user, project, form.cleaned_data))
    return _render_list(request, project, ExportForm(project))


def _start(request: HttpRequest, project: Project) -> HttpResponse:
    form = ExportForm(project, request.POST)
    if not form.is_valid():
        return _render_list(request, project, form, status=400)
    options = {name: value for name, value in form.cleaned_data.items() if value not in (None, "")}
    export = start_export(export_id=options.pop("id"), project=project, actor=signed_in(request), **options)
    return redirect("export", project.slug, export.pk)


def _render_list(request: HttpRequest, project: Project, form: ExportForm, status: int = 200) -> HttpResponse:
    form.initial.update(_initial_from_query(request, form))
    page = Paginator(exports_of(project), PAGE_SIZE).get_page(request.GET.get("page"))
    choices = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    choices["snapshot"] = form.initial.get("snapshot")
    context = {
        "project": project,
        "title": _("Export"),
        "form": form,
        "formats": [FORMATS[name] for name in formats_for(project)],
        "chosen_format": choose_format(project, form["format"].value()),
        "page": page,
        "worker_alive": live_workers(QUEUE).exists(),
        **_build_preview(signed_in(request), project, form.cleaned_data if form.is_bound else choices),
    }
    return render(request, "data/exports/list.html", context, status=status)


def _initial_from_query(request: HttpRequest, form: ExportForm) -> dict[str, Any]:
    """The choices of a link, `?snapshot=…&format=…`. Ignores unknown values."""
    snapshot = None
    with contextlib.suppress(forms.ValidationError):
        snapshot = form.fields["snapshot"].clean(request.GET.get("snapshot"))
    values = {"snapshot": snapshot, "format": request.GET.get("format")}
    return {name: value for name, value in values.items() if value}


def choose_format(project: Project, wished: str | None, snapshot: Snapshot | None = None) -> str:
    """The chosen format if the project has data for it, or else the first one that it has data for."""
    names = [str(name.value) for name in formats_for(project) if snapshot is None or name in FROZEN]
    return wished if wished in names else names[0]


def _build_preview(user: User, project: Project, choices: dict[str, Any]) -> dict[str, Any]:
    """What would be exported, what is left out and why, and the equivalent command.

    next_step: the person's next step if nothing would be exported.
    """
    snapshot = choices.get("snapshot")
    format = choose_format(project, choices.get("format"), snapshot)
    filters = chosen_filters(choices)
    summary = preview_snapshot(snapshot, filters) if snapshot else preview_source(project, filters, format)
    draws = DrawSettings(
        choices.get("seed") or 0,
        choices.get("epoch") or 0,
        bool(choices.get("random")),
        choices.get("leading_assistant") or LeadingTurns.KEEP.value,
    )
    options = ExportOptions(format, filters, choices.get("file_type") or FileType.JSONL, snapshot, draws)
    return {
        "project": project,
        "preview": summary,
        "next_step": None if summary.leaving else first_step_elsewhere(user, project, "exports"),
        "unreviewed": filters.include_unreviewed,
        "snapshot": snapshot,
        "draws": FORMATS[format].draws and project.protocol != Protocol.ASSESSMENT,
        "command": command_for(project.slug, options),
    }


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What an export contains, and how it is written."""

    format: str
    filters: Filters
    file_type: str = FileType.JSONL
    snapshot: Snapshot | None = None
    draws: DrawSettings = field(default_factory=DrawSettings)


def command_for(slug: str, export: ExportOptions) -> str:
    """The command that exports the same rows."""
    filters, file_format = export.filters, FORMATS[export.format]
    all_splits = set(filters.splits) == set(Split.values)
    options = [["--format", file_format.name]]
    options += [["--file-type", str(export.file_type)]] if export.file_type != FileType.JSONL else []
    options += [["--snapshot", str(export.snapshot.pk)]] if export.snapshot else []
    options += [] if all_splits else [["--split", split] for split in filters.splits]
    if not export.snapshot:
        options += [["--include-unreviewed"]] if filters.include_unreviewed else []
        options += (
            [["--include-withheld"]]
            if filters.include_withheld and file_format.name == FormatName.DIQAD
            else []
        )
    options += [["--run", str(filters.run)]] if filters.run else []
    if file_format.name in TRAINING and filters.least_score not in (None, WELL_RATED):
        options += [["--least-score", f"{filters.least_score:g}"]]
    options += _draw_options(export.draws) if file_format.draws else []
    leading = export.draws.leading_assistant
    options += (
        [["--leading-assistant", leading]] if file_format.is_trl and leading != LeadingTurns.KEEP else []
    )
    options += [["--output", f"{slug}-{file_format.name}.{file_format.extension(export.file_type)}"]]
    return format_command("export_dataset", slug, options)


def _draw_options(draws: DrawSettings) -> list[list[str]]:
    numbers = {"--seed": draws.seed, "--epoch": draws.epoch}
    options = [[name, str(value)] for name, value in numbers.items() if value]
    return [*options, *([] if draws.random else [["--no-random"]])]


@login_required
@never_cache
@require_safe
def export_page(request: HttpRequest, slug: str, export_id: UUID) -> HttpResponse:
    """The page, or the part that `?part=` names."""
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
        "command": command_for(
            slug,
            ExportOptions(
                export.format, filters, export.file_type, export.snapshot, DrawSettings.of(export.draws)
            ),
        ),
        "manifest": manifest_of(export),
        "worker_alive": live_workers(QUEUE).exists(),
    }
    return render_job_page(request, context, template="data/exports/export.html", folder="data/exports")


def manifest_of(export: Export) -> str:
    """The manifest as in its file: JSON columns do not keep the order of keys. Empty until the export has ended."""
    names = [field.name for field in fields(Manifest) if field.name in export.manifest]
    manifest = {name: export.manifest[name] for name in names}
    return json.dumps(manifest, ensure_ascii=False, indent=2) if manifest else ""


def _export_in(user: User, slug: str, export_id: UUID) -> Export:
    project = project_for(user, slug, Capability.EXPORT)
    export = export_for(user, export_id)
    if export.project_id != project.pk:
        raise missing_export()
    return export


def _job_in(user: User, slug: str, export_id: UUID) -> Job:
    return _export_in(user, slug, export_id).job


@login_required
@never_cache
@require_safe
def download(request: HttpRequest, slug: str, export_id: UUID) -> HttpResponseBase:
    user = signed_in(request)
    export = _export_in(user, slug, export_id)
    file = file_of(export)
    response = resumable_file(request, file, content_type=content_type_of(file.name))
    if not is_resumed(response):
        record_download(person=user, project=export.project, row=export, name=file.name)
    return response


@login_required
@never_cache
@require_safe
def manifest(request: HttpRequest, slug: str, export_id: UUID) -> HttpResponse:
    export = _export_in(signed_in(request), slug, export_id)
    response = HttpResponse(manifest_of(export) + "\n", content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{slug}-{export.format}.manifest.json"'
    return response


@require_POST
@login_required
def remove(request: HttpRequest, slug: str, export_id: UUID) -> HttpResponse:
    remove_file(export=_export_in(signed_in(request), slug, export_id), actor=signed_in(request))
    messages.success(request, _("The file is removed; its manifest stays."))
    return redirect("export", slug, export_id)


urlpatterns = [
    path("p/<slug:slug>/exports/", export_list, name="exports"),
    path("p/<slug:slug>/exports/<uuid:export_id>/", export_page, name="export"),
    path("p/<slug:slug>/exports/<uuid:export_id>/file/", download, name="export_file"),
    path("p/<slug:slug>/exports/<uuid:export_id>/manifest/", manifest, name="export_manifest"),
    path("p/<slug:slug>/exports/<uuid:export_id>/remove/", remove, name="export_remove"),
    path(
        "p/<slug:slug>/exports/<uuid:export_id>/cancel/",
        job_view(cancel_job, _job_in, "export"),
        name="export_cancel",
    ),
    path(
        "p/<slug:slug>/exports/<uuid:export_id>/retry/",
        job_view(retry_job, _job_in, "export"),
        name="export_retry",
    ),
]
