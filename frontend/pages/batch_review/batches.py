"""Batches: what they are doing, and one batch with what its sample says and its verdict."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Sample
from annotation.batch_review.selectors.access import batches_project_for, round_for
from annotation.batch_review.selectors.batch_plan import batch_plan_for, checkable_questions
from annotation.batch_review.selectors.boards import Boards
from annotation.batch_review.selectors.reviewed_items import (
    ReviewedItem,
    confusion_matrix,
    controller_agreement,
    reviewed_items,
)
from annotation.batch_review.selectors.rounds import rounds_with_counts
from annotation.batch_review.selectors.sample_progress import acceptance_curve, sample_progress
from annotation.batch_review.selectors.visibility import visible_items
from annotation.batch_review.services import cutting, regrouping, sealing, verdicts
from annotation.batch_review.services.batch_plan import PLAN_FIELDS, update_batch_plan
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.settings import labelling_project
from annotation.tasks.models.rounds import Round, RoundState
from common.refusals import NotFound, Refusal
from frontend.charts import plots
from frontend.charts.plots import Mark
from frontend.pages import signed_in
from frontend.pages.batch_review.appeals import appeals_on, correction_of, request_id
from frontend.ui.labels import in_language, words_of
from frontend.ui.paging import keyset_page, number_in
from measures.verdict import Decision
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of, groups_of

SHOWN = 30
CORRECTIONS = 50


class PlanForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = BatchPlan
        fields = PLAN_FIELDS
        widgets = {"relabel": forms.RadioSelect}

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        asked = [(one.key, in_language(one.text)) for one in checkable_questions(project)]
        choices = [*asked, ("", _("all compared answers"))]
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
    """Every round, the newest first, or those of one state; for who configures the project, cutting and the plan."""
    user = signed_in(request)
    return _render_list(request, user, batches_project_for(user, slug))


def _render_list(request: HttpRequest, user: User, project: Project, **bound: Any) -> HttpResponse:
    granted = capabilities_of(user, project)
    plan, counts, rows = batch_plan_for(project), Boards(project).by_state(), rounds_with_counts(project)
    state = request.GET.get("state", "")
    if state in RoundState:
        rows = rows.filter(state=state)
    context: dict[str, Any] = {
        "project": project,
        "title": _("Batches"),
        "page": keyset_page(rows, request.GET.get("before"), SHOWN),
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
    return render(request, "batch_review/batches/list.html", context, status=422 if failed else 200)


@require_POST
@login_required
def cut(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.CONFIGURE)
    form = CutForm(request.POST)
    if form.is_valid():
        try:
            made = cutting.cut_batches(project=project, actor=user, **form.cleaned_data)
        except Refusal as refusal:
            form.add_error(None, str(refusal))
        else:
            told = ngettext("%(n)d batch is cut.", "%(n)d batches are cut.", len(made))
            messages.success(request, told % {"n": len(made)})
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
    messages.success(request, _("Saved. It holds for samples that are drawn from now on."))
    return redirect("batches", slug)


# ---- one batch -------------------------------------------------------------------------------------------------------


@login_required
@never_cache
@require_safe
def batch(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """A batch: how far its labels are, what its sample says, the verdict, and the rounds before."""
    user = signed_in(request)
    return _render_batch(request, user, batches_project_for(user, slug), number)


def _render_batch(
    request: HttpRequest, user: User, project: Project, number: int, refusal: Refusal | None = None
) -> HttpResponse:
    rounds = list(rounds_with_counts(project).filter(batch__number=number))
    if not rounds:
        raise NotFound(_("There is no such batch."), _("Go back to the list."))
    granted, latest = capabilities_of(user, project), rounds[0]
    wanted = number_in(request.GET.get("round"))
    shown = next((one for one in rounds if one.number == wanted), latest)
    context: dict[str, Any] = {
        "project": project,
        "title": _("Batch %(n)d") % {"n": number},
        "number": number,
        "latest": latest,
        "rounds": rounds,
        "shown": shown,
        "plan": batch_plan_for(project),
        "groups": groups_of(project),
        "configures": Capability.CONFIGURE in granted,
        "judges": Capability.REVIEW in granted,
        "decides": Capability.DECIDE in granted,
        "request_id": request.POST.get("request_id") or uuid4(),
        "refusal": refusal,
        "has_annotators": regrouping.has_annotators(project, latest.group),
    }
    sample = getattr(shown, "sample", None)
    if sample is not None:
        sample.round = shown
        context |= _reviewed(user, sample)
    if refusal and not _asks_why(context):
        context["unsent"] = request.POST.get("reason", "")
    status = refusal.status if refusal else 200
    return render(request, "batch_review/batches/batch.html", context, status=status)


def _asks_why(context: dict[str, Any]) -> bool:
    """Whether the page has a form with a reason, so that one that was refused is in it again."""
    state = context["latest"].state
    returns = context["judges"] and context.get("decision") is Decision.RETURN
    opens = context["configures"]
    return bool((state == RoundState.IN_REVIEW and returns) or (state == RoundState.SEALED and opens))


def _reviewed(user: User, sample: Sample) -> dict[str, Any]:
    """What the sample says. Before all of it is judged, nothing here tells the label of a single dialogue."""
    drawn = visible_items(user, sample, reviewed_items(sample))
    standing = sample_progress(sample, drawn)
    names = class_names(sample, drawn)
    is_over = standing.judged == standing.sample or sample.round.ended_at is not None
    return {
        "sample": sample,
        "standing": standing,
        "is_over": is_over,
        "decision": standing.decision,
        "accepts": standing.decision is Decision.ACCEPT,
        # That a class was drawn at all would tell the label of the last dialogue.
        "classes": [
            (names.get(tally.label, tally.label), tally, standing.by_class[tally.label])
            for tally in standing.tallies
            if tally.judged or (is_over and tally.sample)
        ],
        "curve": curve_of(sample, len(drawn)),
        "pairs": controller_agreement(drawn),
        **(_seen_after(drawn, sample, names) if is_over else {}),
    }


def class_names(sample: Sample, drawn: Sequence[ReviewedItem]) -> dict[str, str]:
    """Classes as people read them: "2 · high". The newest schema's words."""
    schemas = {one.item.final.schema_id: one.item.final.schema for one in drawn}
    found = (load_schema(schemas[key]).by_key.get(sample.question) for key in sorted(schemas, reverse=True))
    question = next((one for one in found if one), None)
    return (
        {str(option.value): words_of(question, option.value) for option in question.options}
        if question
        else {}
    )


