"""Experts judge finished dialogues. One veto removes a dialogue from the data (Diamante, Appendix B.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.expert_review.models import ExpertReview, Verdict
from annotation.expert_review.selectors import (
    available_dialogues_for,
    check_authoring_project,
    check_not_own,
    dialogue_not_found,
    dialogues_to_review,
    live_claim_of,
    review_counts,
)
from annotation.tasks.services.reasons import clean_reason
from common import clock
from common.idempotency import check_repeat
from common.refusals import Invalid, NotAllowed, Refusal
from dialogues.models import REVIEW_MOVES, Dialogue, DialogueState, ReviewState
from projects.models import Membership, Project
from projects.roles import Capability
from projects.selectors import capabilities_of
from projects.transitions import move, record

CLAIMED_FOR = timedelta(minutes=30)
MAX_REASON = 4000


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment on one utterance."""

    position: int
    text: str


@transaction.atomic
def claim_next_review(
    *, reviewer: User, project: Project, claim_id: UUID, skip: int | None = None
) -> ExpertReview:
    """Give the expert the oldest dialogue that still needs one, never their own. The same claim_id: the same claim.

    skip: a dialogue to leave for later. Its claim is given back, and the dialogues after it are offered first.
    Raises NotFound (a labelling project), NotAllowed, or Refusal: id_in_use, nothing_to_review
    (details["claimed"]: how many others are reading).
    """
    _check_role(reviewer, project)
    check_authoring_project(project)
    # Serialises two tabs of one expert, and two sends of one claim.
    Membership.objects.select_for_update().get(user=reviewer, project=project)
    if stored := ExpertReview.objects.select_related("dialogue").filter(pk=claim_id).first():
        check_repeat(stored, reviewer_id=reviewer.pk)
        check_repeat(stored.dialogue, project_id=project.pk)
        return stored
    if skip is not None:
        _open_claims(reviewer).filter(dialogue=skip).delete()
    if claim := live_claim_of(reviewer, project):
        return claim
    dialogue = _next_dialogue(reviewer, project, skip)
    if dialogue is None:
        raise _nothing_to_review(project)
    # An expired claim of this reviewer makes room for the new one.
    _open_claims(reviewer).filter(dialogue=dialogue).delete()
    return ExpertReview.objects.create(
        id=claim_id, dialogue=dialogue, reviewer=reviewer, claimed_until=clock.now() + CLAIMED_FOR
    )


def _open_claims(reviewer: User) -> QuerySet[ExpertReview]:
    return ExpertReview.objects.filter(reviewer=reviewer, superseded_at=None, verdict="")


def _check_role(reviewer: User, project: Project) -> None:
    if Capability.REVIEW not in capabilities_of(reviewer, project):
        raise NotAllowed(
            _("You are not a reviewer in this project."),
            _("Ask its manager for the role “Quality controller” or “Trainer”."),
        )


def _next_dialogue(reviewer: User, project: Project, skip: int | None) -> Dialogue | None:
    """Lock the next dialogue: those written here before imported ones, oldest first."""
    ready = available_dialogues_for(reviewer, project)
    waiting = ready.select_for_update(skip_locked=True, no_key=True, of=("self",)).order_by("origin", "id")
    found = waiting.filter(pk__gt=skip).first() if skip is not None else None
    found = found or waiting.first()
    # A claim does not change the locked row. Only a new statement sees a claim that was committed during the wait.
    while found is not None and not ready.filter(pk=found.pk).exists():
        found = waiting.filter(pk__gt=found.pk).first()
    return found


def _nothing_to_review(project: Project) -> Refusal:
    waiting = dialogues_to_review(project).count()
    if waiting:
        return Refusal(
            "nothing_to_review",
            ngettext(
                "The dialogue that waits is your own, or somebody else is reading it.",
                "The %(n)s dialogues that wait are your own, or others are reading them.",
                waiting,
            )
            % {"n": intcomma(waiting)},
            _("Try again later."),
            details={"claimed": waiting},
        )
    counts = review_counts(project)
    none_finished = _("No dialogue is finished yet.")
    all_reviewed = _("Every finished dialogue has been reviewed.")
    if counts.left_out:
        none_finished = _("No dialogue that was written here is finished yet.")
        all_reviewed = _("Every dialogue that was written here has been reviewed.")
    message = all_reviewed if counts.reviewed else none_finished
    return Refusal("nothing_to_review", message, _("New ones appear as they are finished."))


@transaction.atomic
def submit_verdict(
    *,
    reviewer: User,
    dialogue_id: int,
    review_id: UUID,
    verdict: str,
    reason: str = "",
    remarks: Sequence[Remark] = (),
) -> ExpertReview:
    """Pass or veto a dialogue. The same review_id again returns the stored verdict; a new id replaces it.

    review_id: of the reviewer's claim, or made by the client. Raises Invalid (a veto without a reason, a remark on a
    missing utterance), NotFound, NotAllowed, or Refusal: not_finished, id_in_use.
    """
    dialogue = _lock_dialogue(reviewer, dialogue_id)
    stored = ExpertReview.objects.filter(pk=review_id).first()
    if stored:
        check_repeat(stored, reviewer_id=reviewer.pk, dialogue_id=dialogue.pk)
    reason, cleaned = _clean(dialogue, verdict, reason, remarks)
    sent = {"verdict": verdict, "reason": reason, "remarks": cleaned}
    if stored and stored.verdict:
        check_repeat(stored, **sent)
        return stored
    review = _store_verdict(reviewer, dialogue, review_id, sent)
    _update_review_state(dialogue, actor=reviewer, reason=reason)
    return review


