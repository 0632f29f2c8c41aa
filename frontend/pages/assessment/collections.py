"""Collections of an assessment project: systems make dialogues, raters of a labelling project judge them."""

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from assessment.collections.models import Collection, CollectionKind
from assessment.collections.selectors.collections import (
    collection_in,
    collections_of,
    count_contexts,
    progress_of,
)
from assessment.collections.selectors.report import collection_report
from assessment.collections.selectors.verdict import criterion_name, verdict_sentences
from assessment.collections.serializers import serialize_report
from assessment.collections.services.starting import DEFAULT_COUNT, retry_collection, start_collection
from assessment.setup.selectors import assessment_project
from assessment.systems.selectors.sentences import translate_error
from common.refusals import Invalid, NotAllowed
from frontend.charts.collections import charts_of, label
from frontend.charts.files import chart_file, json_file
from frontend.pages.assessment.collection_form import KINDS, PRESET, CollectionForm
from frontend.pages.jobs.partials import render_job_page
from frontend.pages.requests import signed_in
from jobs.models import LIVE_STATES, JobState
from jobs.selectors import served_queues
from jobs.services import cancel_job
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

PAGE_SIZE: Final = 20
ROWS_SHOWN: Final = 50  # of what is missing, and of what beats the human reply; the downloads have all


