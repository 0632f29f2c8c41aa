"""Experts pass or veto finished dialogues."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.models import User
from annotation.authoring.selectors.queue import vetoed_assignments
from annotation.authoring.services.completion import finish_dialogue, take_back_dialogue
from annotation.authoring.services.settings import update_authoring
from annotation.expert_review.models import ExpertReview
from annotation.expert_review.selectors import (
    WaitingCounts,
    deciding_verdicts_on,
    is_being_judged,
    review_counts,
    waiting_counts_for,
)
from annotation.expert_review.services import (
    Remark,
    acknowledge_veto,
    claim_next_review,
    submit_verdict,
    withdraw_verdict,
)
from annotation.overview.selectors import overviews
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Invalid, NotAllowed, Refusal
from dialogues.models import Dialogue, DialogueState, Origin, ReviewState
from projects.models import Event, Project, Role


@pytest.fixture
def finished(anns_assignment: Assignment, writes: Callable[..., object]) -> Dialogue:
    """Ann's dialogue of seven rounds."""
    for position in range(14):
        writes(anns_assignment, f"utterance {position}", position)
    return finish_dialogue(annotator=anns_assignment.annotator, assignment_id=anns_assignment.pk).dialogue


def state_of(dialogue: Dialogue) -> str:
    return Dialogue.objects.get(pk=dialogue.pk).review_state


def veto(reviewer: User, dialogue: Dialogue, reason: str = "contradicts itself") -> ExpertReview:
    return submit_verdict(
        reviewer=reviewer, dialogue_id=dialogue.pk, review_id=uuid4(), verdict="veto", reason=reason
    )


def passes(reviewer: User, dialogue: Dialogue) -> ExpertReview:
    return submit_verdict(reviewer=reviewer, dialogue_id=dialogue.pk, review_id=uuid4(), verdict="pass")


def test_carlos_is_given_the_finished_dialogue(finished: Dialogue, carlos: User, project: Project) -> None:
    claim = claim_next_review(reviewer=carlos, project=project, claim_id=uuid4())
    assert (claim.dialogue, claim.verdict) == (finished, "")
    assert claim_next_review(reviewer=carlos, project=project, claim_id=uuid4()) == claim


def test_while_carlos_reads_tina_is_given_nothing(
    finished: Dialogue, carlos: User, project: Project, joins: Callable[..., User]
) -> None:
    tina = joins("tina", project, Role.TRAINER)
    claim_next_review(reviewer=carlos, project=project, claim_id=uuid4())
    with pytest.raises(Refusal) as refused:
        claim_next_review(reviewer=tina, project=project, claim_id=uuid4())
    assert refused.value.details == {"claimed": 1}


def test_nobody_reviews_their_own_work(
    finished: Dialogue, ann: User, project: Project, joins: Callable[..., User]
) -> None:
    joins("ann", project, Role.ANNOTATOR, Role.CONTROLLER)
    with pytest.raises(Refusal):
        claim_next_review(reviewer=ann, project=project, claim_id=uuid4())
    with pytest.raises(NotAllowed):
        passes(ann, finished)


def test_an_annotator_may_not_review(finished: Dialogue, bob: User) -> None:
    with pytest.raises(NotAllowed):
        passes(bob, finished)


def test_one_expert_is_enough_by_default(finished: Dialogue, carlos: User) -> None:
    passes(carlos, finished)
    assert state_of(finished) == ReviewState.PASSED


def test_a_project_can_require_two_experts(
    finished: Dialogue, carlos: User, project: Project, joins: Callable[..., User]
) -> None:
    project.authoring.experts_required = 2
    project.authoring.save()
    passes(carlos, finished)
    assert state_of(finished) == ReviewState.UNREVIEWED
    passes(joins("tina", project, Role.TRAINER), finished)
    assert state_of(finished) == ReviewState.PASSED


def test_one_veto_outweighs_every_pass(
    finished: Dialogue, carlos: User, project: Project, joins: Callable[..., User]
) -> None:
    passes(carlos, finished)
    veto(joins("tina", project, Role.TRAINER), finished)
    assert state_of(finished) == ReviewState.VETOED


def test_a_veto_needs_a_reason(finished: Dialogue, carlos: User) -> None:
    with pytest.raises(Invalid):
        veto(carlos, finished, reason="  ")
    submit_verdict(
        reviewer=carlos,
        dialogue_id=finished.pk,
        review_id=uuid4(),
        verdict="veto",
        remarks=[Remark(3, "Rude.")],
    )
    assert state_of(finished) == ReviewState.VETOED


def test_a_remark_needs_its_utterance(finished: Dialogue, carlos: User) -> None:
    with pytest.raises(Invalid):
        submit_verdict(
            reviewer=carlos,
            dialogue_id=finished.pk,
            review_id=uuid4(),
            verdict="veto",
            remarks=[Remark(14, "Rude.")],
        )
    assert state_of(finished) == ReviewState.UNREVIEWED


