"""Drawing, judging, verdicts and appeals."""

from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Judgement, Sample, SampleItem
from annotation.batch_review.selectors.annotator_accuracy import judged_answers, judged_items_of
from annotation.batch_review.selectors.batch_plan import batch_plan_for
from annotation.batch_review.selectors.eligibility import items_left_for
from annotation.batch_review.selectors.reviewed_items import confusion_matrix, reviewed_items
from annotation.batch_review.selectors.sample_progress import sample_progress
from annotation.batch_review.services.appeals import raise_appeal, settle_appeal
from annotation.batch_review.services.judgements import SentJudgement, judge
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.models.labels import FinalLabel
from annotation.project_setup.services import create_project
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import Task, TaskState
from common.refusals import Invalid, Refusal
from measures.verdict import Decision
from projects.models import Project, Role
from projects.services import set_member
from tests.annotation.batch_review.conftest import cut, items, judges, judges_all, label, round_of, says
from tests.annotation.conftest import Joins


def code(refused: pytest.ExceptionInfo[Refusal]) -> str:
    return refused.value.code


def test_the_seed_draws_the_same_sample(drawn: Sample, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("redraw", "quality")
    told = "batch 1, round 1: 4 of 8 with the seed 7: the same dialogues\n"
    assert capsys.readouterr().out == told
    assert drawn.population == 8
    assert drawn.classes == {"2": 5, "1": 3}


def test_a_sample_that_was_tampered_with_is_told(drawn: Sample) -> None:
    chosen = items(drawn)
    other = Task.objects.filter(round=drawn.round).exclude(drawn__in=chosen).first()
    SampleItem.objects.filter(pk=chosen[0].pk).update(task=other)
    with pytest.raises(CommandError, match="1 of 1 samples differ"):
        call_command("redraw", "quality", "--batch", "1")


def test_what_its_controller_labels_later_changes_no_sample(
    quality: Project, anna: User, joins: Joins
) -> None:
    both = joins("olga", quality, Role.ANNOTATOR, Role.CONTROLLER)
    batch = cut(quality, 8)
    label(quality, anna, [2] * 6)
    label(quality, both, [1] * 2)
    sample = draw_sample(controller=both, round_id=round_of(batch).pk, sample_id=uuid4())
    judges_all(both, sample, wrong=4)
    return_round(controller=both, round_id=sample.round_id, decision_id=uuid4(), reason="Read twice.")
    label(quality, both, [2] * 4)
    call_command("redraw", "quality")


def test_no_sample_is_said(quality: Project) -> None:
    with pytest.raises(CommandError, match="No sample was drawn"):
        call_command("redraw", "quality")


def test_one_round_has_one_sample(drawn: Sample, carla: User, chris: User) -> None:
    assert draw_sample(controller=carla, round_id=drawn.round_id, sample_id=drawn.pk) == drawn
    with pytest.raises(Refusal) as refused:
        draw_sample(controller=chris, round_id=drawn.round_id, sample_id=uuid4())
    assert code(refused) == "already_drawn"


def test_an_open_batch_is_not_sampled(quality: Project, carla: User) -> None:
    with pytest.raises(Refusal) as refused:
        draw_sample(controller=carla, round_id=round_of(cut(quality)).pk, sample_id=uuid4())
    assert code(refused) == "not_sealed"


def test_a_batch_smaller_than_the_sample_is_judged_whole(quality: Project, anna: User, carla: User) -> None:
    batch = cut(quality, 3)
    label(quality, anna, [2, 2, 1])
    sample = draw_sample(controller=carla, round_id=round_of(batch).pk, sample_id=uuid4())
    assert SampleItem.objects.filter(sample=sample).count() == 3
    judges_all(carla, sample)
    standing = sample_progress(sample)
    assert (standing.accuracy.low, standing.accuracy.high) == (1, 1)


def test_own_work_is_never_drawn(quality: Project, anna: User, joins: Joins) -> None:
    both = joins("olga", quality, Role.ANNOTATOR, Role.CONTROLLER)
    batch = cut(quality, 8)
    label(quality, anna, [2] * 5)
    label(quality, both, [1] * 3)
    sample = draw_sample(controller=both, round_id=round_of(batch).pk, sample_id=uuid4())
    assert (sample.population, sample.own, sample.classes) == (5, 3, {"2": 5})
    assert {item.label for item in items(sample)} == {"2"}


def test_who_labelled_everything_draws_nothing(quality: Project, joins: Joins) -> None:
    both = joins("olga", quality, Role.ANNOTATOR, Role.CONTROLLER)
    batch = cut(quality, 2)
    label(quality, both, [2, 2])
    with pytest.raises(Refusal) as refused:
        draw_sample(controller=both, round_id=round_of(batch).pk, sample_id=uuid4())
    assert code(refused) == "own_work"


def test_another_controllers_own_work_is_left_to_others(
    quality: Project, anna: User, sealed: Round, drawn: Sample
) -> None:
    set_member(project=quality, actor=None, user=anna, roles=[Role.ANNOTATOR, Role.CONTROLLER])
    assert not items_left_for(anna, drawn).exists()
    with pytest.raises(Refusal) as refused:
        judges(anna, items(drawn)[0], right=True)
    assert code(refused) == "own_work"


def test_every_class_gets_its_share_when_drawn_by_class(quality: Project, anna: User, carla: User) -> None:
    BatchPlan.objects.update(is_stratified=True)
    batch = cut(quality, 10)
    label(quality, anna, [2] * 9 + [1])
    sample = draw_sample(controller=carla, round_id=round_of(batch).pk, sample_id=uuid4())
    assert sorted(item.label for item in items(sample)) == ["1", "2", "2", "2"]
    call_command("redraw", "quality")
    first = next(item for item in items(sample) if item.label == "1")
    for item in items(sample):
        judges(carla, item, right=item.pk != first.pk)
    # One of ten is wrong: weighted by class, not one of four.
    assert sample_progress(sample).accuracy.value == pytest.approx(0.9)


def test_judgements_count_and_a_correction_replaces_its_first(drawn: Sample, carla: User) -> None:
    one, *_others = items(drawn)
    judges(carla, one, right=False)
    standing = sample_progress(drawn)
    assert (standing.judged, standing.right) == (1, 0)
    judges(carla, one, right=True)
    standing = sample_progress(drawn)
    assert (standing.judged, standing.right) == (1, 1)
    assert Judgement.objects.filter(item=one).count() == 2


def test_the_same_judgement_again_is_the_first(drawn: Sample, carla: User) -> None:
    one, other, *_rest = items(drawn)
    judgement = judges(carla, one, right=True)
    assert judges(carla, one, right=True, judgement_id=judgement.pk) == judgement
    with pytest.raises(Refusal) as refused:
        judges(carla, one, right=False, judgement_id=judgement.pk)
    assert code(refused) == "id_in_use"
    with pytest.raises(Refusal) as refused:
        judges(carla, other, right=True, judgement_id=judgement.pk)
    assert code(refused) == "id_in_use"


def test_controllers_share_a_sample(drawn: Sample, carla: User, chris: User) -> None:
    judges(carla, items(drawn)[0], right=True)
    assert [item.place for item in items_left_for(chris, drawn)] == [1, 2, 3]
    with pytest.raises(Refusal) as refused:
        judges(chris, items(drawn)[0], right=True)
    assert code(refused) == "judged_already"


def test_now_and_then_two_judge_the_same(quality: Project, sealed: Round, carla: User, chris: User) -> None:
    BatchPlan.objects.update(double_every=1)
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    judges(carla, items(sample)[0], right=True)
    judges(chris, items(sample)[0], right=False)
    standing = sample_progress(sample)
    assert (standing.judged, standing.right) == (1, 1)  # the first one's counts


def test_blind_means_to_label_first(drawn: Sample, carla: User) -> None:
    one, *_others = items(drawn)
    with pytest.raises(Refusal) as refused:
        judge(controller=carla, item_id=one.pk, sent=SentJudgement(id=uuid4()))
    assert code(refused) == "blind"
    judges(carla, one, right=False)
    assert judge(controller=carla, item_id=one.pk, sent=SentJudgement(id=uuid4())).is_right


def test_open_means_to_agree_or_not(quality: Project, sealed: Round, carla: User) -> None:
    BatchPlan.objects.update(is_blind=False)
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    assert judge(controller=carla, item_id=items(sample)[0].pk, sent=SentJudgement(id=uuid4())).is_right


@pytest.mark.parametrize(
    "answers", [{"dialogue": {}, "utterances": {}}, {"dialogue": {"quality": 9}, "utterances": {}}]
)
def test_the_question_that_is_checked_needs_an_answer(
    drawn: Sample, carla: User, answers: dict[str, object]
) -> None:
    with pytest.raises(Invalid):
        judge(controller=carla, item_id=items(drawn)[0].pk, sent=SentJudgement(id=uuid4(), answers=answers))


def test_three_of_four_pass(drawn: Sample, carla: User) -> None:
    judges_all(carla, drawn, wrong=1)
    ended = accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    assert (ended.state, ended.figures["share"], ended.figures["early"]) == (
        RoundState.ACCEPTED,
        "3/4",
        False,
    )


def test_a_class_with_one_sample_fails_the_batch_alone(quality: Project, anna: User, carla: User) -> None:
    BatchPlan.objects.update(class_percent=90)
    batch = cut(quality, 4)
    label(quality, anna, [2, 2, 2, 1])
    sample = draw_sample(controller=carla, round_id=round_of(batch).pk, sample_id=uuid4())
    for item in items(sample):
        judges(carla, item, right=item.label == "2")
    standing = sample_progress(sample)
    assert (standing.right, standing.judged, standing.decision) == (3, 4, Decision.RETURN)
    assert standing.by_class["1"].value == 0


def test_what_passes_is_not_returned_and_what_fails_not_accepted(
    quality: Project, drawn: Sample, carla: User
) -> None:
    judges_all(carla, drawn)
    with pytest.raises(Refusal) as refused:
        return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="I want to.")
    assert code(refused) == "passes"
    for item in items(drawn):
        judges(carla, item, right=False)
    with pytest.raises(Refusal) as refused:
        accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    assert code(refused) == "fails"