def _store_verdict(reviewer: User, dialogue: Dialogue, review_id: UUID, sent: dict[str, Any]) -> ExpertReview:
    """Store the verdict in place of the reviewer's claim or earlier verdict."""
    now = clock.now()
    live = ExpertReview.objects.filter(dialogue=dialogue, reviewer=reviewer, superseded_at=None)
    live.exclude(pk=review_id).update(superseded_at=now)
    decided = {**sent, "decided_at": now, "claimed_until": None, "superseded_at": None}
    review, _created = ExpertReview.objects.update_or_create(
        id=review_id,
        defaults=decided,
        create_defaults={"dialogue": dialogue, "reviewer": reviewer, **decided},
    )
    return review


@transaction.atomic
def withdraw_verdict(*, reviewer: User, dialogue_id: int) -> Dialogue:
    """Undo one's own verdict, or give a claim back; the dialogue waits for an expert again. Safe to repeat."""
    dialogue = _lock_dialogue(reviewer, dialogue_id)
    live = ExpertReview.objects.filter(dialogue=dialogue, reviewer=reviewer, superseded_at=None)
    if live.update(superseded_at=clock.now(), claimed_until=None):
        _update_review_state(dialogue, actor=reviewer, reason="withdrawn")
    return dialogue


@transaction.atomic
def acknowledge_veto(*, author: User, dialogue_id: int) -> None:
    """Record that the author has read why the dialogue was vetoed. It leaves the list of vetoed dialogues."""
    vetoes = ExpertReview.objects.filter(
        dialogue=dialogue_id,
        dialogue__assignments__annotator=author,
        verdict=Verdict.VETO,
        seen_by_author_at=None,
    )
    ExpertReview.objects.filter(pk__in=vetoes.values("pk")).update(seen_by_author_at=clock.now())


def _lock_dialogue(reviewer: User, dialogue_id: int) -> Dialogue:
    rows = Dialogue.objects.select_for_update(no_key=True, of=("self",)).select_related("project__authoring")
    dialogue = rows.filter(pk=dialogue_id).first()
    if dialogue is None or not capabilities_of(reviewer, dialogue.project):
        raise dialogue_not_found()
    _check_role(reviewer, dialogue.project)
    check_authoring_project(dialogue.project)
    check_not_own(reviewer, dialogue)
    if dialogue.state != DialogueState.FINISHED:
        raise Refusal(
            "not_finished",
            _("Its author has taken this dialogue back."),
            _("It comes up again when it is finished."),
        )
    return dialogue


def _clean(
    dialogue: Dialogue, verdict: str, reason: str, remarks: Sequence[Remark]
) -> tuple[str, list[dict[str, object]]]:
    """Return the reason and the remarks as they are stored. Raises Invalid."""
    if verdict not in Verdict.values:
        raise Invalid(_("A verdict is “pass” or “veto”."), field="verdict")
    reason = clean_reason(reason, most=MAX_REASON)
    texts = [clean_reason(remark.text, most=MAX_REASON, field="remarks") for remark in remarks]
    strays = [remark.position for remark in remarks if not 0 <= remark.position < dialogue.utterance_count]
    if strays:
        raise Invalid(_("The dialogue has no utterance %(n)d.") % {"n": strays[0] + 1}, field="remarks")
    cleaned: list[dict[str, object]] = [
        {"position": remark.position, "text": text}
        for remark, text in zip(remarks, texts, strict=True)
        if text
    ]
    if verdict == Verdict.VETO and not reason and not cleaned:
        raise Invalid(
            _("A veto needs a reason, for the dialogue or for one of its utterances."),
            _("Say what is wrong: its author will read it."),
            field="reason",
        )
    return reason, cleaned


def _update_review_state(dialogue: Dialogue, *, actor: User, reason: str) -> None:
    """Derive the review state from the live verdicts. The caller holds the dialogue's lock."""
    verdicts = list(
        ExpertReview.objects.filter(dialogue=dialogue, superseded_at=None)
        .exclude(verdict="")
        .values_list("verdict", flat=True)
    )
    if Verdict.VETO in verdicts:
        state = ReviewState.VETOED
    elif len(verdicts) >= dialogue.project.authoring.experts_required:
        state = ReviewState.PASSED
    else:
        state = ReviewState.UNREVIEWED
    if state == dialogue.review_state:
        record(dialogue, kind="verdict", project=dialogue.project, actor=actor, reason=reason, after=state)
        return
    move(
        dialogue,
        to=state,
        moves=REVIEW_MOVES,
        project=dialogue.project,
        actor=actor,
        reason=reason,
        kind="review",
        field="review_state",
    )
