"""The batches of a project, cutting new ones, and the plan by which they are reviewed."""

from decimal import Decimal
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.batch_review.models import BatchPlan
from annotation.batch_review.selectors.access import batches_project_for
from annotation.batch_review.selectors.batch_plan import batch_plan_for, checkable_questions
from annotation.batch_review.selectors.boards import Boards
from annotation.batch_review.selectors.rounds import rounds_with_counts
from annotation.batch_review.services import cutting
from annotation.batch_review.services.batch_plan import PLAN_FIELDS, update_batch_plan
from annotation.labelling.selectors.settings import labelling_project
from annotation.tasks.models.rounds import RoundState
from common.refusals import Refusal
from frontend.pages.requests import signed_in
from frontend.ui.labels import in_language
from frontend.ui.sorting import Column, chosen_sorting, sorted_page
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

SHOWN = 30
NEWEST = "-opened"
COLUMNS = {
    "opened": Column("pk", falls_first=True),
    "batch": Column("batch__number"),
    "group": Column("group"),
    "labelled": Column("done", falls_first=True),
    "step": Column(Coalesce("ended_at", "sealed_at", "opened_at"), falls_first=True),
}


class PlanForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = BatchPlan
        fields = PLAN_FIELDS
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
    """The newest rounds first; `?state=` filters. Who configures the project also sees the forms to cut and plan."""
    user = signed_in(request)
    return _render_list(request, user, batches_project_for(user, slug))


def _render_list(request: HttpRequest, user: User, project: Project, **bound: Any) -> HttpResponse:
    granted = capabilities_of(user, project)
    plan, counts, rows = batch_plan_for(project), Boards(project).by_state(), rounds_with_counts(project)
    sorting = chosen_sorting(request.GET, COLUMNS, NEWEST)
    state = request.GET.get("state", "")
    if state in RoundState:
        rows = rows.filter(state=state)
    context: dict[str, Any] = {
        "project": project,
        "title": _("Batches"),
        "page": sorted_page(rows, sorting, request.GET.get("before"), SHOWN),
        "sorting": sorting,
        "counts": counts,
        "is_cut": any(counts.values()),
        "state": state,
        "states": RoundState.choices,
        "plan": plan,
        "configures": Capability.CONFIGURE in granted,
        "judges": Capability.REVIEW in granted,
        "measures": Capability.READ_STATISTICS in granted,
    }
    if Capability.CONFIGURE in granted:
        context |= {
            "unbatched": cutting.unbatched_tasks(project).count(),
            "cut_form": CutForm(initial={"size": plan.batch_size}),
            "plan_form": PlanForm(instance=plan, project=project),
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
    update_batch_plan(project=project, actor=user, changes=form.cleaned_data)
    messages.success(request, _("Saved. It applies to samples drawn from now on."))
    return redirect("batches", slug)


urlpatterns = [
    path("p/<slug:slug>/batches/", batches, name="batches"),
    path("p/<slug:slug>/batches/cut/", cut, name="batches_cut"),
    path("p/<slug:slug>/batches/plan/", plan, name="batches_plan"),
]