def test_an_early_verdict_only_when_the_rest_cannot_change_it(drawn: Sample, carla: User) -> None:
    judges(carla, items(drawn)[0], right=False)
    with pytest.raises(Refusal) as refused:
        return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Bad.")
    assert code(refused) == "not_decided"
    judges(carla, items(drawn)[1], right=False)
    return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Two of four.")
    ended = Round.objects.get(pk=drawn.round_id)
    assert (ended.state, ended.figures["judged"], ended.figures["early"]) == (RoundState.RETURNED, 2, True)


def test_a_verdict_is_given_once(drawn: Sample, carla: User, chris: User) -> None:
    judges_all(carla, drawn, wrong=4)
    decision_id = uuid4()
    first = return_round(controller=carla, round_id=drawn.round_id, decision_id=decision_id, reason="Wrong.")
    again = return_round(controller=carla, round_id=drawn.round_id, decision_id=decision_id, reason="Wrong.")
    assert first == again
    with pytest.raises(Refusal) as refused:
        accept_round(controller=chris, round_id=drawn.round_id, decision_id=uuid4())
    assert code(refused) == "not_in_review"
    assert Task.objects.filter(round=first).count() == 8
    with pytest.raises(Refusal) as refused:
        judges(carla, items(drawn)[0], right=True)
    assert code(refused) == "not_in_review"


