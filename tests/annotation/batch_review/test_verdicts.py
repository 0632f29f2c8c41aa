"""Accepting and returning a batch."""

from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Sample
from annotation.batch_review.selectors.sample_progress import (
    class_estimate,
    controller_progress,
    sample_progress,
)
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import Task, TaskState
from common.refusals import Invalid, Refusal
from measures.acceptance import batch_accuracy
from measures.batch_verdict import BatchVerdict, ClassTally
from measures.estimate import Estimate
from projects.models import Project
from tests.annotation.batch_review.conftest import (
    cut_one_batch,
    judge_all,
    judge_item,
    label_next,
    latest_round,
    sample_items,
)


def code(refused: pytest.ExceptionInfo[Refusal]) -> str:
    return refused.value.code


def test_three_of_four_pass(drawn: Sample, carla: User) -> None:
    judge_all(carla, drawn, wrong=1)
    ended = accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    assert (ended.state, ended.figures["share"], ended.figures["early"]) == (
        RoundState.ACCEPTED,
        "3/4",
        False,
    )


def test_one_failing_class_fails_the_batch(quality: Project, anna: User, carla: User) -> None:
    BatchPlan.objects.update(class_percent=90)
    batch = cut_one_batch(quality, 4)
    label_next(quality, anna, [2, 2, 2, 1])
    sample = draw_sample(controller=carla, round_id=latest_round(batch).pk, sample_id=uuid4())
    for item in sample_items(sample):
        judge_item(carla, item, right=item.label == "2")
    progress = sample_progress(sample)
    assert (progress.right, progress.judged, progress.decision) == (3, 4, BatchVerdict.RETURN)
    assert class_estimate(progress.tallies[0], progress.tallies, hides_drawn=False).value == 0


def test_the_only_class_has_the_interval_of_the_batch(quality: Project, anna: User, carla: User) -> None:
    """Before the verdict, when the sizes of classes are a secret, and after it."""
    batch = cut_one_batch(quality, 8)
    label_next(quality, anna, [2] * 8)
    sample = draw_sample(controller=carla, round_id=latest_round(batch).pk, sample_id=uuid4())
    for item in sample_items(sample)[:3]:
        judge_item(carla, item, right=True)
    before = estimate_of_the_only_class(carla, sample)
    assert before.low is not None
    assert before.low >= 3 / 8
    accept_round(controller=carla, round_id=sample.round_id, decision_id=uuid4())
    assert estimate_of_the_only_class(carla, Sample.objects.get()) == before


def estimate_of_the_only_class(controller: User, sample: Sample) -> Estimate:
    seen = controller_progress(controller, sample)
    [estimate] = [row.estimate for row in seen.classes if row.judged]
    assert estimate == seen.progress.accuracy
    return estimate


def test_a_class_of_secret_size_counts_as_large_as_it_can_be() -> None:
    """Everything that is not judged in another class may be of this one."""
    tallies = [ClassTally("1", 2, 1, 1, 3), ClassTally("2", 2, 2, 1, 5)]
    assert class_estimate(tallies[1], tallies, hides_drawn=True) == batch_accuracy(1, 2, 7)
    assert class_estimate(tallies[1], tallies, hides_drawn=False) == batch_accuracy(1, 2, 5)


def test_classes_are_a_secret_of_a_blind_sample_until_all_of_it_is_judged(drawn: Sample, carla: User) -> None:
    *first, last = sample_items(drawn)
    for item in first:
        judge_item(carla, item, right=True)
    assert {one.population for one in controller_progress(carla, drawn).classes} == {None}
    judge_item(carla, last, right=True)
    known = {one.label: one.population for one in controller_progress(carla, drawn).classes}
    assert known == drawn.classes


def test_the_sample_decides_the_verdict(quality: Project, drawn: Sample, carla: User) -> None:
    judge_all(carla, drawn)
    with pytest.raises(Refusal) as refused:
        return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="I want to.")
    assert code(refused) == "passes"
    Sample.objects.update(is_blind=False)  # the last judgements count
    for item in sample_items(drawn):
        judge_item(carla, item, right=False)
    with pytest.raises(Refusal) as refused:
        accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    assert code(refused) == "fails"


