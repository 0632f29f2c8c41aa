"""One batch: its rounds, what its sample says, and what can be done with it now."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.batch_review.models import Sample
from annotation.batch_review.selectors.access import batches_project_for, round_for
from annotation.batch_review.selectors.batch_plan import batch_plan_for, deciding_percents
from annotation.batch_review.selectors.eligibility import next_batch_for
from annotation.batch_review.selectors.reviewed_items import (
    ReviewedItem,
    confusion_matrix,
    controller_agreement,
    reviewed_items,
)
from annotation.batch_review.selectors.rounds import rounds_with_counts, with_last_step
from annotation.batch_review.selectors.sample_progress import (
    count_left,
    hides_classes,
    sample_progress,
)
from annotation.batch_review.selectors.undoing import (
    UNDO_MINUTES,
    reason_of_undone_return,
    refuse_undo_of_acceptance,
    refuse_undo_of_return,
    undo_until,
    verdict_shows_secrets,
)
from annotation.batch_review.selectors.visibility import later_judgements, visible_items
from annotation.batch_review.services import regrouping, sealing, undoing, verdicts
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.labelling.selectors.schemas import load_schema
from annotation.tasks.models.rounds import Round, RoundState
from common.refusals import Invalid, NotFound, Refusal
from frontend.charts.acceptance import draw_operating_characteristic
from frontend.pages.batch_review.corrections import appeals_by_item, build_correction
from frontend.pages.batch_review.verdict_words import count_right, describe_class, describe_verdict
from frontend.pages.requests import posted_uuid, signed_in
from frontend.ui.labels import answer_in_words
from frontend.ui.paging import parse_number
from measures.batch_verdict import BatchVerdict
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of, groups_of

CORRECTIONS_SHOWN = 50


@login_required
@never_cache
@require_safe
def batch(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The newest round, or the one that `?round=` names."""
    user = signed_in(request)
    return _render_batch(request, user, batches_project_for(user, slug), number)


def _render_batch(
    request: HttpRequest, user: User, project: Project, number: int, refusal: Refusal | None = None
) -> HttpResponse:
    rounds = list(with_last_step(rounds_with_counts(project).filter(batch__number=number)))
    if not rounds:
        raise NotFound(_("There is no such batch."), _("Go back to the list."))
    granted, latest, plan = capabilities_of(user, project), rounds[0], batch_plan_for(project)
    wanted = parse_number(request.GET.get("round"))
    shown = next((row for row in rounds if row.number == wanted), latest)
    context: dict[str, Any] = {
        "project": project,
        "title": _("Batch %(n)d") % {"n": number},
        "number": number,
        "latest": latest,
        "rounds": rounds,
        "shown": shown,
        "plan": plan,
        "plan_percents": deciding_percents(plan),
        "groups": groups_of(project),
        "configures": Capability.CONFIGURE in granted,
        "judges": Capability.REVIEW in granted,
        "decides": Capability.DECIDE in granted,
        "request_id": request.POST.get("request_id") or uuid4(),
        "refusal": refusal,
        "manages_members": Capability.MANAGE_MEMBERS in granted,
    }
    if latest.state == RoundState.OPEN:
        context["has_annotators"] = regrouping.has_annotators(project, latest.group)
        if not context["has_annotators"]:
            context["project_lacks_annotators"] = not regrouping.has_annotators(project, "")
    if context["judges"]:
        has_work = latest.state in (RoundState.SEALED, RoundState.IN_REVIEW)
        context["next_batch"] = None if has_work else next_batch_for(user, project)
        context["undo"] = _find_undo(rounds)
    sample = getattr(shown, "sample", None)
    if sample is not None:
        sample.round = shown
        context |= _describe_sample(user, sample)
    if _has_verdict_form(context):
        context["undo_minutes"] = 0 if verdict_shows_secrets(latest) else UNDO_MINUTES
        if not context["accepts"]:
            context["reason"] = request.POST.get("reason", reason_of_undone_return(latest))
    if refusal and not _has_reason_form(context):
        context["unsent"] = request.POST.get("reason", "")
    status = refusal.status if refusal else 200
    return render(request, "batch_review/batch/batch.html", context, status=status)


@dataclass(frozen=True, slots=True)
class Undo:
    """The verdict that can be undone until then. refusal: why it cannot, although it is not yet too late."""

    row: Round
    until: datetime
    refusal: Refusal | None


