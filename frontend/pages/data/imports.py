"""Imports: upload a file of dialogues, follow the job, and see which rows were refused and why."""

from typing import Any, cast
from uuid import UUID, uuid4

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from common.languages import language_name
from common.refusals import Invalid
from common.sentences import join_sentences
from dialogues.parsing.formats import FORMATS, formats_of
from dialogues.parsing.parsed_dialogue import Limits
from dialogues.selectors import (
    import_for,
    import_not_found,
    imports_of,
    languages_of_import,
    phase_of,
    refused_rows_of,
    to_row_error,
    undoings_of,
)
from dialogues.serializers import stream_errors_csv
from dialogues.services import uploads
from dialogues.services.imports import HEAD_BYTES, guess_format_or_refuse, start_import
from dialogues.services.languages import set_missing_language
from dialogues.services.refused_rows import MAX_ROWS
from dialogues.services.undoing import REASONS, undo_import, undo_preview
from frontend.pages.data.import_preview import chosen_map, preview
from frontend.pages.jobs.actions import job_view
from frontend.pages.jobs.partials import render_job_page
from frontend.pages.requests import signed_in
from frontend.ui.dialogue_languages import default_language, languages_from
from jobs.models import LIVE_STATES, Job, JobState
from jobs.selectors import live_workers
from jobs.services import cancel_job, retry_job
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of, project_for

QUEUE = "default"
PAGE_SIZE = 20
ERRORS_SHOWN = 50
GUESS = "guess"


class UploadForm(forms.Form):
    id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    file = forms.FileField(
        label=gettext_lazy("File"),
        allow_empty_file=True,
        help_text=gettext_lazy(
            "Drop it here, or choose it. UTF-8 text or Excel (.xlsx), also packed with gzip."
        ),
    )
    format = forms.ChoiceField(label=gettext_lazy("Format"))
    run = forms.IntegerField(
        label=gettext_lazy("Run"),
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text=gettext_lazy("For ratings only. Empty: the next free number."),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of dialogues that do not state one"),
        required=False,
        help_text=gettext_lazy(
            "A language that the file names stays. People get dialogues in the languages that they read."
        ),
    )
    on_error = forms.ChoiceField(
        label=gettext_lazy("Rows that cannot be read"),
        choices=[
            ("skip", gettext_lazy("Leave out, import the others")),
            ("stop", gettext_lazy("Import nothing")),
        ],
        initial="skip",
        widget=forms.RadioSelect,
    )

    def __init__(self, project: Project, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        formats = formats_of(project)
        choice = cast(forms.ChoiceField, self.fields["format"])
        choice.choices = [
            (GUESS, _("Guess from the file")), *((each.name, each.name) for each in formats)
        ]  # fmt: skip
        language = cast(forms.ChoiceField, self.fields["language"])
        language.choices = [("", _("None: they go to everybody")), *languages_from(project)]
        language.initial = default_language(project)
        if all(each.has_runs for each in formats):
            del self.fields["language"]
        if not any(each.has_runs for each in formats):
            del self.fields["run"]


class LanguageForm(forms.Form):
    language = forms.ChoiceField(label=gettext_lazy("Language"))

    def __init__(self, project: Project) -> None:
        super().__init__(initial={"language": project.language})
        cast(forms.ChoiceField, self.fields["language"]).choices = languages_from(project)


class UndoForm(forms.Form):
    request_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


# Django must not read the form before its length is checked, so csrf_protect is on _start instead of here.
@csrf_exempt
@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def import_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.IMPORT)
    if request.method == "POST":
        uploads.check_content_length(request.META.get("CONTENT_LENGTH"))
        try:
            return _start(request, project)
        except OSError as error:
            if uploads.is_full_disk(error):
                raise uploads.disk_full() from error
            raise
    return _render_list(request, project, UploadForm(project))


def _render_list(request: HttpRequest, project: Project, form: UploadForm, status: int = 200) -> HttpResponse:
    page = Paginator(imports_of(project), PAGE_SIZE).get_page(request.GET.get("page"))
    undoings = undoings_of(project, list(page))
    context = {
        "project": project,
        "title": _("Import dialogues"),
        "form": form,
        "page": page,
        "rows": [(job, undoings.get(str(job.pk))) for job in page],
        "formats": formats_of(project),
        "most_bytes": settings.IMPORT_MAX_BYTES,
        "limits": Limits(),
        "worker_alive": live_workers(QUEUE).exists(),
    }
    return render(request, "data/imports/list.html", context, status=status)


@csrf_protect
def _start(request: HttpRequest, project: Project) -> HttpResponse:
    """A script gets the URL of the import as JSON; a plain form is redirected to it."""
    form = UploadForm(project, request.POST, request.FILES)
    wants_json = "application/json" in request.headers.get("Accept", "")
    if not form.is_valid():
        if wants_json:
            errors = join_sentences(
                str(error) for field_errors in form.errors.values() for error in field_errors
            )
            raise Invalid(errors)
        return _render_list(request, project, form, status=400)
    file = form.cleaned_data["file"]
    format = _format_of(file, form.cleaned_data["format"])
    job = start_import(
        project=project,
        actor=signed_in(request),
        source=file,
        name=file.name,
        format=format,
        map=chosen_map(request.POST) if FORMATS[format].read_mapped else "",
        on_error=form.cleaned_data["on_error"],
        run=form.cleaned_data.get("run"),
        language=form.cleaned_data.get("language", ""),
        submission_id=form.cleaned_data["id"],
    )
    if wants_json:
        return JsonResponse({"url": reverse("import", args=[project.slug, job.pk])}, status=202)
    return redirect("import", project.slug, job.pk)