def test_returning_wants_a_reason(drawn: Sample, carla: User) -> None:
    judges_all(carla, drawn, wrong=4)
    with pytest.raises(Invalid):
        return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason=" ")


def test_an_upheld_appeal_changes_what_counts(drawn: Sample, anna: User, carla: User, tina: User) -> None:
    judges_all(carla, drawn, wrong=2)
    assert sample_progress(drawn).decision is Decision.RETURN
    appeal = raise_appeal(by=anna, item_id=items(drawn)[0].pk, appeal_id=uuid4(), reason="It names the step.")
    with pytest.raises(Refusal) as refused:
        return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Bad.")
    assert code(refused) == "open_appeals"
    settle_appeal(trainer=tina, appeal_id=appeal.pk, upheld=True, settlement="It does.")
    assert sample_progress(drawn).right == 3


def test_a_rejected_appeal_changes_nothing(drawn: Sample, anna: User, carla: User, tina: User) -> None:
    judges_all(carla, drawn, wrong=2)
    appeal = raise_appeal(by=anna, item_id=items(drawn)[0].pk, appeal_id=uuid4(), reason="No.")
    settle_appeal(trainer=tina, appeal_id=appeal.pk, upheld=False, settlement="Read page 2.")
    assert sample_progress(drawn).right == 2


def test_nobody_settles_their_own_case(drawn: Sample, anna: User, carla: User, tina: User) -> None:
    judges_all(tina, drawn, wrong=2)
    appeal = raise_appeal(by=anna, item_id=items(drawn)[0].pk, appeal_id=uuid4(), reason="No.")
    with pytest.raises(Refusal) as refused:
        settle_appeal(trainer=tina, appeal_id=appeal.pk, upheld=True, settlement="Hm.")
    assert code(refused) == "own_case"


def test_what_is_right_has_no_appeal(drawn: Sample, anna: User, carla: User) -> None:
    judges_all(carla, drawn)
    with pytest.raises(Refusal) as refused:
        raise_appeal(by=anna, item_id=items(drawn)[0].pk, appeal_id=uuid4(), reason="Why?")
    assert code(refused) == "not_corrected"


