"""The questions of a labelling project: an editor with a preview, the versions, and downloads as YAML."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import override, pgettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.labelling.models.labels import Schema
from annotation.labelling.schema.yaml_text import to_yaml
from annotation.labelling.selectors.schemas import (
    NEWEST_VERSION,
    count_answers,
    current_schema,
    get_schema_version,
    load_schema,
    newest_version,
    schema_versions,
)
from annotation.labelling.selectors.settings import labelling_project
from annotation.labelling.selectors.workbench import utterances_in
from annotation.labelling.services.schemas import is_replaceable, use_schema
from annotation.project_setup.presets import labelling as presets
from common.refusals import NotFound, Refusal
from dialogues.models import Dialogue
from frontend.pages.message_catalog import catalog_json_url
from frontend.pages.requests import signed_in
from frontend.ui.differences import Piece
from frontend.ui.paging import parse_number
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

UTTERANCES_PREVIEWED = 12
VERSIONS_SHOWN = 50
CONTEXT = 2  # unchanged lines around changed ones
PRESETS = {
    "diqad": "DiQAD",
    "dch": "DCH",
    "dialeval": "DialEval-1",
    "diamante-evaluation": "Diamante",
}


@login_required
@never_cache
@require_safe
def editor(request: HttpRequest, slug: str) -> HttpResponse:
    """The newest version. Only members who configure the project can change it; others see the current version."""
    user = signed_in(request)
    project = labelling_project(user, slug)
    granted = capabilities_of(user, project)
    if Capability.CONFIGURE not in granted:
        return _show_version(request, project, _require_schema(current_schema(project)), granted)
    newest = newest_version(project)
    start = parse_number(request.GET.get("from"))
    source = get_schema_version(project, min(start, NEWEST_VERSION)) if start else newest
    context = {
        "project": project,
        "title": pgettext("of a schema", "Questions"),
        "versions": schema_versions(project)[:VERSIONS_SHOWN],
        "current": current_schema(project),
        "newest": newest,
        "presets": PRESETS,
        "data": _editor_data(project, newest, source, granted),
    }
    return render(request, "labelling/schema/editor.html", context)


def _require_schema(row: Schema | None) -> Schema:
    if row is None:
        raise Refusal("no_schema", _("This project has no questions yet."), _("Write them first."))
    return row


def _editor_data(
    project: Project, newest: Schema | None, source: Schema | None, granted: frozenset[Capability]
) -> dict[str, Any]:
    """The initial data of static/js/labelling/schema_editor.js. source: the schema whose text is shown."""
    return {
        "project": project.slug,
        "content": load_schema(source).content if source else {"questions": []},
        "newestContent": load_schema(newest).content if newest else {"questions": []},
        "newest": {
            "version": newest.version if newest else 0,
            "sha256": newest.sha256 if newest else "",
            "answered": count_answers(newest) if newest else 0,
            "replaceable": bool(newest and is_replaceable(newest)),
        },
        "urls": {
            "preset": reverse("schema_preset", args=[project.slug, "NAME"]),
            "version": reverse("schema_version", args=[project.slug, 0]),
        },
        **_preview_data(project, granted),
    }


def _preview_data(project: Project, granted: frozenset[Capability]) -> dict[str, Any]:
    """A dialogue to try the questions on. invented: used if the project has none, in both languages."""
    first = None
    if Capability.READ_DIALOGUES in granted:
        first = Dialogue.objects.filter(project=project, utterance_count__gt=0).order_by("pk").first()
    utterances = utterances_in(first.pk)[:UTTERANCES_PREVIEWED] if first else []
    return {
        "sample": {
            "lang": first.language if first else project.language,
            "utterances": [
                {name: row[name] for name in ("position", "speaker", "text")} for row in utterances
            ],
        },
        "invented": {language: _invented_texts(language) for language in ("en", "zh-hans")},
        "catalogs": {"zh": catalog_json_url("zh-hans")},
    }


def _invented_texts(language: str) -> list[str]:
    with override(language):
        return [
            _("My heater shows the code E4 and stays cold."),
            _("Sorry to hear that. Is the water tap below it open?"),
            _("It was half closed. Now it is open."),
            _("Then press Reset for five seconds, please."),
            _("It is getting warm. Thank you!"),
            _("Glad it works. Have a good evening."),
        ]


# ---- versions --------------------------------------------------------------------------------------------------------


@login_required
@never_cache
@require_safe
def version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """One version: its questions to try, its text, and what it changed."""
    user = signed_in(request)
    project = labelling_project(user, slug)
    row = get_schema_version(project, min(number, NEWEST_VERSION))
    return _show_version(request, project, row, capabilities_of(user, project))


def _show_version(
    request: HttpRequest, project: Project, row: Schema, granted: frozenset[Capability]
) -> HttpResponse:
    text = to_yaml(load_schema(row))
    before = schema_versions(project).filter(version__lt=row.version).first()
    current = current_schema(project)
    context = {
        "project": project,
        "title": _("Schema, version %(n)d") % {"n": row.version},
        "row": row,
        "answered": count_answers(row),
        "is_current": current is not None and current.pk == row.pk,
        "before": before,
        "changes": changed_lines(to_yaml(load_schema(before)), text) if before else [],
        "text": text,
        "configures": Capability.CONFIGURE in granted,
        "versions": schema_versions(project)[:VERSIONS_SHOWN],
        "current": current,
        "data": {"content": load_schema(row).content, **_preview_data(project, granted)},
    }
    return render(request, "labelling/schema/version.html", context)


def changed_lines(before: str, after: str) -> list[Piece]:
    """Added and removed lines with CONTEXT lines around them. A piece of kind "gap" replaces lines left out."""
    old, new = before.splitlines(), after.splitlines()
    pieces: list[Piece] = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT):
        if pieces:
            pieces.append(Piece("gap", "⋯"))
        for kind, i, j, k, m in group:
            if kind == "equal":
                pieces += _pieces("same", old[i:j])
            else:
                pieces += _pieces("removed", old[i:j]) + _pieces("added", new[k:m])
    return pieces


def _pieces(kind: str, lines: Sequence[str]) -> list[Piece]:
    return [Piece(kind, line) for line in lines]


@require_POST
@login_required
def use(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Use this version for new work again."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.CONFIGURE)
    row = use_schema(project=project, actor=user, version=min(number, NEWEST_VERSION))
    messages.success(request, _("New work is done under version %(n)d.") % {"n": row.version})
    return redirect("schema_version", slug, row.version)


@login_required
@never_cache
@require_safe
def download(request: HttpRequest, slug: str, number: int = 0) -> HttpResponse:
    """One version as YAML; without a number, the version for new work."""
    project = labelling_project(signed_in(request), slug)
    row = (
        get_schema_version(project, min(number, NEWEST_VERSION))
        if number
        else _require_schema(current_schema(project))
    )
    name = f"{project.slug}-schema-{row.version}.yaml"
    return _yaml(to_yaml(load_schema(row)), {"Content-Disposition": f'attachment; filename="{name}"'})


@login_required
@require_safe
def preset(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """The questions of a paper as YAML with comments."""
    labelling_project(signed_in(request), slug, Capability.CONFIGURE)
    if name not in PRESETS:
        raise NotFound(_("There is no preset “%(name)s”.") % {"name": name}, _("Choose one of the list."))
    return _yaml(presets.preset_yaml(name))


def _yaml(text: str, headers: dict[str, str] | None = None) -> HttpResponse:
    return HttpResponse(text, content_type="application/yaml; charset=utf-8", headers=headers)


urlpatterns = [
    path("p/<slug:slug>/schema/", editor, name="schema"),
    path("p/<slug:slug>/schema/schema.yaml", download, name="schema_yaml"),
    path("p/<slug:slug>/schema/presets/<slug:name>.yaml", preset, name="schema_preset"),
    path("p/<slug:slug>/schema/<int:number>/", version, name="schema_version"),
    path("p/<slug:slug>/schema/<int:number>/use/", use, name="schema_use"),
    path("p/<slug:slug>/schema/<int:number>/schema.yaml", download, name="schema_version_yaml"),
]
