"""Cutting and sealing batches; what a returned one leaves behind."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import TestCase
from django.utils import timezone

from accounts.models import User
from annotation.batch_review.models import Sample
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.regrouping import regroup_round
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.sealing import seal_round, unseal_round
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.models.labels import FinalLabel, Submission
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.onboarding.services.gold import make_gold, retire_gold
from annotation.project_setup.services import create_project
from annotation.tasks.models.rounds import Batch, Round, RoundState
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState, Workload
from annotation.tasks.services.assignment import reap_expired_leases, release, resume
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from projects.models import Event, Project, Role
from projects.services import set_group
from tests.annotation.batch_review.conftest import cut, judges_all, label, round_of, says
from tests.annotation.conftest import Joins, imported


def test_dialogues_are_cut_in_the_order_in_which_they_are_given_out(quality: Project) -> None:
    imported(quality, 7)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    made = cut_batches(project=quality, actor=None, cut_id=uuid4(), size=3)
    assert [(batch.number, batch.size) for batch in made] == [(1, 3), (2, 3), (3, 1)]
    ranks = list(Task.objects.order_by("round__batch__number", "rank").values_list("rank", flat=True))
    assert ranks == sorted(ranks)


def test_the_rest_can_wait(quality: Project) -> None:
    imported(quality, 7)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    made = cut_batches(project=quality, actor=None, cut_id=uuid4(), size=3, with_rest=False)
    assert len(made) == 2
    assert Task.objects.filter(round=None).count() == 1


def test_the_same_cut_again_cuts_nothing(quality: Project) -> None:
    imported(quality, 4)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    cut_id = uuid4()
    first = cut_batches(project=quality, actor=None, cut_id=cut_id)
    assert cut_batches(project=quality, actor=None, cut_id=cut_id) == first
    with pytest.raises(Refusal, match="not enough"):
        cut_batches(project=quality, actor=None, cut_id=uuid4())


def test_groups_take_turns(quality: Project, anna: User, joins: Joins) -> None:
    for person, group in ((anna, "east"), (joins("bela", quality, Role.ANNOTATOR), "west")):
        set_group(project=quality, actor=None, user=person, group=group)
    imported(quality, 6)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    cut_batches(project=quality, actor=None, cut_id=uuid4(), size=2)
    assert list(Round.objects.values_list("group", flat=True)) == ["east", "west", "east"]
    assert set(Task.objects.filter(round__group="west").values_list("group", flat=True)) == {"west"}


def test_the_last_final_label_seals(quality: Project, anna: User) -> None:
    batch = cut(quality, 3)
    label(quality, anna, [2, 2])
    assert round_of(batch).state == RoundState.OPEN
    label(quality, anna, [1])
    assert round_of(batch).state == RoundState.SEALED


def test_an_open_dialogue_keeps_the_batch_open(quality: Project, anna: User) -> None:
    batch = cut(quality, 3)
    label(quality, anna, [2])
    with pytest.raises(Refusal) as refused:
        seal_round(actor=None, round_id=round_of(batch).pk)
    assert (refused.value.code, refused.value.details["missing"]) == ("not_complete", 2)


def test_nothing_changes_in_a_sealed_batch(quality: Project, anna: User) -> None:
    batch = cut(quality, 1)
    [assignment] = label(quality, anna, [2])
    with pytest.raises(Refusal) as refused:
        submit_labels(
            annotator=anna, assignment_id=assignment, sent=SentLabels(id=uuid4(), schema=1, answers=says(1))
        )
    assert refused.value.code == "sealed"
    unseal_round(actor=anna, round_id=round_of(batch).pk, reason="The guidelines changed.")
    submit_labels(
        annotator=anna, assignment_id=assignment, sent=SentLabels(id=uuid4(), schema=1, answers=says(1))
    )
    assert FinalLabel.objects.get(superseded_at=None).answers == says(1)


def test_a_batch_in_review_is_not_opened_again(drawn: Sample, anna: User) -> None:
    with pytest.raises(Refusal) as refused:
        unseal_round(actor=anna, round_id=drawn.round_id, reason="Please.")
    assert refused.value.code == "in_review"


def test_a_returned_batch_loses_every_label_and_begins_again(
    quality: Project, anna: User, carla: User, drawn: Sample
) -> None:
    judges_all(carla, drawn, wrong=2)
    following = return_round(
        controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Many are 1, not 2."
    )
    assert not FinalLabel.objects.filter(superseded_at=None).exists()
    assert Submission.objects.count() == 8  # history
    states = set(Task.objects.filter(round=drawn.round_id).values_list("state", flat=True))
    assert states == {TaskState.WITHDRAWN}
    assert (following.number, following.state) == (2, RoundState.OPEN)
    label(quality, anna, [1] * 8)  # the same person labels the same dialogues anew
    following.refresh_from_db()
    assert following.state == RoundState.SEALED
    assert FinalLabel.objects.filter(superseded_at=None).count() == 8


def test_withdrawn_work_counts_neither_for_a_limit_nor_for_the_balance(
    quality: Project, anna: User, carla: User, drawn: Sample
) -> None:
    quality.labelling.max_per_person = 8
    quality.labelling.save()
    judges_all(carla, drawn, wrong=2)
    return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Wrong.")
    assert Workload.objects.get(annotator=anna).taken == 0
    label(quality, anna, [1] * 8)
    assert Workload.objects.get(annotator=anna).taken == 8


def test_withdrawn_labels_cannot_be_corrected(
    quality: Project, anna: User, carla: User, sealed: Round, drawn: Sample
) -> None:
    judges_all(carla, drawn, wrong=4)
    return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="All wrong.")
    old = anna.assignments.filter(task__round=sealed).first()
    assert old
    with pytest.raises(Refusal) as refused:
        submit_labels(
            annotator=anna, assignment_id=old.pk, sent=SentLabels(id=uuid4(), schema=1, answers=says(1))
        )
    assert refused.value.code == "withdrawn"


def test_a_batch_whose_annotators_are_gone_is_for_anybody(quality: Project, anna: User, carla: User) -> None:
    set_group(project=quality, actor=None, user=anna, group="east")
    batch = cut(quality, 4)
    label(quality, anna, [2, 2, 2, 2])
    sample = draw_sample(controller=carla, round_id=round_of(batch).pk, sample_id=uuid4())
    judges_all(carla, sample, wrong=4)
    set_group(project=quality, actor=None, user=anna, group="")
    following = return_round(controller=carla, round_id=sample.round_id, decision_id=uuid4(), reason="Wrong.")
    assert following.group == ""


def test_an_open_batch_changes_hands(quality: Project, anna: User, mara: User) -> None:
    set_group(project=quality, actor=None, user=anna, group="east")
    batch = cut(quality, 2, groups=[])
    opened = regroup_round(actor=mara, round_id=round_of(batch).pk, group="east")
    assert set(Task.objects.filter(round=opened).values_list("group", flat=True)) == {"east"}
    with pytest.raises(Refusal):
        regroup_round(actor=mara, round_id=opened.pk, group="nowhere")


def test_every_move_is_an_event_with_its_actor(carla: User, drawn: Sample) -> None:
    judges_all(carla, drawn)
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    moves = Event.objects.filter(subject_type="annotation.round", kind="state").order_by("id")
    assert list(moves.values_list("before", "after", "actor__username")) == [
        ("open", "sealed", None), ("sealed", "in_review", "carla"), ("in_review", "accepted", "carla"),
    ]  # fmt: skip


def test_a_dialogue_of_the_admission_test_leaves_its_batch(
    quality: Project, anna: User, joins: Joins
) -> None:
    batch = cut(quality, 3)
    gold = Task.objects.filter(round__batch=batch).latest("rank")
    make_gold(
        trainer=joins("tina", quality, Role.TRAINER),
        project=quality,
        dialogue_id=gold.dialogue_id or 0,
        answers=says(2),
        explanation="It names the step.",
    )
    label(quality, anna, [2, 2])
    batch.refresh_from_db()
    assert (batch.size, round_of(batch).state) == (2, RoundState.SEALED)


def test_batches_need_labels_to_be_cut_from(quality: Project) -> None:
    with pytest.raises(Refusal):
        cut_batches(project=quality, actor=None, cut_id=uuid4())
    assert not Batch.objects.exists()


def test_what_was_held_when_a_batch_changed_hands_goes_to_the_other_group(
    quality: Project, anna: User, mara: User, joins: Joins
) -> None:
    """Else it would go back to a group in which nobody may be left."""
    bela = joins("bela", quality, Role.ANNOTATOR)
    set_group(project=quality, actor=None, user=anna, group="east")
    set_group(project=quality, actor=None, user=bela, group="west")
    batch = cut(quality, 1, groups=["east"])
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    regroup_round(actor=mara, round_id=round_of(batch).pk, group="west")
    release(annotator=anna, assignment_id=held.pk)
    assert claim_next_task(annotator=bela, project=quality, claim_id=uuid4()).task_id == held.task_id


@pytest.mark.parametrize("expires", [True, False])
def test_what_a_batch_that_changed_hands_got_back_is_not_taken_up_again(
    quality: Project, anna: User, mara: User, joins: Joins, expires: bool
) -> None:
    bela = joins("bela", quality, Role.ANNOTATOR)
    for person, group in ((anna, "east"), (bela, "west")):
        set_group(project=quality, actor=None, user=person, group=group)
    batch = cut(quality, 1, groups=["east"])
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    if expires:
        Assignment.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert reap_expired_leases() == 1
    else:
        release(annotator=anna, assignment_id=held.pk, reason="Later.")
    regroup_round(actor=mara, round_id=round_of(batch).pk, group="west")
    with pytest.raises(Refusal) as refused:
        resume(annotator=anna, assignment_id=held.pk)
    assert refused.value.code == "lease_gone"
    assert claim_next_task(annotator=bela, project=quality, claim_id=uuid4()).task_id == held.task_id


def test_what_is_for_anybody_is_taken_up_again(quality: Project, anna: User, mara: User) -> None:
    set_group(project=quality, actor=None, user=anna, group="east")
    batch = cut(quality, 1, groups=["east"])
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    for group in ("east", ""):
        release(annotator=anna, assignment_id=held.pk, reason="Later.")
        regroup_round(actor=mara, round_id=round_of(batch).pk, group=group)
        assert resume(annotator=anna, assignment_id=held.pk).state == AssignmentState.ACTIVE


def test_a_cut_of_another_project_is_not_this_ones(quality: Project, mara: User) -> None:
    other, cut_id = create_project(slug="other", preset="diqad", actor=mara), uuid4()
    for project in (quality, other):
        imported(project, 2)
        plan_labelling(project=project, actor=None, plan_id=uuid4())
    [first] = cut_batches(project=quality, actor=None, cut_id=cut_id)
    [second] = cut_batches(project=other, actor=None, cut_id=cut_id)
    assert (first.project, second.project) == (quality, other)


def gold(project: Project, trainer: User, task: Task) -> None:
    make_gold(
        trainer=trainer,
        project=project,
        dialogue_id=task.dialogue_id or 0,
        answers=says(2),
        explanation="It names the step.",
    )


def test_a_dialogue_that_became_gold_is_not_labelled_in_the_next_round(
    quality: Project, anna: User, carla: User, tina: User, drawn: Sample
) -> None:
    task = drawn.round.tasks.latest("rank")
    gold(quality, tina, task)
    judges_all(carla, drawn, wrong=4)
    following = return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Wrong.")
    following.batch.refresh_from_db()
    assert (following.tasks.count(), following.batch.size) == (7, 7)
    label(quality, anna, [2] * 7)
    with pytest.raises(Refusal, match="done"):
        claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    following.refresh_from_db()
    assert following.state == RoundState.SEALED
    retire_gold(trainer=tina, project=quality, dialogue_id=task.dialogue_id or 0)
    claimed = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    assert claimed.dialogue_id == task.dialogue_id


def test_the_last_missing_dialogue_leaves_and_the_batch_is_sealed(
    quality: Project, anna: User, tina: User
) -> None:
    batch = cut(quality, 2)
    label(quality, anna, [2])
    with TestCase.captureOnCommitCallbacks(execute=True):
        gold(quality, tina, Task.objects.get(round__batch=batch, state=TaskState.OPEN))
    assert round_of(batch).state == RoundState.SEALED


def test_a_batch_of_which_nothing_is_left_is_not_sealed(quality: Project, tina: User) -> None:
    batch = cut(quality, 1)
    with TestCase.captureOnCommitCallbacks(execute=True):
        gold(quality, tina, Task.objects.get(round__batch=batch))
    with pytest.raises(Refusal) as refused:
        seal_round(actor=None, round_id=round_of(batch).pk)
    assert refused.value.code == "empty"