@login_required
@require_safe
def collection_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = _project(request, slug, Capability.READ_STATISTICS)
    page = Paginator(collections_of(project), PAGE_SIZE).get_page(request.GET.get("page"))
    progress = progress_of(list(page.object_list))
    context = {
        "project": project,
        "title": _("Collections"),
        "page": page,
        "rows": [
            (collection, KINDS[collection.kind][0], progress[collection.pk])
            for collection in page.object_list
        ],
        "configures": _configures(request, project),
    }
    return render(request, "assessment/collections/list.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def collection_new(request: HttpRequest, slug: str, kind: str) -> HttpResponse:
    project = _project(request, slug, Capability.CONFIGURE)
    if kind not in CollectionKind.values:
        raise Http404
    user, chosen = signed_in(request), CollectionKind(kind)
    if request.method != "POST":
        return _render_form(request, project, CollectionForm(chosen, project, user))
    form = CollectionForm(chosen, project, user, request.POST)
    if not form.is_valid():
        return _render_form(request, project, form)
    try:
        collection = start_collection(
            collection_id=form.cleaned_data["collection_id"], project=project, actor=user, plan=form.plan()
        )
    except (Invalid, NotAllowed) as refusal:
        field = refusal.details.get("field")
        form.add_error(field if field in form.fields else None, str(refusal))
        return _render_form(request, project, form)
    if collection.target.preset != PRESET:
        text = _(
            "“%(title)s” asks other questions than the preset “diamante-evaluation”; the report shows its scales."
        )
        messages.warning(request, text % {"title": collection.target.title})
    return redirect("collection", slug, collection.pk)


def _render_form(request: HttpRequest, project: Project, form: CollectionForm) -> HttpResponse:
    context = {
        "project": project,
        "title": _("New collection"),
        "form": form,
        "kinds": [(kind, title, kind == form.kind) for kind, (title, _purpose) in KINDS.items()],
        "purpose": KINDS[form.kind][1],
        "lacks": next(
            (name for name in ("systems", "run", "source", "target") if not form.has_choices(name)), ""
        ),
    }
    template = "assessment/collections/new.html"
    return render(request, template, context, status=422 if form.errors else 200)


@login_required
@never_cache
@require_safe
def collection_page(request: HttpRequest, slug: str, pk: UUID) -> HttpResponse:
    """The page, or the part that `?part=` names: "live" while the job runs."""
    collection = _collection(request, slug, pk, Capability.READ_STATISTICS)
    job = collection.job
    context: dict[str, Any] = {
        "project": collection.project,
        "title": str(KINDS[collection.kind][0]),
        "collection": collection,
        "job": job,
        "live": job.state in LIVE_STATES,
        "progress": progress_of([collection])[collection.pk],
        "configures": _configures(request, collection.project),
        "queues": served_queues(),
        "contexts": count_contexts(collection),
        "wanted": job.parameters["count"] or DEFAULT_COUNT.get(CollectionKind(collection.kind)),
    }
    if request.GET.get("part") is None:
        context |= _report_context(request, collection)
    return render_job_page(
        request, context, template="assessment/collections/collection.html", folder="assessment/collections"
    )


def _report_context(request: HttpRequest, collection: Collection) -> dict[str, Any]:
    report = collection_report(collection)
    drawn = {name: draw(report) for name, draw in charts_of(report).items()}
    names = {each.name: criterion_name(each.text) for each in report.criteria}
    return {
        "report": report,
        "verdict": verdict_sentences(report),
        "scores": drawn["scores"],
        "plots": [chart for name, chart in drawn.items() if name.startswith("by-") and chart.rows],
        "tables": [drawn[name] for name in ("comparisons", "agreement") if drawn[name].rows],
        "missing": [
            (each, label(each.system), translate_error(each.error)) for each in report.missing[:ROWS_SHOWN]
        ],
        "more_missing": max(0, len(report.missing) - ROWS_SHOWN),
        "beaten": [(each, names[each.criterion]) for each in report.beaten[:ROWS_SHOWN]],
        "more_beaten": max(0, len(report.beaten) - ROWS_SHOWN),
        "reads_dialogues": Capability.READ_DIALOGUES
        in capabilities_of(signed_in(request), collection.target),
        "can_retry": report.missing and collection.job.state == JobState.DONE,
    }


@login_required
@require_POST
def collection_cancel(request: HttpRequest, slug: str, pk: UUID) -> HttpResponse:
    collection = _collection(request, slug, pk, Capability.CONFIGURE)
    job = cancel_job(job=collection.job, actor=signed_in(request))
    if job.state in LIVE_STATES:
        messages.success(request, _("It stops after the replies that are being generated."))
    return redirect("collection", slug, pk)


@login_required
@require_POST
def collection_retry(request: HttpRequest, slug: str, pk: UUID) -> HttpResponse:
    collection = _collection(request, slug, pk, Capability.CONFIGURE)
    retry_collection(collection=collection, actor=signed_in(request))
    return redirect("collection", slug, pk)


@login_required
@require_safe
def download(request: HttpRequest, slug: str, pk: UUID, name: str, suffix: str) -> HttpResponse:
    report = collection_report(_collection(request, slug, pk, Capability.READ_STATISTICS))
    if name == "report" and suffix == "json":
        return json_file(serialize_report(report), f"{slug}-collection.json")
    drawers = charts_of(report)
    if name not in drawers:
        raise Http404
    return chart_file(drawers[name](report), f"{slug}-{name}", suffix)


def _project(request: HttpRequest, slug: str, capability: Capability) -> Project:
    return assessment_project(signed_in(request), slug, capability)


def _collection(request: HttpRequest, slug: str, pk: UUID, capability: Capability) -> Collection:
    return collection_in(_project(request, slug, capability), pk)


def _configures(request: HttpRequest, project: Project) -> bool:
    return Capability.CONFIGURE in capabilities_of(signed_in(request), project)


urlpatterns = [
    path("p/<slug:slug>/collections/", collection_list, name="collections"),
    path("p/<slug:slug>/collections/new/<str:kind>/", collection_new, name="collection_new"),
    path("p/<slug:slug>/collections/<uuid:pk>/", collection_page, name="collection"),
    path("p/<slug:slug>/collections/<uuid:pk>/cancel/", collection_cancel, name="collection_cancel"),
    path("p/<slug:slug>/collections/<uuid:pk>/retry/", collection_retry, name="collection_retry"),
    path(
        "p/<slug:slug>/collections/<uuid:pk>/<slug:name>.<str:suffix>", download, name="collection_download"
    ),
]
