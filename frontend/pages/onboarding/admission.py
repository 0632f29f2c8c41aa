"""The admission test as annotators see it: the status, the dialogues of a try, and its result."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.labelling.schema.paths import answer_at
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.settings import labelling_project
from annotation.onboarding.models import AdmissionItem, AdmissionTry, TryState
from annotation.onboarding.selectors.admission import (
    admission_status,
    admission_test_for,
    may_see_right_answers,
    own_try,
    try_items,
)
from annotation.onboarding.services.tries import answer_item, start_try
from common.refusals import NotFound, Refusal
from frontend.pages.labelling.question_form import posted_answers, question_form_data
from frontend.pages.requests import posted_uuid, signed_in
from frontend.ui.dialogues import openings_by_dialogue
from frontend.ui.labels import answer_in_words, in_language
from frontend.ui.paging import parse_number
from projects.roles import Capability


@login_required
@never_cache
@require_safe
def admission(request: HttpRequest, slug: str) -> HttpResponse:
    """What the test asks for, and how far the annotator is."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.ANNOTATE)
    status = admission_status(user, project)
    drawn = min(status.test.items or status.gold, status.gold)
    context = {
        "project": project,
        "title": _("Admission test"),
        "status": status,
        "drawn": drawn,
        "try_id": uuid4(),
    }
    return render(request, "onboarding/admission/admission.html", context)


@require_POST
@login_required
def begin(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.ANNOTATE)
    attempt = start_try(annotator=user, project=project, try_id=posted_uuid(request, "try_id"))
    return redirect("admission_try", slug, attempt.pk)


@login_required
@never_cache
@require_safe
def attempt(request: HttpRequest, slug: str, try_id: UUID) -> HttpResponse:
    """The next dialogue of a running try; with `?place=` an answered one; after the last one the result."""
    user = signed_in(request)
    row = _own_try(user, slug, try_id)
    place = parse_number(request.GET.get("place"))
    items = list(try_items(row))
    answered = next((item for item in items if item.place == place and item.answered_at), None)
    item = answered or next((item for item in items if item.answered_at is None), None)
    if item is None or (row.state != TryState.RUNNING and answered is None):
        return _show_result(request, user, row, items)
    return _show_item(request, row, item, len(items))


def _own_try(user: User, slug: str, try_id: UUID) -> AdmissionTry:
    row = own_try(user, try_id)
    if row.project.slug != slug:
        raise NotFound(_("You have no such attempt."), _("Open the test from your queue."))
    return row


def _show_result(
    request: HttpRequest, user: User, row: AdmissionTry, items: Sequence[AdmissionItem]
) -> HttpResponse:
    context = {
        "project": row.project,
        "title": _("Admission test"),
        "attempt": row,
        "items": items,
        "openings": openings_by_dialogue([item.gold.dialogue for item in items]),
        "status": admission_status(user, row.project),
        "try_id": uuid4(),
    }
    return render(request, "onboarding/admission/result.html", context)


def _show_item(
    request: HttpRequest, row: AdmissionTry, item: AdmissionItem, total: int, refusal: Refusal | None = None
) -> HttpResponse:
    sees_right_answers = may_see_right_answers(row, item, admission_test_for(row.project))
    is_open = item.answered_at is None
    answers = posted_answers(request) if refusal else item.answers
    context = {
        "project": row.project,
        "attempt": row,
        "item": item,
        "number": item.place + 1,
        "total": total,
        "sees_right_answers": sees_right_answers,
        "wrong": wrong_answers_in_words(item) if sees_right_answers else [],
        "explanation": item.gold.explanation if sees_right_answers else "",
        "refusal": refusal,
        "data": question_form_data(
            item.gold.schema,
            item.gold.dialogue,
            answers,
            is_open=is_open,
        )
        | {"kept": f"try-{row.pk}-{item.place}"},
    }
    return render(
        request, "onboarding/admission/item.html", context, status=refusal.status if refusal else 200
    )


def wrong_answers_in_words(item: AdmissionItem) -> list[dict[str, Any]]:
    """For each wrong answer: the question, the own and the right answer, and the trainer's remark."""
    schema = load_schema(item.gold.schema)
    own, right = item.answers or {}, item.gold_answers or {}
    rows = []
    for answer_path in item.wrong:
        position, _slash, key = answer_path.rpartition("/")
        question = schema.by_key[key]
        rows.append(
            {
                "question": in_language(question.text),
                "position": int(position) + 1 if position else None,
                "own": answer_in_words(question, answer_at(own, answer_path)),
                "right": answer_in_words(question, answer_at(right, answer_path)),
                "remark": item.gold.remarks.get(answer_path) or item.gold.remarks.get(key, ""),
            }
        )
    return rows


@require_POST
@login_required
def answer(request: HttpRequest, slug: str, try_id: UUID, place: int) -> HttpResponse:
    """Store the answers to one dialogue, then show its right answers (if the test gives feedback) or the next one."""
    user = signed_in(request)
    row = _own_try(user, slug, try_id)
    try:
        item = answer_item(annotator=user, try_id=try_id, place=place, answers=posted_answers(request))
    except Refusal as refusal:
        stored = try_items(row).filter(place=place).first()
        if refusal.code != "invalid" or stored is None:
            raise
        return _show_item(request, row, stored, try_items(row).count(), refusal)
    row.refresh_from_db()
    sees_right_answers = may_see_right_answers(row, item, admission_test_for(row.project))
    query = f"?place={place}" if sees_right_answers else ""
    return redirect(reverse("admission_try", args=[slug, try_id]) + query)


urlpatterns = [
    path("p/<slug:slug>/admission/", admission, name="admission"),
    path("p/<slug:slug>/admission/begin/", begin, name="admission_begin"),
    path("p/<slug:slug>/admission/<uuid:try_id>/", attempt, name="admission_try"),
    path("p/<slug:slug>/admission/<uuid:try_id>/<int:place>/", answer, name="admission_answer"),
]
