"""The admission test: trainers write it and see how people do; annotators take it in a page like the workbench."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, Schema
from annotation.labelling.schema.paths import answer_at
from annotation.labelling.selectors.gold import live_gold
from annotation.labelling.selectors.schemas import current_schema, load_schema
from annotation.labelling.selectors.settings import labelling_project
from annotation.labelling.selectors.workbench import utterances_in
from annotation.onboarding.models import AdmissionItem, AdmissionTest, AdmissionTry, TryState
from annotation.onboarding.selectors.admission import (
    admission_results,
    admission_status,
    admission_test_for,
    may_see_right_answers,
    own_try,
    try_items,
)
from annotation.onboarding.selectors.gold import (
    candidates_for_gold,
    gold_counts,
    gold_for,
    proposed_answers,
)
from annotation.onboarding.services.admission_tests import (
    CHANGEABLE,
    start_new_edition,
    update_admission_test,
)
from annotation.onboarding.services.admissions import admit, grant_try
from annotation.onboarding.services.gold import MAX_EXPLANATION, make_gold, retire_gold
from annotation.onboarding.services.tries import answer_item, start_try
from common.refusals import Invalid, NotFound, Refusal
from dialogues.models import Dialogue
from dialogues.selectors import annotate_opening
from frontend.pages import signed_in
from frontend.ui.labels import in_language, words_of
from frontend.ui.paging import keyset_page, number_in
from projects.models import Project
from projects.roles import Capability
from projects.selectors import find_member

CANDIDATES_SHOWN = 10
GOLD_SHOWN = 200


class AdmissionForm(ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = AdmissionTest
        fields = CHANGEABLE
        widgets = {"unit": forms.RadioSelect, "feedback": forms.RadioSelect}


# ---- trainers --------------------------------------------------------------------------------------------------------


@login_required
@never_cache
def training(request: HttpRequest, slug: str) -> HttpResponse:
    """The test's settings, its gold dialogues, and how people did."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    test = admission_test_for(project)
    form = AdmissionForm(request.POST or None, instance=test)
    if request.method == "POST" and form.is_valid():
        try:
            update_admission_test(trainer=user, project=project, changes=form.cleaned_data)
        except Refusal as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, _("The test is saved."))
            return redirect("training", slug)
    counts = gold_counts(project)
    gold = list(live_gold(project)[:GOLD_SHOWN])
    context = {
        "project": project,
        "title": _("Admission test"),
        "form": form,
        "test": admission_test_for(project),
        "gold": [(row, *counts.get(row.pk, (0, 0))) for row in gold],
        "openings": openings([row.dialogue for row in gold]),
        "decided": annotate_opening(candidates_for_gold(project))[:CANDIDATES_SHOWN],
        "page": keyset_page(admission_results(project), request.GET.get("before")),
    }
    return render(request, "onboarding/admission/training.html", context)


def openings(dialogues: Sequence[Dialogue]) -> dict[int, str]:
    rows = annotate_opening(Dialogue.objects.filter(pk__in=[one.pk for one in dialogues]))
    return {row.pk: row.opening or "" for row in rows}  # type: ignore[attr-defined]  # annotated