def _seen_after(drawn: Sequence[ReviewedItem], sample: Sample, words: dict[str, str]) -> dict[str, Any]:
    """The confusion matrix, and the labels that were corrected."""
    matrix = confusion_matrix(drawn, sample.question)
    names = sorted({name for pair in matrix for name in pair})
    wrong = [(one.item, one.deciding) for one in drawn if one.deciding and not one.deciding.is_right]
    shown = wrong[:CORRECTIONS]
    said = appeals_on(item for item, _judged in shown)
    return {
        "matrix_names": [words.get(name, name) for name in names],
        "matrix": [
            (words.get(name, name), [(matrix.get((name, other), 0), name == other) for other in names])
            for name in names
        ],
        "corrections": [correction_of(item, judged, said.get(item.pk)) for item, judged in shown],
        "more_corrections": len(wrong) - len(shown),
    }


def curve_of(sample: Sample, size: int) -> str:
    """The operating characteristic: how likely the plan accepts a batch of each true accuracy."""
    points = acceptance_curve(sample, size)
    labels = [f"{100 * point.accuracy:g}" for point in points]
    marks: list[Mark | None] = [
        Mark(100 * point.probability, f"{label} %: {100 * point.probability:.1f} %")
        for label, point in zip(labels, points, strict=True)
    ]
    title = _("How likely is a batch of each accuracy accepted?")
    return plots.lines(labels, [marks], x=_("true accuracy of the batch (%)"), y="%", description=title)