def _find_undo(rounds: Sequence[Round]) -> Undo | None:
    """Of the newest verdict on the batch. rounds: the newest first."""
    latest = rounds[0]
    row = next((one for one in rounds[:2] if one.ended_at), None)
    until = undo_until(row) if row else None
    if row is None or until is None:
        return None
    if row.state == RoundState.RETURNED:
        return Undo(row, until, refuse_undo_of_return(row, latest))
    return Undo(row, until, refuse_undo_of_acceptance(row))


def _has_verdict_form(context: dict[str, Any]) -> bool:
    """Whether the page offers to accept or to return the batch."""
    is_decided = context.get("decision", BatchVerdict.OPEN) is not BatchVerdict.OPEN
    return bool(context["judges"] and context["latest"].state == RoundState.IN_REVIEW and is_decided)


def _has_reason_form(context: dict[str, Any]) -> bool:
    """Whether a form on the page asks for a reason and so shows a refused one again."""
    returns = _has_verdict_form(context) and not context["accepts"]
    return bool(returns or (context["latest"].state == RoundState.SEALED and context["configures"]))


def _describe_sample(user: User, sample: Sample) -> dict[str, Any]:
    """What the sample says. Until all of it is judged, nothing here reveals the label of a single dialogue."""
    reviewed = reviewed_items(sample)
    drawn = visible_items(user, sample, reviewed)
    progress = sample_progress(sample, drawn)
    names = class_names(sample, drawn)
    is_over = progress.judged == progress.sample or sample.round.ended_at is not None
    hidden = hides_classes(sample, progress)
    classes = [
        describe_class(
            names.get(tally.label, tally.label),
            tally,
            sample,
            progress,
            hidden=hidden,
        )
        # Listing a class that has only unjudged dialogues would reveal the label of the last one.
        for tally in progress.tallies
        if tally.judged or (is_over and tally.sample)
    ]
    return {
        "sample": sample,
        "percents": deciding_percents(sample),
        "progress": progress,
        "is_over": is_over,
        "left": 0 if is_over else count_left(user, sample, reviewed),
        "hides_classes": hidden,
        "decision": progress.decision,
        "accepts": progress.decision is BatchVerdict.ACCEPT,
        "classes": classes,
        "wrong": progress.judged - progress.right,
        "count_right": count_right(progress.accuracy, sample.population),
        "verdict": describe_verdict(sample.round, sample, progress, classes, names, hidden=hidden),
        "curve": draw_operating_characteristic(sample, progress),
        "changed_later": len(later_judgements(one for entry in drawn for one in entry.judgements)),
        "pairs": controller_agreement(drawn),
        **(_describe_errors(drawn, sample, names) if is_over else {}),
    }


def class_names(sample: Sample, drawn: Sequence[ReviewedItem]) -> dict[str, str]:
    """Classes in words, "2 · high", as the newest of the schemas has them."""
    schemas = {one.item.final.schema_id: one.item.final.schema for one in drawn}
    found = (load_schema(schemas[key]).by_key.get(sample.question) for key in sorted(schemas, reverse=True))
    question = next((one for one in found if one), None)
    return (
        {str(option.value): answer_in_words(question, option.value) for option in question.options}
        if question
        else {}
    )


def _describe_errors(drawn: Sequence[ReviewedItem], sample: Sample, words: dict[str, str]) -> dict[str, Any]:
    """The confusion matrix and the corrected labels, for a sample that is judged completely or an ended round."""
    matrix = confusion_matrix(drawn, sample.question)
    names = sorted({name for pair in matrix for name in pair})
    wrong = [(one.item, one.deciding) for one in drawn if one.deciding and not one.deciding.is_right]
    shown = wrong[:CORRECTIONS_SHOWN]
    appeals = appeals_by_item(item for item, _judged in shown)
    later = later_judgements(judged for _item, judged in shown)
    return {
        "matrix_names": [words.get(name, name) for name in names],
        "matrix": [
            (words.get(name, name), [(matrix.get((name, other), 0), name == other) for other in names])
            for name in names
        ],
        "corrections": [
            build_correction(item, judged, appeals.get(item.pk), later=later.get(judged.pk))
            for item, judged in shown
        ],
        "more_corrections": len(wrong) - len(shown),
    }


def _change_round(
    request: HttpRequest,
    slug: str,
    pk: int,
    change: Callable[[User, Round], object],
    *any_of: Capability,
    success: str = "",
) -> HttpResponse:
    """Call a service on a round and return to the batch. A refusal is shown on the batch, which then is up to date."""
    user = signed_in(request)
    row = round_for(user, pk, *any_of)
    if row.project.slug != slug:
        raise NotFound(_("There is no such batch."), _("Go back to the list."))
    try:
        change(user, row)
    except Refusal as refusal:
        return _render_batch(request, user, row.project, row.batch.number, refusal)
    if success:
        messages.success(request, success)
    return redirect("batch", slug, row.batch.number)


