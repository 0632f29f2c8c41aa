"""Dialogues whose answers an annotator must confirm or change because somebody answered differently (DiQAD §4.2)."""

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.labelling.selectors.settings import labelling_project
from annotation.labelling.selectors.workbench import assignments_to_confirm
from frontend.pages.requests import signed_in
from frontend.ui.dialogues import openings_by_dialogue
from frontend.ui.paging import parse_number
from projects.roles import Capability

PAGE_SIZE = 50


@login_required
@never_cache
@require_safe
def confirmations(request: HttpRequest, slug: str) -> HttpResponse:
    """Each links to the workbench, which shows the others' answers beside the annotator's own."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.ANNOTATE)
    page = Paginator(assignments_to_confirm(user, project), PAGE_SIZE).get_page(
        parse_number(request.GET.get("page")) or 1
    )
    context = {
        "project": project,
        "title": _("Confirmations"),
        "page": page,
        "openings": openings_by_dialogue([one.dialogue for one in page.object_list]),
    }
    return render(request, "labelling/confirmations.html", context)


urlpatterns = [path("p/<slug:slug>/confirmations/", confirmations, name="confirmations")]
