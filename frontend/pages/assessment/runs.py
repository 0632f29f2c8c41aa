"""Runs of an assessment project: create, open, close, places, join links, progress."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from assessment.sessions.models.participants import AssignmentState
from assessment.sessions.models.runs import Run, RunState
from assessment.sessions.selectors.failing_systems import failing_systems, unproven_systems
from assessment.sessions.selectors.runs import (
    SystemProgress,
    participant_counts,
    run_in,
    run_progress,
    runs_of,
)
from assessment.sessions.services.links import link_query, panel_query
from assessment.sessions.services.runs import MAX_PLACES, change_places, close_run, create_run, open_run
from assessment.setup.checks import questionable_codes
from assessment.setup.models import TopicMode
from assessment.setup.selectors import assessment_project
from frontend.pages.assessment.study_settings import OUTCOMES
from frontend.pages.projects.study_steps import CHAT, no_chat_worker
from frontend.pages.requests import signed_in
from frontend.ui.paging import keyset_page
from jobs.selectors import live_workers
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

MAX_LINKS: Final = 500


class RunForm(forms.Form):
    places = forms.IntegerField(
        label=gettext_lazy("Participants wanted"),
        min_value=1,
        max_value=MAX_PLACES,
        initial=20,
        help_text=gettext_lazy("Never more than that: a place reopens when somebody leaves or times out."),
    )
    topic_mode = forms.ChoiceField(
        label=gettext_lazy("Topic"),
        choices=TopicMode.choices,
        initial=TopicMode.FREE,
        widget=forms.RadioSelect,
    )
    creation_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


class PlacesForm(forms.Form):
    places = forms.IntegerField(label=gettext_lazy("Participants wanted"), min_value=0, max_value=MAX_PLACES)


class LinksForm(forms.Form):
    names = forms.CharField(
        label=gettext_lazy("Names of participants"),
        max_length=200 * MAX_LINKS,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy("One per line. The same name always gets the same link."),
    )

    def lines(self) -> list[str]:
        names = (name.strip() for name in self.cleaned_data["names"].splitlines())
        return list(dict.fromkeys(name for name in names if name))[:MAX_LINKS]


@login_required
@require_safe
def run_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = _project(request, slug, Capability.READ_STATISTICS)
    return _render_list(request, project, RunForm())


def _render_list(request: HttpRequest, project: Project, form: RunForm) -> HttpResponse:
    page = keyset_page(runs_of(project), request.GET.get("before"))
    counts = participant_counts(page.rows)
    context = {
        "project": project,
        "title": _("Runs"),
        "page": page,
        "runs": [
            (run, counts[run.pk][AssignmentState.COMPLETED], run.places - run.open_places)
            for run in page.rows
        ],
        "form": form if _configures(request, project) else None,
        "has_systems": bool(page.rows) or project.systems.exists(),
    }
    return render(request, "assessment/manager/runs.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def run_create(request: HttpRequest, slug: str) -> HttpResponse:
    project = _project(request, slug, Capability.CONFIGURE)
    form = RunForm(request.POST)
    if not form.is_valid():
        return _render_list(request, project, form)
    run = create_run(project=project, actor=signed_in(request), **form.cleaned_data)
    messages.success(request, _("Run %(n)d is created. Open it when you are ready.") % {"n": run.number})
    return redirect("run", slug, run.number)


@login_required
@require_safe
def run_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    return _render_run(request, _run(request, slug, number, Capability.READ_STATISTICS))


def _render_run(request: HttpRequest, run: Run, links: list[tuple[str, str]] | None = None) -> HttpResponse:
    settings = run.project.assessment
    progress = run_progress(run)
    configures = _configures(request, run.project)
    context: dict[str, Any] = {
        "project": run.project,
        "run": run,
        "title": _("Run %(n)d") % {"n": run.number},
        "is_open": run.state == RunState.OPEN,
        "used": run.places - run.open_places,
        "completed": progress.participants[AssignmentState.COMPLETED],
        "states": [(state, state.label, count) for state, count in progress.participants.items() if count],
        "systems": progress.systems,
        "failing": _failing_names(progress.systems) if run.state == RunState.OPEN else [],
        "signed_only": settings.signed_links,
        "panel_address": _address(request, run, panel_query(settings, run.number)),
        "links": links,
        "warning": no_chat_worker() if run.state == RunState.OPEN and not live_workers(CHAT).exists() else "",
        "codes": [(outcome.label, settings.completion_codes.get(outcome, "")) for outcome in OUTCOMES],
        "questionable_codes": questionable_codes(settings),
        "return_url": settings.return_url,
        "places_form": PlacesForm(initial={"places": run.places}),
        "links_form": LinksForm(),
        "configures": configures,
        "repeats": _describe_repeats(progress.systems, settings.ordinary_systems) if configures else "",
        "unproven": unproven_systems(run.project) if configures and run.state != RunState.OPEN else [],
    }
    return render(request, "assessment/manager/run.html", context)


def _describe_repeats(systems: Sequence[SystemProgress], wanted: int) -> str:
    """Says that participants will meet systems more than once; empty if there are enough systems."""
    there = sum(not one.system.is_degraded for one in systems)
    if not 0 < there < wanted:
        return ""
    text = _(
        "There are fewer ordinary systems (%(there)d) than each participant meets (%(wanted)d), so some come more"
        " than once. The study's settings change that."
    )
    return text % {"there": there, "wanted": wanted}


@login_required
@require_POST
def run_open(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """`accepts_unproven` is sent once the page has named the systems that may not answer."""
    run = _run(request, slug, number, Capability.CONFIGURE)
    open_run(run=run, actor=signed_in(request), accepts_unproven="accepts_unproven" in request.POST)
    messages.success(request, _("The run is open: participants can enter."))
    return redirect("run", slug, number)


@login_required
@require_POST
def run_close(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    run = _run(request, slug, number, Capability.CONFIGURE)
    close_run(run=run, actor=signed_in(request))
    messages.success(request, _("The run is closed. Participants who have begun can finish."))
    return redirect("run", slug, number)


@login_required
@require_POST
def run_places(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    run = _run(request, slug, number, Capability.CONFIGURE)
    form = PlacesForm(request.POST)
    if form.is_valid():
        change_places(run=run, actor=signed_in(request), places=form.cleaned_data["places"])
        messages.success(request, _("Saved."))
    else:
        messages.error(
            request,
            _("The number of participants is between 0 and %(most)s.") % {"most": intcomma(MAX_PLACES)},
        )
    return redirect("run", slug, number)


@login_required
@require_POST
def run_links(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Signed links, shown once; nothing is stored, since the same name gives the same link."""
    run = _run(request, slug, number, Capability.CONFIGURE)
    form = LinksForm(request.POST)
    if not form.is_valid() or not form.lines():
        messages.error(request, _("Write at least one name."))
        return redirect("run", slug, number)
    settings = run.project.assessment
    queries = ((name, link_query(settings, run.number, {"participant": name})) for name in form.lines())
    return _render_run(request, run, [(name, _address(request, run, query)) for name, query in queries])


