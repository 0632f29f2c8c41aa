"""An annotator's queue: what is open, what comes next, what came back and why."""

from datetime import datetime
from typing import Any
from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.authoring.selectors.queue import finished_assignments, vetoed_assignments
from annotation.batch_review.selectors.returned_batches import returned_batches
from annotation.expert_review.services import acknowledge_veto
from annotation.labelling.selectors.workbench import assignments_to_confirm, labelling_progress
from annotation.onboarding.selectors.admission import admission_needed
from annotation.tasks.models.work import TaskState
from annotation.tasks.selectors.queue import open_assignments, task_counts, today_of
from annotation.tasks.selectors.settings import work_settings
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from dialogues.models import ReviewState
from dialogues.selectors import languages_of
from frontend.pages.requests import posted_uuid, signed_in
from frontend.ui.filters import Filter, chosen_filters, filter_choices
from frontend.ui.paging import keyset_page
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import project_for

VETOED_SHOWN = 30
FINISHED_SHOWN = 20
AUTHORED_FILTERS = [
    Filter("review", gettext_lazy("Review"), gettext_lazy("Every review"), ReviewState.choices)
]
LABELLED_FILTERS = [
    Filter(
        "label",
        gettext_lazy("Labels"),
        gettext_lazy("Every state"),
        [(state.value, state.label) for state in TaskState],
    )
]
COLUMN_OF = {"review": "dialogue__review_state", "label": "task__state", "language": "dialogue__language"}


@login_required
@never_cache
@require_safe
def queue(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.ANNOTATE)
    work_settings(project)  # refuses protocols without tasks
    if project.protocol == Protocol.LABELLING:
        return _render_labelling(request, user, project)
    return _render(request, user, project)


@require_POST
@login_required
def claim(request: HttpRequest, slug: str) -> HttpResponse:
    """Claim the next dialogue and open it; otherwise the queue says why."""
    user = signed_in(request)
    project = project_for(user, slug, Capability.ANNOTATE)
    work_settings(project)  # refuses protocols without tasks
    if project.protocol == Protocol.LABELLING:
        return redirect("label_next", slug)
    try:
        claimed = claim_next_task(annotator=user, project=project, claim_id=posted_uuid(request, "claim_id"))
    except Refusal as refusal:
        return _render(request, user, project, refusal)
    return redirect("workbench", slug, claimed.pk)


@require_POST
@login_required
def veto_read(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    """Record that the author has read why a dialogue came back."""
    user = signed_in(request)
    project_for(user, slug)
    acknowledge_veto(author=user, dialogue_id=dialogue_id)
    return redirect("queue", slug)


def _render(
    request: HttpRequest, user: User, project: Project, refusal: Refusal | None = None
) -> HttpResponse:
    until = parse_datetime(refusal.details.get("until") or "") if refusal else None
    counts = task_counts(project, user)
    context: dict[str, Any] = {
        "project": project,
        "title": _("Queue"),
        "open": [(row, row.dialogue.utterance_count // 2) for row in open_assignments(user, project)],
        "came_back": vetoed_assignments(user, project)[:VETOED_SHOWN],
        "read_before": vetoed_assignments(user, project, read=True)[:VETOED_SHOWN],
        **_finished(request, user, project, AUTHORED_FILTERS),
        "today": today_of(user, project),
        "counts": counts,
        "others_until": counts.until and time_element(counts.until),
        "least": project.authoring.min_rounds,
        "refusal": refusal,
        "until": until and time_element(until),
        "claim_id": uuid4(),
    }
    return render(request, "tasks/queue/queue.html", context, status=refusal.status if refusal else 200)


def _render_labelling(request: HttpRequest, user: User, project: Project) -> HttpResponse:
    """The labelling workbench claims one dialogue after another; this page lists what else there is to do."""
    languages = languages_of(project)
    context = {
        "project": project,
        "title": _("Queue"),
        "open": open_assignments(user, project),
        "chooses_languages": len(languages) > 1 and not user.reading_languages,
        "to_confirm": assignments_to_confirm(user, project).count(),
        "test": admission_needed(user, project),
        "returned": returned_batches(user, project),
        **_finished(request, user, project, _labelled_filters(languages)),
        "today": today_of(user, project),
        "progress": labelling_progress(project),
    }
    return render(request, "tasks/queue/labelling.html", context)


def _labelled_filters(languages: list[tuple[str, str]]) -> list[Filter]:
    """By the state of the labels, and by language if there are several."""
    by_language = Filter("language", gettext_lazy("Language"), gettext_lazy("Every language"), languages)
    return [*LABELLED_FILTERS, *([by_language] if len(languages) > 1 else [])]


def _finished(request: HttpRequest, user: User, project: Project, filters: list[Filter]) -> dict[str, Any]:
    """The context of the list of finished dialogues."""
    chosen = chosen_filters(request.GET, filters)
    rows = finished_assignments(user, project).filter(
        **{COLUMN_OF[name]: value for name, value in chosen.items()}
    )
    return {
        "page": keyset_page(rows, request.GET.get("before"), FINISHED_SHOWN),
        "filters": filter_choices(filters, chosen),
        "is_filtered": bool(chosen),
    }


def time_element(at: datetime) -> SafeString:
    """A time that queue.js converts to the time zone of the browser."""
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), date_format(at, "DATETIME_FORMAT"))


urlpatterns = [
    path("p/<slug:slug>/queue/", queue, name="queue"),
    path("p/<slug:slug>/queue/next/", claim, name="claim"),
    path("p/<slug:slug>/queue/read/<int:dialogue_id>/", veto_read, name="veto_read"),
]