def test_an_early_verdict_needs_a_rest_that_cannot_change_it(drawn: Sample, carla: User) -> None:
    judge_item(carla, sample_items(drawn)[0], right=False)
    with pytest.raises(Refusal) as refused:
        return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Bad.")
    assert code(refused) == "not_decided"
    judge_item(carla, sample_items(drawn)[1], right=False)
    return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Two of four.")
    ended = Round.objects.get(pk=drawn.round_id)
    assert (ended.state, ended.figures["judged"], ended.figures["early"]) == (RoundState.RETURNED, 2, True)


def test_a_verdict_is_given_once(drawn: Sample, carla: User, chris: User) -> None:
    judge_all(carla, drawn, wrong=4)
    decision_id = uuid4()
    first = return_round(controller=carla, round_id=drawn.round_id, decision_id=decision_id, reason="Wrong.")
    repeated = return_round(
        controller=carla, round_id=drawn.round_id, decision_id=decision_id, reason="Wrong."
    )
    assert first == repeated
    with pytest.raises(Refusal) as refused:
        accept_round(controller=chris, round_id=drawn.round_id, decision_id=uuid4())
    assert code(refused) == "not_in_review"
    assert Task.objects.filter(round=first).count() == 8
    with pytest.raises(Refusal) as refused:
        judge_item(carla, sample_items(drawn)[0], right=True)
    assert code(refused) == "not_in_review"


def test_returning_needs_a_reason(drawn: Sample, carla: User) -> None:
    judge_all(carla, drawn, wrong=4)
    with pytest.raises(Invalid):
        return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason=" ")


def test_a_crash_before_the_withdrawal_undoes_the_verdict(
    drawn: Sample, carla: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(row: Round) -> int:
        raise OSError("the plug was pulled")

    judge_all(carla, drawn, wrong=4)
    monkeypatch.setattr("annotation.batch_review.services.verdicts.withdraw_labels", crash)
    with pytest.raises(OSError, match="plug"):
        return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Wrong.")
    assert Round.objects.get(pk=drawn.round_id).state == RoundState.IN_REVIEW
    assert set(Task.objects.values_list("state", flat=True)) == {TaskState.FINAL}


def test_an_id_belongs_to_one_verdict(quality: Project, anna: User, drawn: Sample, carla: User) -> None:
    judge_all(carla, drawn, wrong=4)
    used = uuid4()
    following = return_round(controller=carla, round_id=drawn.round_id, decision_id=used, reason="Wrong.")
    with pytest.raises(Refusal) as refused:
        accept_round(controller=carla, round_id=drawn.round_id, decision_id=used)
    assert code(refused) == "id_in_use"
    label_next(quality, anna, [2] * 8)
    with pytest.raises(Refusal) as refused:
        draw_sample(controller=carla, round_id=following.pk, sample_id=drawn.pk)
    assert code(refused) == "id_in_use"
    repeated = draw_sample(controller=carla, round_id=following.pk, sample_id=uuid4())
    judge_all(carla, repeated)
    with pytest.raises(Refusal) as refused:
        accept_round(controller=carla, round_id=following.pk, decision_id=used)
    assert code(refused) == "id_in_use"


def test_a_small_stratified_sample_is_not_decided_before_it_is_judged(
    quality: Project, anna: User, carla: User
) -> None:
    BatchPlan.objects.update(is_stratified=True, sample_size=2)
    batch = cut_one_batch(quality, 6)
    label_next(quality, anna, [2, 2, 2, 1, 1, 0])
    sample = draw_sample(controller=carla, round_id=latest_round(batch).pk, sample_id=uuid4())
    assert sample_progress(sample).decision is BatchVerdict.OPEN
    assert sorted(item.label for item in sample_items(sample)) == ["0", "1", "2"]
    judge_all(carla, sample)
    assert sample_progress(sample).decision is BatchVerdict.ACCEPT


def test_a_repeated_verdict_must_be_the_same(drawn: Sample, carla: User, chris: User) -> None:
    judge_all(carla, drawn)
    verdict: dict[str, Any] = {"round_id": drawn.round_id, "decision_id": uuid4()}
    accepted = accept_round(controller=carla, reason="Good work.", **verdict)
    assert accept_round(controller=carla, reason="Good work.", **verdict) == accepted
    for controller, reason in ((carla, "Fine."), (chris, "Good work.")):
        with pytest.raises(Refusal) as refused:
            accept_round(controller=controller, reason=reason, **verdict)
        assert code(refused) == "id_in_use"