def _failing_names(rows: Sequence[SystemProgress]) -> list[str]:
    usable = [row.system for row in rows if row.system.retired_at is None]
    failing = failing_systems(usable)
    return [system.name for system in usable if system.pk in failing]


def _project(request: HttpRequest, slug: str, capability: Capability) -> Project:
    return assessment_project(signed_in(request), slug, capability)


def _run(request: HttpRequest, slug: str, number: int, capability: Capability) -> Run:
    return run_in(_project(request, slug, capability), number)


def _configures(request: HttpRequest, project: Project) -> bool:
    return Capability.CONFIGURE in capabilities_of(signed_in(request), project)


def _address(request: HttpRequest, run: Run, query: str) -> str:
    return f"{request.build_absolute_uri(reverse('join', args=[run.project.slug]))}?{query}"


urlpatterns = [
    path("p/<slug:slug>/runs/", run_list, name="runs"),
    path("p/<slug:slug>/runs/new/", run_create, name="run_create"),
    path("p/<slug:slug>/runs/<int:number>/", run_page, name="run"),
    path("p/<slug:slug>/runs/<int:number>/open/", run_open, name="run_open"),
    path("p/<slug:slug>/runs/<int:number>/close/", run_close, name="run_close"),
    path("p/<slug:slug>/runs/<int:number>/places/", run_places, name="run_places"),
    path("p/<slug:slug>/runs/<int:number>/links/", run_links, name="run_links"),
]