def _acts(
    request: HttpRequest,
    slug: str,
    pk: int,
    act: Callable[[User, Round], object],
    *any_of: Capability,
    told: str = "",
) -> HttpResponse:
    """Do one thing to a round; a refusal is shown on the batch's page with what is true now."""
    user = signed_in(request)
    row = round_for(user, pk, *any_of)
    if row.project.slug != slug:
        raise NotFound(_("There is no such batch."), _("Go back to the list."))
    try:
        act(user, row)
    except Refusal as refusal:
        return _render_batch(request, user, row.project, row.batch.number, refusal)
    if told:
        messages.success(request, told)
    return redirect("batch", slug, row.batch.number)


@require_POST
@login_required
def seal(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def act(user: User, row: Round) -> object:
        return sealing.seal_round(actor=user, round_id=row.pk)

    return _acts(request, slug, pk, act, Capability.CONFIGURE, told=_("The batch is sealed."))


@require_POST
@login_required
def unseal(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def act(user: User, row: Round) -> object:
        return sealing.unseal_round(actor=user, round_id=row.pk, reason=request.POST.get("reason", ""))

    return _acts(request, slug, pk, act, Capability.CONFIGURE, told=_("The batch is open again."))


@require_POST
@login_required
def regroup(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def act(user: User, row: Round) -> object:
        return regrouping.regroup_round(actor=user, round_id=row.pk, group=request.POST.get("group", ""))

    return _acts(request, slug, pk, act, Capability.CONFIGURE, told=_("Saved."))


@require_POST
@login_required
def draw(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def act(user: User, row: Round) -> object:
        return draw_sample(controller=user, round_id=row.pk, sample_id=request_id(request))

    answer = _acts(request, slug, pk, act, Capability.REVIEW)
    number = Round.objects.values_list("batch__number", flat=True).get(pk=pk)
    return redirect("sample", slug, number) if answer.status_code == 302 else answer


@require_POST
@login_required
def accept(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def act(user: User, row: Round) -> object:
        reason = request.POST.get("reason", "")
        return verdicts.accept_round(
            controller=user, round_id=row.pk, decision_id=request_id(request), reason=reason
        )

    told = _("Accepted: its labels may leave.")
    return _acts(request, slug, pk, act, Capability.REVIEW, told=told)


@require_POST
@login_required
def give_back(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def act(user: User, row: Round) -> object:
        group = request.POST.get("group", "plan")
        return verdicts.return_round(
            controller=user,
            round_id=row.pk,
            decision_id=request_id(request),
            reason=request.POST.get("reason", ""),
            group=None if group == "plan" else group,
        )

    told = _("Returned: its labels are withdrawn, and the next round is open.")
    return _acts(request, slug, pk, act, Capability.REVIEW, told=told)


urlpatterns = [
    path("p/<slug:slug>/batches/", batches, name="batches"),
    path("p/<slug:slug>/batches/cut/", cut, name="batches_cut"),
    path("p/<slug:slug>/batches/plan/", plan, name="batches_plan"),
    path("p/<slug:slug>/batches/<int:number>/", batch, name="batch"),
    path("p/<slug:slug>/rounds/<int:pk>/seal/", seal, name="round_seal"),
    path("p/<slug:slug>/rounds/<int:pk>/unseal/", unseal, name="round_unseal"),
    path("p/<slug:slug>/rounds/<int:pk>/group/", regroup, name="round_group"),
    path("p/<slug:slug>/rounds/<int:pk>/draw/", draw, name="round_draw"),
    path("p/<slug:slug>/rounds/<int:pk>/accept/", accept, name="round_accept"),
    path("p/<slug:slug>/rounds/<int:pk>/return/", give_back, name="round_return"),
]