def _format_of(file: Any, chosen: str) -> str:
    if chosen != GUESS:
        return chosen
    head = file.read(HEAD_BYTES)
    file.seek(0)
    return guess_format_or_refuse(file.name or "", head)


@login_required
@never_cache
@require_safe
def import_page(request: HttpRequest, slug: str, import_id: UUID) -> HttpResponse:
    """The page, or the part that `?part=` names."""
    job = _import_in(signed_in(request), slug, import_id)
    errors = Paginator(refused_rows_of(job), ERRORS_SHOWN).get_page(request.GET.get("page"))
    refused = job.result.get("refused", 0)
    languages = None if job.state in LIVE_STATES else languages_of_import(job)
    project = cast(Project, job.project)
    context: dict[str, Any] = {
        "project": project,
        "title": job.parameters["name"],
        "job": job,
        "live": job.state in LIVE_STATES,
        "result": job.result,
        "undoing": undoings_of(project, [job]).get(str(job.pk)),
        "is_checking": phase_of(job) == "checking",
        "format": FORMATS.get(job.parameters["format"]),
        "errors": [to_row_error(row) for row in errors],
        "page": errors,
        "not_kept": max(0, refused - MAX_ROWS),
        "worker_alive": live_workers(QUEUE).exists(),
        "languages": languages,
        "language_form": LanguageForm(project) if languages and languages.without else None,
        "may_replan": _may_replan(request, job),
        "can_retry": job.state in (JobState.FAILED, JobState.CANCELLED) and uploads.may_have_upload(job.pk),
    }
    return render_job_page(request, context, template="data/imports/import.html", folder="data/imports")


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def undo(request: HttpRequest, slug: str, import_id: UUID) -> HttpResponse:
    """What undoing the import removes and what stays; POST removes it."""
    imported = _import_in(signed_in(request), slug, import_id)
    form = UndoForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        job = undo_import(job=imported, actor=signed_in(request), request_id=form.cleaned_data["request_id"])
        return redirect("job", slug, job.pk)
    preview = undo_preview(imported)
    context = {
        "project": imported.project,
        "title": _("Undo the import"),
        "job": imported,
        "removable": preview["removable"],
        "kept": [(n, REASONS.get(code, code)) for code, n in preview["kept"].items()],
        "form": form,
    }
    return render(request, "data/imports/undo.html", context)


@require_POST
@login_required
def set_language(request: HttpRequest, slug: str, import_id: UUID) -> HttpResponse:
    """Give a language to the dialogues of the import that have none."""
    job = _import_in(signed_in(request), slug, import_id)
    language = request.POST.get("language", "")
    changed = set_missing_language(job=job, actor=signed_in(request), language=language)
    messages.success(
        request,
        ngettext(
            "%(n)s dialogue has a language now: %(language)s.",
            "%(n)s dialogues have a language now: %(language)s.",
            changed,
        )
        % {"n": intcomma(changed), "language": language_name(language)},
    )
    return redirect("import", slug, job.pk)


def _may_replan(request: HttpRequest, job: Job) -> bool:
    project = job.project
    if project is None or project.protocol != Protocol.LABELLING:
        return False
    return Capability.CONFIGURE in capabilities_of(signed_in(request), project)


def _import_in(user: User, slug: str, import_id: UUID) -> Job:
    project = project_for(user, slug, Capability.IMPORT)
    job = import_for(user, import_id)
    if job.project_id != project.pk:
        raise import_not_found()
    return job


@login_required
@require_safe
def import_errors_table(request: HttpRequest, slug: str, import_id: UUID) -> StreamingHttpResponse:
    return stream_errors_csv(_import_in(signed_in(request), slug, import_id))


urlpatterns = [
    path("p/<slug:slug>/imports/<uuid:import_id>/undo/", undo, name="import_undo"),
    path("p/<slug:slug>/imports/<uuid:import_id>/language/", set_language, name="import_language"),
    path("p/<slug:slug>/imports/", import_list, name="imports"),
    path("p/<slug:slug>/imports/look/", preview, name="import_preview"),
    path("p/<slug:slug>/imports/<uuid:import_id>/", import_page, name="import"),
    path("p/<slug:slug>/imports/<uuid:import_id>/refused.csv", import_errors_table, name="import_errors"),
    path(
        "p/<slug:slug>/imports/<uuid:import_id>/cancel/",
        job_view(cancel_job, _import_in, "import"),
        name="import_cancel",
    ),
    path(
        "p/<slug:slug>/imports/<uuid:import_id>/retry/",
        job_view(retry_job, _import_in, "import"),
        name="import_retry",
    ),
]
