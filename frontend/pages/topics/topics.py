"""Topics of a project's dialogues: how often each occurs, and the runs that tag them."""

from collections.abc import Callable
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from common.refusals import NotFound, Refusal
from dialogues.selectors import dialogue_for
from frontend.charts.chart import Chart
from frontend.charts.files import chart_file
from frontend.charts.topics import TOPICS, draw_domains, draw_topics, tabulate_sources
from frontend.pages.jobs.actions import job_view
from frontend.pages.jobs.partials import render_job_page
from frontend.pages.requests import signed_in
from frontend.pages.topics.forms import TaggingForm
from jobs.models import LIVE_STATES, Job, JobState
from jobs.selectors import live_workers
from jobs.services import cancel_job, retry_job
from preference.child_process import QUEUE
from preference.topics.models import Tagger, TaggingRun
from preference.topics.selectors import has_tags, tagging_run_for, tagging_runs_of
from preference.topics.services.categories import choose_topic
from preference.topics.services.tagging import start_tagging, undo_tagging
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of, project_for

PAGE_SIZE: Final = 20
RUN_URL: Final = "p/<slug:slug>/topics/runs/<uuid:run_id>/"
CHARTS: Final[dict[str, Callable[[Project], Chart]]] = {
    TOPICS: draw_topics,
    "topic-sources": tabulate_sources,
    "domains": draw_domains,
}


@login_required
@never_cache
@require_safe
def topics_page(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.READ_STATISTICS)
    may = capabilities_of(user, project)
    page = Paginator(tagging_runs_of(project), PAGE_SIZE).get_page(request.GET.get("page"))
    charts = [draw(project) for draw in CHARTS.values()]
    context = {
        "project": project,
        "title": _("Topics"),
        "charts": [chart for chart in charts if chart.rows],
        "taggers": Tagger.choices,
        "page": page if Capability.TRAIN in may else None,
        "may": {one.value for one in may},
        "worker_alive": live_workers(QUEUE).exists(),
    }
    return render(request, "topics/page.html", context)


@login_required
@require_safe
def topics_download(request: HttpRequest, slug: str, name: str, suffix: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.READ_STATISTICS)
    if name not in CHARTS:
        raise Http404
    return chart_file(CHARTS[name](project), f"{slug}-{name}", suffix)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def tagging_new(request: HttpRequest, slug: str) -> HttpResponse:
    """The form for the tagger that `?tagger=` names."""
    user = signed_in(request)
    project = project_for(user, slug, Capability.TRAIN)
    tagger = request.GET.get("tagger", "")
    if tagger not in Tagger.values:
        return redirect("topics", slug)
    if request.method != "POST":
        return _render_form(request, project, tagger, TaggingForm(user, project, tagger))
    form = TaggingForm(user, project, tagger, request.POST)
    if not form.is_valid():
        return _render_form(request, project, tagger, form, status=422)
    return _start(request, user, project, tagger, form)


def _start(
    request: HttpRequest, user: User, project: Project, tagger: str, form: TaggingForm
) -> HttpResponse:
    try:
        run = start_tagging(
            run_id=form.cleaned_data["id"],
            project=project,
            actor=user,
            tagger=tagger,
            model=form.cleaned_data.get("model", ""),
            settings=form.settings(),
            replaces=form.cleaned_data["replaces"],
        )
    except Refusal as refusal:
        form.add_error(None, str(refusal))
        return _render_form(request, project, tagger, form, status=refusal.status)
    return redirect("tagging_run", project.slug, run.pk)


def _render_form(
    request: HttpRequest, project: Project, tagger: str, form: TaggingForm, status: int = 200
) -> HttpResponse:
    title = _("Tag with a judge") if tagger == Tagger.JUDGE else _("Tag with a topic model")
    context = {"project": project, "title": title, "form": form}
    return render(request, "topics/new.html", context, status=status)


def _run_in(user: User, slug: str, run_id: UUID) -> TaggingRun:
    run = tagging_run_for(user, run_id)
    if run.project.slug != slug:
        raise NotFound(_("There is no such run in this project."), _("Look it up in the list."))
    return run


def _job_in(user: User, slug: str, run_id: UUID) -> Job:
    return _run_in(user, slug, run_id).job


@login_required
@never_cache
@require_safe
def tagging_page(request: HttpRequest, slug: str, run_id: UUID) -> HttpResponse:
    """With `?part=live` only what changes while the run goes on, with `?part=row` only its line in a list."""
    run = _run_in(signed_in(request), slug, run_id)
    context = {
        "project": run.project,
        "title": _("Topics by %(tagger)s") % {"tagger": describe_tagger(run)},
        "run": run,
        "job": run.job,
        "live": run.job.state in LIVE_STATES,
        "done": run.job.state == JobState.DONE,
        "can_undo": run.job.state not in LIVE_STATES and run.removed is None and has_tags(run),
        "reasons": list(run.reasons.items()),
        "worker_alive": live_workers(QUEUE).exists(),
    }
    return render_job_page(request, context, template="topics/run.html", folder="topics")


def describe_tagger(run: TaggingRun) -> str:
    """The model that tags, as people know it."""
    return run.model.slug if run.model else str(run.settings.get("server_model", ""))


@require_POST
@login_required
def tagging_undo(request: HttpRequest, slug: str, run_id: UUID) -> HttpResponse:
    user = signed_in(request)
    run = undo_tagging(run=_run_in(user, slug, run_id), actor=user)
    n = run.removed or 0
    messages.success(
        request, ngettext("%(n)d topic was removed.", "%(n)d topics were removed.", n) % {"n": n}
    )
    return redirect("tagging_run", slug, run_id)


@require_POST
@login_required
def dialogue_topic(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    user = signed_in(request)
    project_for(user, slug, Capability.CONFIGURE)
    dialogue = dialogue_for(user, dialogue_id)
    if dialogue.project.slug != slug:
        raise NotFound(_("There is no such dialogue in this project."))
    choose_topic(dialogue=dialogue, topic=request.POST.get("topic", ""), actor=user)
    messages.success(request, _("Saved."))
    return redirect("dialogue", slug, dialogue_id)


urlpatterns = [
    path("p/<slug:slug>/topics/", topics_page, name="topics"),
    path("p/<slug:slug>/topics/new/", tagging_new, name="tagging_new"),
    path("p/<slug:slug>/topics/<slug:name>.<str:suffix>", topics_download, name="topics_download"),
    path(RUN_URL, tagging_page, name="tagging_run"),
    path(f"{RUN_URL}cancel/", job_view(cancel_job, _job_in, "tagging_run"), name="tagging_cancel"),
    path(f"{RUN_URL}retry/", job_view(retry_job, _job_in, "tagging_run"), name="tagging_retry"),
    path(f"{RUN_URL}undo/", tagging_undo, name="tagging_undo"),
    path("p/<slug:slug>/dialogues/<int:dialogue_id>/topic/", dialogue_topic, name="dialogue_topic"),
]
