"""The admission test as trainers see it: its settings, its gold dialogues, and the results."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.selectors.gold import live_gold
from annotation.labelling.selectors.schemas import current_schema, load_schema
from annotation.labelling.selectors.settings import labelling_project
from annotation.labelling.services.shown_labels import record_shown_labels
from annotation.onboarding.models import AdmissionTest
from annotation.onboarding.selectors.admission import (
    admission_results,
    admission_test_for,
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
from common.refusals import NotFound, Refusal
from dialogues.models import Dialogue
from dialogues.selectors import annotate_opening
from frontend.pages.labelling.question_form import posted_answers, question_form_data
from frontend.pages.requests import signed_in
from frontend.ui.dialogues import openings_by_dialogue
from frontend.ui.labels import in_language
from frontend.ui.paging import keyset_page, parse_number
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


@login_required
@never_cache
def admission_test(request: HttpRequest, slug: str) -> HttpResponse:
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
            return redirect("admission_test", slug)
    counts = gold_counts(project)
    gold = list(live_gold(project)[:GOLD_SHOWN])
    context = {
        "project": project,
        "title": _("Admission test"),
        "form": form,
        "test": admission_test_for(project),
        "gold": [(row, *counts.get(row.pk, (0, 0))) for row in gold],
        "openings": openings_by_dialogue([row.dialogue for row in gold]),
        "decided": annotate_opening(candidates_for_gold(project))[:CANDIDATES_SHOWN],
        "page": keyset_page(admission_results(project), request.GET.get("before")),
    }
    return render(request, "onboarding/admission_test/admission_test.html", context)


@login_required
@never_cache
def gold(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    """Store the right answers to a dialogue, with explanations."""
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
                answers=posted_answers(request),
                explanation=request.POST.get("explanation", ""),
                remarks=_remarks(request),
            )
        except Refusal as refused:
            refusal = refused
        else:
            messages.success(
                request, _("The right answers are stored. This dialogue is no longer given to annotators.")
            )
            return redirect("admission_test", slug)
    decided = proposed_answers(user, project, dialogue_id)
    if decided:
        record_shown_labels(person=user, tasks=[decided.task_id])
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
    stored = row.answers if row else decided.answers if decided else None
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
        "data": question_form_data(schema, dialogue, posted_answers(request) if refusal else stored),
    }
    return render(
        request, "onboarding/admission_test/gold.html", context, status=refusal.status if refusal else 200
    )


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
    messages.success(request, _("This dialogue is no longer a gold example. It can be labelled again."))
    return redirect("admission_test", slug)


@require_POST
@login_required
def edition(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    start_new_edition(trainer=user, project=project, edition=parse_number(request.POST.get("edition")) or 0)
    messages.success(request, _("A new edition begins: everybody has to pass again."))
    return redirect("admission_test", slug)


@require_POST
@login_required
def grant(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """Grant another try or, if a reason is sent, admission without the test."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    annotator = find_member(project, username)
    if "reason" in request.POST:
        reason = request.POST["reason"]
        admit(trainer=user, project=project, annotator=annotator, reason=reason)
        messages.success(request, _("%(name)s is admitted.") % {"name": annotator.shown_name})
    else:
        granted = parse_number(request.POST.get("granted")) or 0
        grant_try(trainer=user, project=project, annotator=annotator, granted=granted)
        messages.success(request, _("%(name)s has one more attempt.") % {"name": annotator.shown_name})
    return redirect("admission_test", slug)


urlpatterns = [
    path("p/<slug:slug>/training/", admission_test, name="admission_test"),
    path("p/<slug:slug>/training/edition/", edition, name="admission_test_edition"),
    path("p/<slug:slug>/training/gold/<int:dialogue_id>/", gold, name="gold"),
    path("p/<slug:slug>/training/gold/<int:dialogue_id>/retire/", gold_retire, name="gold_retire"),
    path("p/<slug:slug>/training/people/<str:username>/", grant, name="admission_grant"),
]