def test_the_author_reads_the_reason_but_not_the_name(
    finished: Dialogue, carlos: User, ann: User, project: Project
) -> None:
    veto(carlos, finished, reason="The cat becomes a dog.")
    (back,) = vetoed_assignments(ann, project)
    (review,) = back.dialogue.vetoes  # type: ignore[attr-defined]  # prefetched under this name
    assert review.reason == "The cat becomes a dog."
    assert "reviewer_id" in review.get_deferred_fields()
    acknowledge_veto(author=ann, dialogue_id=finished.pk)
    assert ExpertReview.objects.get(pk=review.pk).seen_by_author_at is not None
    assert not vetoed_assignments(ann, project)
    assert vetoed_assignments(ann, project, read=True).get() == back


def test_a_verdict_sent_twice_is_one_verdict(finished: Dialogue, carlos: User) -> None:
    sent: dict[str, Any] = {
        "reviewer": carlos,
        "dialogue_id": finished.pk,
        "review_id": uuid4(),
        "verdict": "pass",
    }
    assert submit_verdict(**sent) == submit_verdict(**sent)
    assert ExpertReview.objects.count() == 1


def test_a_changed_verdict_keeps_the_old_one_as_history(finished: Dialogue, carlos: User) -> None:
    first = veto(carlos, finished)
    passes(carlos, finished)
    assert state_of(finished) == ReviewState.PASSED
    first.refresh_from_db()
    assert first.superseded_at is not None
    assert Event.objects.filter(subject_type="dialogues.dialogue", kind="review").count() == 2


def test_a_verdict_can_be_withdrawn(finished: Dialogue, carlos: User, project: Project) -> None:
    veto(carlos, finished)
    for _ in range(2):  # safe to repeat
        withdraw_verdict(reviewer=carlos, dialogue_id=finished.pk)
    assert state_of(finished) == ReviewState.UNREVIEWED
    assert claim_next_review(reviewer=carlos, project=project, claim_id=uuid4()).dialogue == finished


def test_a_dialogue_that_an_expert_reads_cannot_be_taken_back(
    finished: Dialogue, carlos: User, ann: User, project: Project, anns_assignment: Assignment
) -> None:
    claim_next_review(reviewer=carlos, project=project, claim_id=uuid4())
    with pytest.raises(Refusal) as refused:
        take_back_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    assert refused.value.code == "under_review"


def test_a_dialogue_that_was_taken_back_cannot_be_judged(
    finished: Dialogue, carlos: User, ann: User, anns_assignment: Assignment
) -> None:
    take_back_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    with pytest.raises(Refusal) as refused:
        passes(carlos, finished)
    assert refused.value.code == "not_finished"


def test_bobs_dialogue_and_anns_are_claimed_in_order(
    finished: Dialogue, bob: User, carlos: User, project: Project, writes: Callable[..., object]
) -> None:
    bobs = claim_next_task(annotator=bob, project=project, claim_id=uuid4())
    for position in range(14):
        writes(bobs, f"utterance {position}", position)
    finish_dialogue(annotator=bob, assignment_id=bobs.pk)
    passes(carlos, claim_next_review(reviewer=carlos, project=project, claim_id=uuid4()).dialogue)
    assert claim_next_review(reviewer=carlos, project=project, claim_id=uuid4()).dialogue == bobs.dialogue


@pytest.fixture
def bobs(finished: Dialogue, bob: User, project: Project, writes: Callable[..., object]) -> Dialogue:
    """A second dialogue, finished after Ann's."""
    assignment = claim_next_task(annotator=bob, project=project, claim_id=uuid4())
    for position in range(14):
        writes(assignment, f"utterance {position}", position)
    return finish_dialogue(annotator=bob, assignment_id=assignment.pk).dialogue


def test_a_skipped_dialogue_comes_after_the_others(
    finished: Dialogue, bobs: Dialogue, carlos: User, project: Project
) -> None:
    def claim(skip: int | None = None) -> Dialogue:
        return claim_next_review(reviewer=carlos, project=project, claim_id=uuid4(), skip=skip).dialogue

    assert [claim(), claim(finished.pk), claim(bobs.pk)] == [finished, bobs, finished]


def test_a_skipped_dialogue_is_free_for_others(
    finished: Dialogue, bobs: Dialogue, carlos: User, project: Project, joins: Callable[..., User]
) -> None:
    claim_next_review(reviewer=carlos, project=project, claim_id=uuid4())
    claim_next_review(reviewer=carlos, project=project, claim_id=uuid4(), skip=finished.pk)
    tina = joins("tina", project, Role.TRAINER)
    assert claim_next_review(reviewer=tina, project=project, claim_id=uuid4()).dialogue == finished


