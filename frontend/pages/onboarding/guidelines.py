"""The guidelines of a project: the text, the schema's explanations, decisions from threads, and the versions."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.labelling.schema.questions import BilingualText
from annotation.labelling.selectors.schemas import current_schema, load_schema
from annotation.onboarding.selectors.guidelines import (
    changed_since_read,
    guidelines_version,
    guidelines_versions,
)
from annotation.onboarding.selectors.threads import faq_entries
from annotation.onboarding.services.guidelines import acknowledge_guidelines
from assessment.setup.instructions import fill_instructions
from assessment.setup.models import TopicMode
from frontend.pages.requests import signed_in
from frontend.ui.differences import diff_texts
from frontend.ui.markdown import to_html
from frontend.ui.paging import parse_number
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of, project_for

LANGUAGES = (("en", "English"), ("zh", "中文"))


@login_required
@never_cache
@require_safe
def guidelines(request: HttpRequest, slug: str) -> HttpResponse:
    """In the reader's language if there is a text in it; `?language=` chooses another one."""
    user = signed_in(request)
    project = project_for(user, slug)
    shown, written = _choose_language(request, project)
    granted = capabilities_of(user, project)
    context = {
        "project": project,
        "title": _("Guidelines"),
        "html": to_html(_shown_text(project, shown)) if shown else "",
        "shown": shown,
        "languages": [(code, name) for code, name in LANGUAGES if code in written],
        "configures": Capability.CONFIGURE in granted,
        "questions": _explanations(project, shown or (get_language() or "en")[:2]),
        "faq": faq_entries(project),
        "version": guidelines_version(project),
        "changed": changed_since_read(user, project),
    }
    return render(request, "onboarding/guidelines/guidelines.html", context)


@login_required
@never_cache
@require_safe
def guidelines_history(request: HttpRequest, slug: str) -> HttpResponse:
    """The versions with their changes, newest first."""
    user = signed_in(request)
    project = project_for(user, slug)
    shown, written = _choose_language(request, project)
    names = Capability.READ_DIALOGUES in capabilities_of(user, project)
    versions = guidelines_versions(project, shown or "en")
    context = {
        "project": project,
        "title": _("Versions of the guidelines"),
        "shown": shown,
        "languages": [(code, name) for code, name in LANGUAGES if code in written],
        "versions": [(one, diff_texts(one.before, one.text)) for one in versions],
        "names": names,
    }
    return render(request, "onboarding/guidelines/history.html", context)


@require_POST
@login_required
def guidelines_read(request: HttpRequest, slug: str) -> HttpResponse:
    """Record that the person has read a version."""
    user = signed_in(request)
    project = project_for(user, slug)
    acknowledge_guidelines(user=user, project=project, version=parse_number(request.POST.get("version")) or 1)
    return redirect("guidelines", slug)


def _texts(project: Project) -> dict[str, str]:
    return {"en": project.guidelines_en, "zh": project.guidelines_zh}


def _shown_text(project: Project, language: str) -> str:
    text = _texts(project)[language]
    if project.protocol != Protocol.ASSESSMENT:
        return text
    settings = project.assessment
    return fill_instructions(
        text,
        settings,
        conversations=settings.ordinary_systems + 1,
        topic_mode=TopicMode.FREE,
        language=language,
    )


def _choose_language(request: HttpRequest, project: Project) -> tuple[str, list[str]]:
    texts = _texts(project)
    written = [code for code, _name in LANGUAGES if texts[code].strip()]
    wanted = [request.GET.get("language"), (get_language() or "en")[:2], *written]
    return next((code for code in wanted if code in written), ""), written


def _explanations(project: Project, language: str) -> list[dict[str, Any]]:
    """The questions that the schema explains, or whose options it explains."""
    row = current_schema(project)
    explanations = []
    for question in load_schema(row).questions if row else ():
        options = [
            {
                "name": _in_language(option.text, language),
                "guideline": _in_language(option.guideline, language),
                "examples": [_in_language(example, language) for example in option.examples],
            }
            for option in question.options
            if option.guideline or option.examples
        ]
        if question.guideline or options:
            words = {
                "text": _in_language(question.text, language),
                "guideline": _in_language(question.guideline, language),
            }
            explanations.append({**words, "options": options})
    return explanations


def _in_language(text: BilingualText | None, language: str) -> str:
    if text is None:
        return ""
    return text.zh if language == "zh" else text.en


urlpatterns = [
    path("p/<slug:slug>/guidelines/", guidelines, name="guidelines"),
    path("p/<slug:slug>/guidelines/versions/", guidelines_history, name="guidelines_history"),
    path("p/<slug:slug>/guidelines/read/", guidelines_read, name="guidelines_read"),
]
