"""The batches of a project, cutting new ones, and the plan by which they are reviewed."""

from decimal import Decimal
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.html import escape
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.batch_review.models import BatchPlan
from annotation.batch_review.selectors.access import batches_project_for
from annotation.batch_review.selectors.batch_plan import (
    batch_plan_for,
    checkable_questions,
    deciding_percents,
)
from annotation.batch_review.selectors.boards import Boards
from annotation.batch_review.selectors.eligibility import waits_for
from annotation.batch_review.selectors.rounds import rounds_with_counts, with_judged, with_last_step
from annotation.batch_review.services import cutting
from annotation.batch_review.services.batch_plan import PLAN_FIELDS, update_batch_plan
from annotation.labelling.selectors.settings import labelling_project
from annotation.tasks.models.rounds import RoundState
from annotation.tasks.models.work import Task
from common.refusals import Refusal
from dialogues.models import Dialogue
from frontend.pages.batch_review.cut_words import describe_cut
from frontend.pages.requests import signed_in
from frontend.ui.labels import in_language
from frontend.ui.sorting import Column, chosen_sorting, sorted_page
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

SHOWN = 30
NEWEST, OLDEST = "-opened", "opened"
WAITING, EVERY_STATE = "waiting", "all"  # of the filter, beside the states
COLUMNS = {
    "opened": Column("pk", falls_first=True),
    "batch": Column("batch__number"),
    "group": Column("group"),
    "labelled": Column("done", falls_first=True),
    "step": Column("stepped_at", falls_first=True),
}


class PlanForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = BatchPlan
        fields = PLAN_FIELDS
        labels = {
            "double_every": gettext_lazy("Second controller for every nth batch"),
        }
        help_texts = {
            "class_percent": gettext_lazy("0: only the accuracy of the whole sample counts."),
            "is_stratified": gettext_lazy(
                "Rare classes are judged more reliably. The accuracy weights each class by its share of the batch."
            ),
            "double_every": gettext_lazy(
                "5: both judge the whole sample of every fifth batch, and the batch shows how far they agree. The"
                " first judgement counts. 0: never."
            ),
        }
        widgets = {"relabel": forms.RadioSelect}

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("overall_percent", "class_percent"):
            self.initial[name] = f"{Decimal(self.initial[name]).normalize():f}"  # 92, not 92.00
        questions = [(question.key, in_language(question.text)) for question in checkable_questions(project)]
        choices = [*questions, ("", _("all compared answers"))]
        label = self.fields["question"].label
        self.fields["question"] = forms.ChoiceField(label=label, choices=choices, required=False)


class CutForm(forms.Form):
    size = forms.IntegerField(label=gettext_lazy("Dialogues per batch"), min_value=1, max_value=100_000)
    with_rest = forms.BooleanField(
        label=gettext_lazy("The last batch may be smaller"), required=False, initial=True
    )
    cut_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


# ---- all batches -----------------------------------------------------------------------------------------------------


@login_required
@never_cache
@require_safe
def batches(request: HttpRequest, slug: str) -> HttpResponse:
    """Rounds by state: for controllers first those that wait for them. Managers also see the forms to cut and plan.

    With `?part=cut` only what the choices in the query string would cut.
    """
    user = signed_in(request)
    if request.GET.get("part") == "cut":
        project = labelling_project(user, slug, Capability.CONFIGURE)
        return HttpResponse(
            escape(_describe_form_cut(CutForm(request.GET), cutting.unbatched_tasks(project).count()))
        )
    return _render_list(request, user, batches_project_for(user, slug))


def _describe_form_cut(form: CutForm, unbatched: int) -> str:
    """Of a form with choices; empty if the size is not valid."""
    if "size" in form.errors:
        return ""
    return describe_cut(unbatched, form.cleaned_data["size"], with_rest=form.cleaned_data["with_rest"])


def _render_list(request: HttpRequest, user: User, project: Project, **bound: Any) -> HttpResponse:
    granted = capabilities_of(user, project)
    plan, counts, rows = batch_plan_for(project), Boards(project).by_state(), rounds_with_counts(project)
    waiting = rows.filter(waits_for(user)).count() if Capability.REVIEW in granted else 0
    state = request.GET.get("state") or (WAITING if waiting else EVERY_STATE)
    if state == WAITING:
        rows = rows.filter(waits_for(user))
    elif state in RoundState:
        rows = rows.filter(state=state)
    sorting = chosen_sorting(request.GET, COLUMNS, OLDEST if state == WAITING else NEWEST)
    context: dict[str, Any] = {
        "project": project,
        "title": _("Batches"),
        "page": sorted_page(with_judged(with_last_step(rows)), sorting, request.GET.get("before"), SHOWN),
        "sorting": sorting,
        "counts": counts,
        "is_cut": any(counts.values()),
        "waiting": waiting,
        "state": state,
        "states": RoundState.choices,
        "plan": plan,
        "percents": deciding_percents(plan),
        "configures": Capability.CONFIGURE in granted,
        "judges": Capability.REVIEW in granted,
        "measures": Capability.READ_STATISTICS in granted,
    }
    if Capability.CONFIGURE in granted:
        unbatched = cutting.unbatched_tasks(project).count()
        context |= {
            "unbatched": unbatched,
            "imports": Capability.IMPORT in granted,
            "cut_form": CutForm(initial={"size": plan.batch_size}),
            "cut_words": (
                _describe_form_cut(bound["cut_form"], unbatched)
                if "cut_form" in bound
                else describe_cut(unbatched, plan.batch_size, with_rest=True)
            ),
            "plan_form": PlanForm(instance=plan, project=project),
        }
        if not unbatched and "cut_form" not in bound:
            context |= {
                "has_dialogues": Dialogue.objects.filter(project=project).exists(),
                "has_tasks": Task.objects.filter(project=project).exists(),
            }
    context |= bound
    failed = any(form.is_bound for form in bound.values())
    return render(request, "batch_review/batches.html", context, status=422 if failed else 200)


@require_POST
@login_required
def cut(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.CONFIGURE)
    form = CutForm(request.POST)
    if form.is_valid():
        try:
            batches = cutting.cut_batches(project=project, actor=user, **form.cleaned_data)
        except Refusal as refusal:
            form.add_error(None, str(refusal))
        else:
            words = ngettext("%(n)s batch is cut.", "%(n)s batches are cut.", len(batches))
            messages.success(request, words % {"n": intcomma(len(batches))})
            return redirect("batches", slug)
    return _render_list(request, user, project, cut_form=form)


@require_POST
@login_required
def plan(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.CONFIGURE)
    form = PlanForm(request.POST, instance=batch_plan_for(project), project=project)
    if not form.is_valid():
        return _render_list(request, user, project, plan_form=form)
    try:
        update_batch_plan(project=project, actor=user, changes=form.cleaned_data)
    except Refusal as refusal:
        form.add_error(refusal.details.get("field"), str(refusal))
        return _render_list(request, user, project, plan_form=form)
    messages.success(request, _("Saved. It applies to samples drawn from now on."))
    return redirect("batches", slug)


urlpatterns = [
    path("p/<slug:slug>/batches/", batches, name="batches"),
    path("p/<slug:slug>/batches/cut/", cut, name="batches_cut"),
    path("p/<slug:slug>/batches/plan/", plan, name="batches_plan"),
]
