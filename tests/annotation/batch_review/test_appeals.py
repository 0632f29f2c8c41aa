"""Appeals against corrections, and what annotators learn from a sample."""

from uuid import uuid4

import pytest

from accounts.models import User
from annotation.batch_review.models import Sample
from annotation.batch_review.selectors.annotator_accuracy import judged_answers, judged_items_of
from annotation.batch_review.selectors.reviewed_items import confusion_matrix, reviewed_items
from annotation.batch_review.selectors.sample_progress import sample_progress
from annotation.batch_review.services.appeals import raise_appeal, settle_appeal
from annotation.batch_review.services.verdicts import return_round
from annotation.labelling.models.labels import FinalLabel
from common.refusals import Refusal
from measures.batch_verdict import BatchVerdict
from projects.models import Project
from tests.annotation.batch_review.conftest import (
    judge_all,
    sample_items,
)


def code(refused: pytest.ExceptionInfo[Refusal]) -> str:
    return refused.value.code


def test_an_upheld_appeal_changes_the_verdict(drawn: Sample, anna: User, carla: User, tina: User) -> None:
    judge_all(carla, drawn, wrong=2)
    assert sample_progress(drawn).decision is BatchVerdict.RETURN
    appeal = raise_appeal(
        by=anna, item_id=sample_items(drawn)[0].pk, appeal_id=uuid4(), reason="It names the step."
    )
    with pytest.raises(Refusal) as refused:
        return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Bad.")
    assert code(refused) == "open_appeals"
    settle_appeal(trainer=tina, appeal_id=appeal.pk, upheld=True, settlement="It does.")
    assert sample_progress(drawn).right == 3


def test_a_rejected_appeal_changes_nothing(drawn: Sample, anna: User, carla: User, tina: User) -> None:
    judge_all(carla, drawn, wrong=2)
    appeal = raise_appeal(by=anna, item_id=sample_items(drawn)[0].pk, appeal_id=uuid4(), reason="No.")
    settle_appeal(trainer=tina, appeal_id=appeal.pk, upheld=False, settlement="Read page 2.")
    assert sample_progress(drawn).right == 2


def test_nobody_settles_their_own_case(drawn: Sample, anna: User, carla: User, tina: User) -> None:
    judge_all(tina, drawn, wrong=2)
    appeal = raise_appeal(by=anna, item_id=sample_items(drawn)[0].pk, appeal_id=uuid4(), reason="No.")
    with pytest.raises(Refusal) as refused:
        settle_appeal(trainer=tina, appeal_id=appeal.pk, upheld=True, settlement="Hm.")
    assert code(refused) == "own_case"


def test_a_trainer_who_decided_the_label_does_not_settle(
    drawn: Sample, anna: User, carla: User, tina: User
) -> None:
    judge_all(carla, drawn, wrong=2)
    item = sample_items(drawn)[0]
    FinalLabel.objects.filter(pk=item.final_id).update(decided_by=tina)
    appeal = raise_appeal(by=anna, item_id=item.pk, appeal_id=uuid4(), reason="No.")
    with pytest.raises(Refusal) as refused:
        settle_appeal(trainer=tina, appeal_id=appeal.pk, upheld=True, settlement="I said so.")
    assert code(refused) == "own_case"


def test_a_right_label_cannot_be_disputed(drawn: Sample, anna: User, carla: User) -> None:
    judge_all(carla, drawn)
    with pytest.raises(Refusal) as refused:
        raise_appeal(by=anna, item_id=sample_items(drawn)[0].pk, appeal_id=uuid4(), reason="Why?")
    assert code(refused) == "not_corrected"


def test_the_confusion_matrix_follows_an_upheld_appeal(
    drawn: Sample, anna: User, carla: User, tina: User
) -> None:
    judge_all(carla, drawn, wrong=1)
    appeal = raise_appeal(
        by=anna, item_id=sample_items(drawn)[0].pk, appeal_id=uuid4(), reason="It names the step."
    )
    settle_appeal(trainer=tina, appeal_id=appeal.pk, upheld=True, settlement="It does.")
    counted = confusion_matrix(reviewed_items(drawn), "quality")
    assert (
        sum(n for (label, right), n in counted.items() if label == right) == sample_progress(drawn).right == 4
    )


def test_annotators_see_the_right_answers_after_the_verdict(
    quality: Project, drawn: Sample, anna: User, carla: User
) -> None:
    judge_all(carla, drawn, wrong=2)
    assert not judged_items_of(anna, quality).exists()  # not before the verdict
    return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Bad.")
    answers = judged_answers(anna, list(judged_items_of(anna, quality)))
    assert [answer.was_right for answer in answers] == [False, False, True, True]
    assert answers[0].reason == "Look again."


def test_an_appeal_is_raised_once(drawn: Sample, anna: User, carla: User) -> None:
    judge_all(carla, drawn, wrong=2)
    first, second, *_others = sample_items(drawn)
    appeal = raise_appeal(by=anna, item_id=first.pk, appeal_id=uuid4(), reason="It names the step.")
    repeated = raise_appeal(by=anna, item_id=first.pk, appeal_id=appeal.pk, reason=" It names the step. ")
    assert repeated == appeal
    for item, reason in ((first, "It names both steps."), (second, "It names the step.")):
        with pytest.raises(Refusal) as refused:
            raise_appeal(by=anna, item_id=item.pk, appeal_id=appeal.pk, reason=reason)
        assert code(refused) == "id_in_use"