@login_required
@never_cache
def gold(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    """Give a dialogue its right answers and explain them."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    dialogue = Dialogue.objects.filter(pk=dialogue_id, project=project).first()
    if dialogue is None:
        raise NotFound(_("There is no such dialogue in this project."), _("Choose another one."))
    refusal: Refusal | None = None
    if request.method == "POST":
        try:
            make_gold(
                trainer=user,
                project=project,
                dialogue_id=dialogue_id,
                answers=sent_answers(request),
                explanation=request.POST.get("explanation", ""),
                remarks=_remarks(request),
            )
        except Refusal as refused:
            refusal = refused
        else:
            messages.success(
                request, _("The right answers are stored. Nobody is given this dialogue to label.")
            )
            return redirect("training", slug)
    decided = proposed_answers(user, project, dialogue_id)
    return _show_gold(request, project, dialogue, decided, refusal)


def _show_gold(
    request: HttpRequest,
    project: Project,
    dialogue: Dialogue,
    decided: FinalLabel | None,
    refusal: Refusal | None,
) -> HttpResponse:
    row = gold_for(project, dialogue.pk)
    schema = current_schema(project)
    if schema is None:
        raise Refusal("no_schema", _("This project has no questions yet."), _("Write them first."))
    kept = row.answers if row else decided.answers if decided else None
    context = {
        "project": project,
        "dialogue": dialogue,
        "gold": row,
        "explanation": request.POST.get(
            "explanation", row.explanation if row else decided.reason if decided else ""
        ),
        "longest": MAX_EXPLANATION,
        "questions": [
            (question.key, in_language(question.text), (row.remarks if row else {}).get(question.key, ""))
            for question in load_schema(schema).questions
        ],
        "refusal": refusal,
        "data": page_data(schema, dialogue, sent_answers(request) if refusal else kept),
    }
    return render(
        request, "onboarding/admission/gold.html", context, status=refusal.status if refusal else 200
    )


def page_data(
    schema: Schema,
    dialogue: Dialogue,
    answers: Mapping[str, Any] | None = None,
    *,
    is_open: bool = True,
) -> dict[str, Any]:
    """What static/js/onboarding/admission.js begins with."""
    return {
        "schema": schema.content,
        "utterances": [
            row | {"time": row["time"].isoformat() if hasattr(row["time"], "isoformat") else row["time"]}
            for row in utterances_in(dialogue.pk)
        ],
        "lang": dialogue.language,
        "answers": answers,
        "isOpen": is_open,
        "kept": f"dialogue-{dialogue.pk}",
    }


def sent_answers(request: HttpRequest) -> dict[str, Any]:
    try:
        answers = json.loads(request.POST.get("answers", ""))
    except (ValueError, RecursionError) as error:
        raise Invalid(_("These answers cannot be read."), _("Reload the page and try again.")) from error
    if not isinstance(answers, dict):
        raise Invalid(_("These answers cannot be read."), _("Reload the page and try again."))
    return answers


def _remarks(request: HttpRequest) -> dict[str, str]:
    return {
        name.removeprefix("remark-"): str(text)
        for name, text in request.POST.items()
        if name.startswith("remark-")
    }


@require_POST
@login_required
def gold_retire(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    retire_gold(trainer=user, project=project, dialogue_id=dialogue_id)
    messages.success(request, _("The dialogue is gold no more; it can be labelled again."))
    return redirect("training", slug)


@require_POST
@login_required
def edition(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    start_new_edition(trainer=user, project=project, edition=number_in(request.POST.get("edition")) or 0)
    messages.success(request, _("A new edition begins: everybody has to pass again."))
    return redirect("training", slug)


@require_POST
@login_required
def grant(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """Another try, or admission by hand with a reason."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    annotator = find_member(project, username)
    if "reason" in request.POST:
        reason = request.POST["reason"]
        admit(trainer=user, project=project, annotator=annotator, reason=reason)
        messages.success(request, _("%(name)s is admitted.") % {"name": annotator.shown_name})
    else:
        granted = number_in(request.POST.get("granted")) or 0
        grant_try(trainer=user, project=project, annotator=annotator, granted=granted)
        messages.success(request, _("%(name)s has one try more.") % {"name": annotator.shown_name})
    return redirect("training", slug)


# ---- annotators ------------------------------------------------------------------------------------------------------


@login_required
@never_cache
@require_safe
def admission(request: HttpRequest, slug: str) -> HttpResponse:
    """What the test is, how one stands, and the way on."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.ANNOTATE)
    standing = admission_status(user, project)
    drawn = min(standing.test.items or standing.gold, standing.gold)
    context = {
        "project": project,
        "title": _("Admission test"),
        "standing": standing,
        "drawn": drawn,
        "try_id": uuid4(),
    }
    return render(request, "onboarding/admission/admission.html", context)


@require_POST
@login_required
def begin(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.ANNOTATE)
    try:
        try_id = UUID(request.POST.get("try_id", ""))
    except ValueError:
        try_id = uuid4()
    attempt = start_try(annotator=user, project=project, try_id=try_id)
    return redirect("admission_try", slug, attempt.pk)


@login_required
@never_cache
@require_safe
def attempt(request: HttpRequest, slug: str, try_id: UUID) -> HttpResponse:
    """The next dialogue of a running try, an answered one that is asked for, or the result."""
    user = signed_in(request)
    row = _own_try(user, slug, try_id)
    place = number_in(request.GET.get("place"))
    items = list(try_items(row))
    wanted = next((one for one in items if one.place == place and one.answered_at), None)
    item = wanted or next((one for one in items if one.answered_at is None), None)
    if item is None or (row.state != TryState.RUNNING and wanted is None):
        return _show_result(request, user, row, items)
    return _show_item(request, row, item, len(items))


def _own_try(user: User, slug: str, try_id: UUID) -> AdmissionTry:
    row = own_try(user, try_id)
    if row.project.slug != slug:
        raise NotFound(_("There is no such try of yours."), _("Open the test from your queue."))
    return row


def _show_result(
    request: HttpRequest, user: User, row: AdmissionTry, items: Sequence[AdmissionItem]
) -> HttpResponse:
    context = {
        "project": row.project,
        "title": _("Admission test"),
        "attempt": row,
        "items": items,
        "openings": openings([one.gold.dialogue for one in items]),
        "standing": admission_status(user, row.project),
        "try_id": uuid4(),
    }
    return render(request, "onboarding/admission/result.html", context)


def _show_item(
    request: HttpRequest, row: AdmissionTry, item: AdmissionItem, total: int, refusal: Refusal | None = None
) -> HttpResponse:
    told = may_see_right_answers(row, item, admission_test_for(row.project))
    is_open = item.answered_at is None
    answers = sent_answers(request) if refusal else item.answers
    context = {
        "project": row.project,
        "attempt": row,
        "item": item,
        "number": item.place + 1,
        "total": total,
        "told": told,
        "wrong": told_wrong(item) if told else [],
        "explanation": item.gold.explanation if told else "",
        "refusal": refusal,
        "data": page_data(
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


def told_wrong(item: AdmissionItem) -> list[dict[str, Any]]:
    """For every wrong answer the question, one's own and the right answer in words, and why."""
    schema = load_schema(item.gold.schema)
    own, right = item.answers or {}, item.gold_answers or {}
    rows = []
    for path_ in item.wrong:
        position, _slash, key = path_.rpartition("/")
        question = schema.by_key[key]
        rows.append(
            {
                "question": in_language(question.text),
                "position": int(position) + 1 if position else None,
                "own": words_of(question, answer_at(own, path_)),
                "right": words_of(question, answer_at(right, path_)),
                "remark": item.gold.remarks.get(path_) or item.gold.remarks.get(key, ""),
            }
        )
    return rows


@require_POST
@login_required
def answer(request: HttpRequest, slug: str, try_id: UUID, place: int) -> HttpResponse:
    """Store the answers to one dialogue and go on; where the project says so, past its right answers."""
    user = signed_in(request)
    row = _own_try(user, slug, try_id)
    try:
        item = answer_item(annotator=user, try_id=try_id, place=place, answers=sent_answers(request))
    except Refusal as refusal:
        stored = try_items(row).filter(place=place).first()
        if refusal.code != "invalid" or stored is None:
            raise
        return _show_item(request, row, stored, try_items(row).count(), refusal)
    row.refresh_from_db()
    way = f"?place={place}" if may_see_right_answers(row, item, admission_test_for(row.project)) else ""
    return redirect(f"/p/{slug}/admission/{try_id}/{way}")


urlpatterns = [
    path("p/<slug:slug>/training/", training, name="training"),
    path("p/<slug:slug>/training/edition/", edition, name="training_edition"),
    path("p/<slug:slug>/training/gold/<int:dialogue_id>/", gold, name="gold"),
    path("p/<slug:slug>/training/gold/<int:dialogue_id>/retire/", gold_retire, name="gold_retire"),
    path("p/<slug:slug>/training/people/<str:username>/", grant, name="admission_grant"),
    path("p/<slug:slug>/admission/", admission, name="admission"),
    path("p/<slug:slug>/admission/begin/", begin, name="admission_begin"),
    path("p/<slug:slug>/admission/<uuid:try_id>/", attempt, name="admission_try"),
    path("p/<slug:slug>/admission/<uuid:try_id>/<int:place>/", answer, name="admission_answer"),
]
