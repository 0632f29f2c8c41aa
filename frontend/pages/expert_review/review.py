"""Expert review: read finished dialogues without knowing the author, pass or veto them, undo."""

from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.authoring.selectors.settings import authoring_settings_of
from annotation.expert_review import selectors
from annotation.expert_review.services import (
    MAX_REASON,
    Remark,
    claim_next_review,
    submit_verdict,
    withdraw_verdict,
)
from common.refusals import Refusal
from dialogues.models import Dialogue
from frontend.pages.requests import posted_uuid, signed_in
from frontend.ui.dialogues import content_language
from frontend.ui.paging import parse_number
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

VERDICTS_SHOWN = 20
REMARK = "remark-"  # in a form: remark-<position>


@login_required
@never_cache
@require_safe
def review(request: HttpRequest, slug: str) -> HttpResponse:
    """The progress of the review, what comes next, and the reader's latest verdicts."""
    user = signed_in(request)
    project = reviewed_project(user, slug)
    context = {
        "project": project,
        "title": _("Review"),
        "counts": selectors.review_counts(project),
        "waiting": selectors.waiting_counts_for(user, project),
        "claim": selectors.live_claim_of(user, project),
        "claim_id": uuid4(),
        "today": selectors.count_own_verdicts_today(user, project),
        "experts": project.authoring.experts_required,
        "verdicts": selectors.own_verdicts(user, project)[:VERDICTS_SHOWN],
    }
    return render(request, "expert_review/review.html", context)


def reviewed_project(user: User, slug: str) -> Project:
    project = project_for(user, slug, Capability.REVIEW)
    authoring_settings_of(project)  # refuses other protocols
    return project


@login_required
@never_cache
@require_safe
def review_dialogue(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    user = signed_in(request)
    return _show(request, user, _dialogue_in(user, slug, dialogue_id))


def _dialogue_in(user: User, slug: str, dialogue_id: int) -> Dialogue:
    dialogue = selectors.dialogue_to_review(user, dialogue_id)
    if dialogue.project.slug != slug:
        raise selectors.dialogue_not_found()
    return dialogue


def _show(
    request: HttpRequest, user: User, dialogue: Dialogue, refusal: Refusal | None = None
) -> HttpResponse:
    """The workbench. refusal: why the verdict was not stored; the form shows its texts again."""
    project = dialogue.project
    own, last = selectors.own_review(user, dialogue), selectors.own_verdicts(user, project).first()
    reason, remarks = _texts(user, dialogue, request.POST if refusal else None)
    rows = selectors.utterances_to_review(dialogue)
    context: dict[str, Any] = {
        "project": project,
        "dialogue": dialogue,
        "utterances": [row | {"remark": remarks.get(row["position"], "")} for row in rows],
        "rounds": len(rows) // 2,
        "dialogue_lang": content_language(project) or dialogue.language.removeprefix("mul"),
        "own": own if own and own.verdict else None,
        "review_id": own.pk if own and not own.verdict else uuid4(),
        "reason": reason,
        "longest": MAX_REASON,
        "last": last if last and last.dialogue_id != dialogue.pk else None,
        "experts": project.authoring.experts_required,
        "readers": selectors.count_verdicts_on(dialogue),
        "more": selectors.available_dialogues_for(user, project).exclude(pk=dialogue.pk).count(),
        "today": selectors.count_own_verdicts_today(user, project),
        "claim_id": uuid4(),
        "refusal": refusal,
    }
    return render(request, "expert_review/dialogue.html", context, status=refusal.status if refusal else 200)


def _texts(user: User, dialogue: Dialogue, sent: QueryDict | None) -> tuple[str, dict[int, str]]:
    """The reason, and remarks by position: those just sent, or those of the newest own verdict, even if undone."""
    if sent is not None:
        return sent.get("reason", ""), {remark.position: remark.text for remark in _remarks(sent)}
    earlier = selectors.latest_own_verdict(user, dialogue)
    if earlier is None:
        return "", {}
    return earlier.reason, {remark["position"]: remark["text"] for remark in earlier.remarks}


def _remarks(sent: QueryDict) -> list[Remark]:
    texts = [(name.removeprefix(REMARK), text) for name, text in sent.items() if name.startswith(REMARK)]
    by_position = [(parse_number(position), str(text)) for position, text in texts]
    return [Remark(position, text) for position, text in by_position if position is not None and text.strip()]


@require_POST
@login_required
def next_review(request: HttpRequest, slug: str) -> HttpResponse:
    """Claim and open the next dialogue; `skip` names one to leave for later."""
    user = signed_in(request)
    project = reviewed_project(user, slug)
    claim_id = posted_uuid(request, "claim_id")
    return _open_next(request, user, project, claim_id, parse_number(request.POST.get("skip")))


def _open_next(
    request: HttpRequest, user: User, project: Project, claim_id: UUID, skip: int | None = None
) -> HttpResponseRedirect:
    try:
        claim = claim_next_review(reviewer=user, project=project, claim_id=claim_id, skip=skip)
    except Refusal as refusal:
        if refusal.code != "nothing_to_review":
            raise
        return redirect("review", project.slug)  # that page gives the reason
    if claim.dialogue_id == skip:
        messages.info(request, _("No other dialogue waits for you."))
    return redirect("review_dialogue", project.slug, claim.dialogue_id)


@require_POST
@login_required
def give_verdict(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    """Store the verdict and open the next dialogue, where the verdict can be undone."""
    user = signed_in(request)
    dialogue = _dialogue_in(user, slug, dialogue_id)
    review_id = posted_uuid(request, "id")
    try:
        submit_verdict(
            reviewer=user,
            dialogue_id=dialogue.pk,
            review_id=review_id,
            verdict=request.POST.get("verdict", ""),
            reason=request.POST.get("reason", ""),
            remarks=_remarks(request.POST),
        )
    except Refusal as refusal:
        return _show(request, user, dialogue, refusal)
    # Sending the same form twice opens the same next dialogue.
    return _open_next(request, user, dialogue.project, uuid5(NAMESPACE_URL, f"after:{review_id}"))


@require_POST
@login_required
def undo_verdict(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    """Return to the dialogue with the texts in the form."""
    user = signed_in(request)
    dialogue = _dialogue_in(user, slug, dialogue_id)
    withdraw_verdict(reviewer=user, dialogue_id=dialogue.pk)
    messages.success(request, _("Verdict undone. Your words are still here."))
    return redirect("review_dialogue", slug, dialogue_id)


@require_POST
@login_required
def leave_review(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    """Release the dialogue without a verdict, so that another expert can review it."""
    user = signed_in(request)
    dialogue = _dialogue_in(user, slug, dialogue_id)
    own = selectors.own_review(user, dialogue)
    if own and not own.verdict:
        withdraw_verdict(reviewer=user, dialogue_id=dialogue.pk)
    return redirect("review", slug)


urlpatterns = [
    path("p/<slug:slug>/review/", review, name="review"),
    path("p/<slug:slug>/review/next/", next_review, name="review_next"),
    path("p/<slug:slug>/review/<int:dialogue_id>/", review_dialogue, name="review_dialogue"),
    path("p/<slug:slug>/review/<int:dialogue_id>/verdict/", give_verdict, name="review_verdict"),
    path("p/<slug:slug>/review/<int:dialogue_id>/undo/", undo_verdict, name="review_undo"),
    path("p/<slug:slug>/review/<int:dialogue_id>/leave/", leave_review, name="review_leave"),
]