@require_POST
@login_required
def seal(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def change(user: User, row: Round) -> object:
        return sealing.seal_round(actor=user, round_id=row.pk)

    return _change_round(request, slug, pk, change, Capability.CONFIGURE, success=_("The batch is sealed."))


@require_POST
@login_required
def unseal(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def change(user: User, row: Round) -> object:
        return sealing.unseal_round(actor=user, round_id=row.pk, reason=request.POST.get("reason", ""))

    return _change_round(
        request, slug, pk, change, Capability.CONFIGURE, success=_("The batch is open again.")
    )


@require_POST
@login_required
def regroup(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def change(user: User, row: Round) -> object:
        return regrouping.regroup_round(actor=user, round_id=row.pk, group=request.POST.get("group", ""))

    return _change_round(request, slug, pk, change, Capability.CONFIGURE, success=_("Saved."))


@require_POST
@login_required
def draw(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def change(user: User, row: Round) -> object:
        return draw_sample(controller=user, round_id=row.pk, sample_id=posted_uuid(request, "request_id"))

    response = _change_round(request, slug, pk, change, Capability.REVIEW)
    number = Round.objects.values_list("batch__number", flat=True).get(pk=pk)
    return redirect("sample", slug, number) if response.status_code == 302 else response


@require_POST
@login_required
def accept(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def change(user: User, row: Round) -> object:
        reason = request.POST.get("reason", "")
        return verdicts.accept_round(
            controller=user, round_id=row.pk, decision_id=posted_uuid(request, "request_id"), reason=reason
        )

    success = _("Accepted: its labels can be exported.")
    return _change_round(request, slug, pk, change, Capability.REVIEW, success=success)


@require_POST
@login_required
def give_back(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    def change(user: User, row: Round) -> object:
        _check_confirmed(request.POST.get("confirm", ""), row)
        group = request.POST.get("group", "plan")
        return verdicts.return_round(
            controller=user,
            round_id=row.pk,
            decision_id=posted_uuid(request, "request_id"),
            reason=request.POST.get("reason", ""),
            group=None if group == "plan" else group,
        )

    success = _("Returned: its labels are withdrawn, and the next round is open.")
    return _change_round(request, slug, pk, change, Capability.REVIEW, success=success)


def _check_confirmed(typed: str, row: Round) -> None:
    """Raise Invalid unless the number of labels that are withdrawn was typed: 2000 or 2,000."""
    count = row.tasks.count()
    if re.sub(r"\D", "", typed) != str(count):
        raise Invalid(
            _("Type %(n)d to confirm that all labels of this batch are withdrawn.") % {"n": count},
            field="confirm",
        )


@require_POST
@login_required
def undo_acceptance(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    success = _("The acceptance is undone: the batch waits for its verdict again.")
    return _undo_verdict(request, slug, pk, undoing.undo_acceptance, success)


@require_POST
@login_required
def undo_return(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    success = _("The return is undone: the labels count again.")
    return _undo_verdict(request, slug, pk, undoing.undo_return, success)


def _undo_verdict(
    request: HttpRequest, slug: str, pk: int, undo: Callable[..., Round], success: str
) -> HttpResponse:
    def change(user: User, row: Round) -> object:
        return undo(controller=user, round_id=row.pk, decision_id=posted_uuid(request, "decision_id"))

    return _change_round(request, slug, pk, change, Capability.REVIEW, success=success)


urlpatterns = [
    path("p/<slug:slug>/batches/<int:number>/", batch, name="batch"),
    path("p/<slug:slug>/rounds/<int:pk>/seal/", seal, name="round_seal"),
    path("p/<slug:slug>/rounds/<int:pk>/unseal/", unseal, name="round_unseal"),
    path("p/<slug:slug>/rounds/<int:pk>/group/", regroup, name="round_group"),
    path("p/<slug:slug>/rounds/<int:pk>/draw/", draw, name="round_draw"),
    path("p/<slug:slug>/rounds/<int:pk>/accept/", accept, name="round_accept"),
    path("p/<slug:slug>/rounds/<int:pk>/return/", give_back, name="round_return"),
    path("p/<slug:slug>/rounds/<int:pk>/undo-acceptance/", undo_acceptance, name="round_undo_acceptance"),
    path("p/<slug:slug>/rounds/<int:pk>/undo-return/", undo_return, name="round_undo_return"),
]
