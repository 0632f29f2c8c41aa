"""The accuracy of an annotator's own answers in samples, with the corrections; it names no controller."""

from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.batch_review.models import Appeal
from annotation.batch_review.selectors.annotator_accuracy import (
    JudgedAnswer,
    answer_outcomes,
    judged_answers,
    judged_items_of,
    returned_rounds_of,
)
from annotation.labelling.selectors.settings import labelling_project
from frontend.charts.accuracy import draw_accuracy_by_class
from frontend.charts.files import chart_file
from frontend.pages.batch_review.corrections import Correction, appeals_by_item, checked_answer_in_words
from frontend.pages.requests import signed_in
from frontend.ui.paging import keyset_page
from measures.proportion import proportion
from projects.roles import Capability

PAGE_SIZE = 30
RETURNED_ROUNDS_SHOWN = 5


@login_required
@never_cache
@require_safe
def accuracy(request: HttpRequest, slug: str) -> HttpResponse:
    """Shows the corrected answers; with `?show=all`, or if nothing was corrected, every judged answer."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.ANNOTATE)
    outcomes, is_cut = answer_outcomes(user, project)
    wrong = [outcome.item for outcome in outcomes if not outcome.was_right]
    shows_all = not wrong or request.GET.get("show") == "all"
    items = judged_items_of(user, project)
    page = keyset_page(
        items if shows_all else items.filter(pk__in=wrong), request.GET.get("before"), PAGE_SIZE
    )
    appeals = appeals_by_item(page.rows)
    context = {
        "project": project,
        "title": _("My accuracy"),
        "page": page,
        "examples": [
            (answer, _build_correction(answer, appeals)) for answer in judged_answers(user, page.rows)
        ],
        "returned_rounds": returned_rounds_of(user, project)[:RETURNED_ROUNDS_SHOWN],
        "overall": proportion(len(outcomes) - len(wrong), len(outcomes)),
        "is_cut": is_cut,
        "wrong": len(wrong),
        "shows_all": shows_all,
        "chart": draw_accuracy_by_class(project, outcomes),
    }
    return render(request, "batch_review/accuracy.html", context)


def _build_correction(answer: JudgedAnswer, appeals: dict[int, Appeal]) -> Correction:
    item = answer.item
    return Correction(
        item=item,
        label=checked_answer_in_words(item, answer.own),
        correct=checked_answer_in_words(item, answer.right),
        reason=answer.reason,
        appeal=appeals.get(item.pk),
        request_id=uuid4(),
    )


@login_required
@require_safe
def accuracy_file(request: HttpRequest, slug: str, name: str, suffix: str) -> HttpResponse:
    """The person's own accuracy as CSV or SVG."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.ANNOTATE)
    outcomes, _is_cut = answer_outcomes(user, project)
    chart = draw_accuracy_by_class(project, outcomes)
    if name != chart.name:
        raise Http404
    return chart_file(chart, f"{slug}-accuracy", suffix)


urlpatterns = [
    path("p/<slug:slug>/accuracy/", accuracy, name="accuracy"),
    path("p/<slug:slug>/accuracy/<slug:name>.<str:suffix>", accuracy_file, name="accuracy_file"),
]