def test_annotators_see_what_was_right_and_no_name(
    quality: Project, drawn: Sample, anna: User, carla: User
) -> None:
    judges_all(carla, drawn, wrong=2)
    assert not judged_items_of(anna, quality).exists()  # not before the verdict
    return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Bad.")
    seen = judged_answers(anna, list(judged_items_of(anna, quality)))
    assert [one.was_right for one in seen] == [False, False, True, True]
    assert seen[0].reason == "Look again."


def test_the_matrix_has_label_by_controller(drawn: Sample, carla: User) -> None:
    judges_all(carla, drawn)
    counted = confusion_matrix(reviewed_items(drawn), "quality")
    assert all(one == other for one, other in counted)
    assert sum(counted.values()) == 4


def test_without_a_question_every_compared_answer_counts(mara: User) -> None:
    project = create_project(slug="helpdesk", preset="dialeval", actor=mara)
    assert batch_plan_for(create_project(slug="q", preset="diqad", actor=mara)).question == "quality"
    assert batch_plan_for(project).question == "A"


def test_says_is_what_diqad_asks() -> None:
    assert says(1)["dialogue"]["reasons_1"] == ["none"]


def test_a_crash_between_verdict_and_withdrawal_leaves_neither(
    drawn: Sample, carla: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(row: Round) -> int:
        raise OSError("the plug was pulled")

    judges_all(carla, drawn, wrong=4)
    monkeypatch.setattr("annotation.batch_review.services.verdicts.withdraw_labels", crash)
    with pytest.raises(OSError, match="plug"):
        return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Wrong.")
    assert Round.objects.get(pk=drawn.round_id).state == RoundState.IN_REVIEW
    assert set(Task.objects.values_list("state", flat=True)) == {TaskState.FINAL}


def test_the_id_of_one_verdict_is_no_other_ones(
    quality: Project, anna: User, drawn: Sample, carla: User
) -> None:
    judges_all(carla, drawn, wrong=4)
    used = uuid4()
    following = return_round(controller=carla, round_id=drawn.round_id, decision_id=used, reason="Wrong.")
    with pytest.raises(Refusal) as refused:
        accept_round(controller=carla, round_id=drawn.round_id, decision_id=used)
    assert code(refused) == "id_in_use"
    label(quality, anna, [2] * 8)
    with pytest.raises(Refusal) as refused:
        draw_sample(controller=carla, round_id=following.pk, sample_id=drawn.pk)
    assert code(refused) == "id_in_use"
    again = draw_sample(controller=carla, round_id=following.pk, sample_id=uuid4())
    judges_all(carla, again)
    with pytest.raises(Refusal) as refused:
        accept_round(controller=carla, round_id=following.pk, decision_id=used)
    assert code(refused) == "id_in_use"


def test_the_matrix_follows_an_upheld_appeal(drawn: Sample, anna: User, carla: User, tina: User) -> None:
    judges_all(carla, drawn, wrong=1)
    appeal = raise_appeal(by=anna, item_id=items(drawn)[0].pk, appeal_id=uuid4(), reason="It names the step.")
    settle_appeal(trainer=tina, appeal_id=appeal.pk, upheld=True, settlement="It does.")
    counted = confusion_matrix(reviewed_items(drawn), "quality")
    assert (
        sum(n for (label, right), n in counted.items() if label == right) == sample_progress(drawn).right == 4
    )


def test_who_decided_the_label_settles_no_appeal_about_it(
    drawn: Sample, anna: User, carla: User, tina: User
) -> None:
    judges_all(carla, drawn, wrong=2)
    item = items(drawn)[0]
    FinalLabel.objects.filter(pk=item.final_id).update(decided_by=tina)
    appeal = raise_appeal(by=anna, item_id=item.pk, appeal_id=uuid4(), reason="No.")
    with pytest.raises(Refusal) as refused:
        settle_appeal(trainer=tina, appeal_id=appeal.pk, upheld=True, settlement="I said so.")
    assert code(refused) == "own_case"


def test_a_small_sample_by_class_is_judged_before_it_is_returned(
    quality: Project, anna: User, carla: User
) -> None:
    BatchPlan.objects.update(is_stratified=True, sample_size=2)
    batch = cut(quality, 6)
    label(quality, anna, [2, 2, 2, 1, 1, 0])
    sample = draw_sample(controller=carla, round_id=round_of(batch).pk, sample_id=uuid4())
    assert sample_progress(sample).decision is Decision.OPEN
    assert sorted(item.label for item in items(sample)) == ["0", "1", "2"]
    judges_all(carla, sample)
    assert sample_progress(sample).decision is Decision.ACCEPT