def test_every_waiting_dialogue_is_counted_once(
    finished: Dialogue, bobs: Dialogue, ann: User, carlos: User, project: Project, joins: Callable[..., User]
) -> None:
    assert waiting_counts_for(carlos, project) == WaitingCounts(ready=2, own=0, judged=0, taken=0)
    joins("ann", project, Role.ANNOTATOR, Role.CONTROLLER)
    assert waiting_counts_for(ann, project) == WaitingCounts(ready=1, own=1, judged=0, taken=0)
    claim_next_review(reviewer=carlos, project=project, claim_id=uuid4())
    tina = joins("tina", project, Role.TRAINER)
    assert waiting_counts_for(tina, project) == WaitingCounts(ready=1, own=0, judged=0, taken=1)
    project.authoring.experts_required = 2
    project.authoring.save()
    passes(carlos, finished)
    assert waiting_counts_for(carlos, project) == WaitingCounts(ready=1, own=0, judged=1, taken=0)
    assert waiting_counts_for(tina, project) == WaitingCounts(ready=2, own=0, judged=0, taken=0)


def test_an_expired_claim_is_free_for_others(
    finished: Dialogue, carlos: User, project: Project, joins: Callable[..., User]
) -> None:
    claim_next_review(reviewer=carlos, project=project, claim_id=uuid4())
    ExpertReview.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    tina = joins("tina", project, Role.TRAINER)
    assert waiting_counts_for(tina, project).ready == 1
    assert claim_next_review(reviewer=tina, project=project, claim_id=uuid4()).dialogue == finished


@pytest.fixture
def imported(project: Project) -> Dialogue:
    return Dialogue.objects.create(
        project=project, origin=Origin.IMPORTED, state=DialogueState.FINISHED, split="train"
    )


def test_imported_dialogues_are_reviewed_only_if_the_project_is_set_so(
    imported: Dialogue, carlos: User, mara: User, project: Project
) -> None:
    with pytest.raises(Refusal) as refused:
        claim_next_review(reviewer=carlos, project=project, claim_id=uuid4())
    assert refused.value.message == "No dialogue that was written here is finished yet."
    assert waiting_counts_for(carlos, project) == WaitingCounts(ready=0, own=0, judged=0, taken=0)
    assert (review_counts(project).total, review_counts(project).left_out) == (0, 1)
    assert overviews(carlos, [project])[project.pk].unreviewed == 0
    update_authoring(project=project, actor=mara, changes={"review_imported": True})
    assert overviews(carlos, [project])[project.pk].unreviewed == 1
    assert (review_counts(project).unreviewed, review_counts(project).left_out) == (1, 0)
    assert claim_next_review(reviewer=carlos, project=project, claim_id=uuid4()).dialogue == imported


def test_an_imported_dialogue_that_was_judged_counts(
    imported: Dialogue, carlos: User, project: Project
) -> None:
    passes(carlos, imported)
    counts = review_counts(project)
    assert (counts.passed, counts.left_out) == (1, 0)


def test_the_refusal_says_that_nothing_is_finished_yet(project: Project, carlos: User) -> None:
    with pytest.raises(Refusal) as refused:
        claim_next_review(reviewer=carlos, project=project, claim_id=uuid4())
    assert refused.value.message == "No dialogue is finished yet."


def test_the_author_sees_the_deciding_verdicts_without_names(
    finished: Dialogue, carlos: User, project: Project, joins: Callable[..., User]
) -> None:
    assert not is_being_judged(finished)
    assert list(deciding_verdicts_on(finished)) == []
    passes(joins("tina", project, Role.TRAINER), finished)
    veto(carlos, finished, "contradicts itself")
    finished.refresh_from_db()
    assert is_being_judged(finished)
    assert [review.reason for review in deciding_verdicts_on(finished)] == ["contradicts itself"]
    assert "reviewer_id" in deciding_verdicts_on(finished)[0].get_deferred_fields()


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"verdict": "veto", "reason": "Rude."}, "verdict"), ({"reason": "Fine."}, "reason")],
)
def test_a_used_review_id_is_refused_with_another_verdict(
    finished: Dialogue, carlos: User, changed: dict[str, Any], field: str
) -> None:
    sent: dict[str, Any] = {"reviewer": carlos, "dialogue_id": finished.pk, "review_id": uuid4()}
    submit_verdict(**sent, verdict="pass")
    with pytest.raises(Refusal) as refused:
        submit_verdict(**sent, **{"verdict": "pass", **changed})
    assert (refused.value.code, refused.value.details) == ("id_in_use", {"field": field})
    assert state_of(finished) == ReviewState.PASSED


def test_a_review_id_of_another_expert_is_refused(
    finished: Dialogue, carlos: User, project: Project, joins: Callable[..., User]
) -> None:
    claim = claim_next_review(reviewer=carlos, project=project, claim_id=uuid4())
    tina = joins("tina", project, Role.TRAINER)
    with pytest.raises(Refusal) as refused:
        submit_verdict(reviewer=tina, dialogue_id=finished.pk, review_id=claim.pk, verdict="pass")
    assert refused.value.code == "id_in_use"
