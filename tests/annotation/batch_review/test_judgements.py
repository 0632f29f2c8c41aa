"""Judging the drawn dialogues of a sample."""

from uuid import uuid4

import pytest

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Judgement, LaterJudgement, Sample
from annotation.batch_review.selectors.eligibility import items_left_for
from annotation.batch_review.selectors.reviewed_items import confusion_matrix, reviewed_items
from annotation.batch_review.selectors.sample_progress import sample_progress
from annotation.batch_review.selectors.visibility import later_judgements
from annotation.batch_review.services.judgements import SentJudgement, judge
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.labelling.models.labels import FinalLabel
from annotation.tasks.models.rounds import Round
from common.refusals import Invalid, Refusal
from projects.models import Project, Role
from projects.services import set_member
from tests.annotation.batch_review.conftest import (
    judge_all,
    judge_item,
    sample_items,
)


def code(refused: pytest.ExceptionInfo[Refusal]) -> str:
    return refused.value.code


def test_olga_does_not_judge_her_own_work(quality: Project, anna: User, sealed: Round, drawn: Sample) -> None:
    set_member(project=quality, actor=None, user=anna, roles=[Role.ANNOTATOR, Role.CONTROLLER])
    assert not items_left_for(anna, drawn).exists()
    with pytest.raises(Refusal) as refused:
        judge_item(anna, sample_items(drawn)[0], right=True)
    assert code(refused) == "own_work"


def test_a_controller_does_not_judge_what_they_decided(drawn: Sample, carla: User) -> None:
    item, *_others = sample_items(drawn)
    FinalLabel.objects.filter(pk=item.final_id).update(decided_by=carla)
    assert item not in items_left_for(carla, drawn)
    with pytest.raises(Refusal) as refused:
        judge_item(carla, item, right=True)
    assert code(refused) == "own_work"


def test_the_first_look_counts_in_a_blind_sample(drawn: Sample, carla: User) -> None:
    item, *_others = sample_items(drawn)
    first = judge_item(carla, item, right=False)
    for _change in range(2):  # the label is known now
        assert judge_item(carla, item, right=True) == first
    progress = sample_progress(drawn)
    assert (progress.judged, progress.right) == (1, 0)
    assert list(confusion_matrix(reviewed_items(drawn), "quality")) == [
        (item.label, str(2 - int(item.label) // 2))
    ]
    assert Judgement.objects.get(item=item) == first
    assert later_judgements([first])[first.pk].is_right


def test_a_reason_may_follow_after_the_label_was_shown(drawn: Sample, carla: User) -> None:
    item, *_others = sample_items(drawn)
    first = judge_item(carla, item, right=False)
    sent = SentJudgement(id=uuid4(), answers=first.answers, reason="Nothing is answered.")
    assert judge(controller=carla, item_id=item.pk, sent=sent).reason == "Nothing is answered."
    assert sample_progress(drawn).right == 0
    assert not LaterJudgement.objects.exists()


def test_a_later_judgement_is_stored_once(drawn: Sample, carla: User) -> None:
    item, *_others = sample_items(drawn)
    first, id = judge_item(carla, item, right=False), uuid4()
    for _send in range(2):
        assert judge_item(carla, item, right=True, judgement_id=id) == first
    with pytest.raises(Refusal) as refused:
        judge_item(carla, item, right=False, judgement_id=id)
    assert code(refused) == "id_in_use"
    assert LaterJudgement.objects.count() == 1


def test_a_correction_replaces_the_first_judgement_of_an_open_sample(
    quality: Project, sealed: Round, carla: User
) -> None:
    BatchPlan.objects.update(is_blind=False)
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    item, *_others = sample_items(sample)
    judge_item(carla, item, right=False)
    assert sample_progress(sample).right == 0
    judge_item(carla, item, right=True)
    progress = sample_progress(sample)
    assert (progress.judged, progress.right) == (1, 1)
    assert Judgement.objects.filter(item=item).count() == 2


def test_a_judgement_is_stored_once(drawn: Sample, carla: User) -> None:
    first, second, *_rest = sample_items(drawn)
    judgement = judge_item(carla, first, right=True)
    assert judge_item(carla, first, right=True, judgement_id=judgement.pk) == judgement
    with pytest.raises(Refusal) as refused:
        judge_item(carla, first, right=False, judgement_id=judgement.pk)
    assert code(refused) == "id_in_use"
    with pytest.raises(Refusal) as refused:
        judge_item(carla, second, right=True, judgement_id=judgement.pk)
    assert code(refused) == "id_in_use"


def test_controllers_share_a_sample(drawn: Sample, carla: User, chris: User) -> None:
    judge_item(carla, sample_items(drawn)[0], right=True)
    assert [item.place for item in items_left_for(chris, drawn)] == [1, 2, 3]
    with pytest.raises(Refusal) as refused:
        judge_item(chris, sample_items(drawn)[0], right=True)
    assert code(refused) == "judged_already"


def test_the_first_of_two_judgements_counts(
    quality: Project, sealed: Round, carla: User, chris: User
) -> None:
    BatchPlan.objects.update(double_every=1)
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    judge_item(carla, sample_items(sample)[0], right=True)
    judge_item(chris, sample_items(sample)[0], right=False)
    progress = sample_progress(sample)
    assert (progress.judged, progress.right) == (1, 1)  # the first one's counts


def test_nobody_gives_both_of_two_judgements(sealed: Round, carla: User) -> None:
    BatchPlan.objects.update(double_every=1)
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    item, *_others = sample_items(sample)
    judge_item(carla, item, right=True)
    assert item not in items_left_for(carla, sample)


def test_a_blind_sample_is_labelled_first(drawn: Sample, carla: User) -> None:
    item, *_others = sample_items(drawn)
    with pytest.raises(Refusal) as refused:
        judge(controller=carla, item_id=item.pk, sent=SentJudgement(id=uuid4()))
    assert code(refused) == "blind"
    judge_item(carla, item, right=False)
    assert not judge(controller=carla, item_id=item.pk, sent=SentJudgement(id=uuid4())).is_right
    assert LaterJudgement.objects.get(item=item).is_right  # agreed with the label that was shown


def test_an_open_sample_can_be_agreed_with(quality: Project, sealed: Round, carla: User) -> None:
    BatchPlan.objects.update(is_blind=False)
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    assert judge(
        controller=carla, item_id=sample_items(sample)[0].pk, sent=SentJudgement(id=uuid4())
    ).is_right


@pytest.mark.parametrize(
    "answers", [{"dialogue": {}, "utterances": {}}, {"dialogue": {"quality": 9}, "utterances": {}}]
)
def test_the_checked_question_needs_a_valid_answer(
    drawn: Sample, carla: User, answers: dict[str, object]
) -> None:
    with pytest.raises(Invalid):
        judge(
            controller=carla,
            item_id=sample_items(drawn)[0].pk,
            sent=SentJudgement(id=uuid4(), answers=answers),
        )


def test_the_confusion_matrix_counts_labels_by_right_class(drawn: Sample, carla: User) -> None:
    judge_all(carla, drawn)
    counted = confusion_matrix(reviewed_items(drawn), "quality")
    assert all(label == right for label, right in counted)
    assert sum(counted.values()) == 4
