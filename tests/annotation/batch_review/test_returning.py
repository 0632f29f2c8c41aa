"""What a returned batch leaves behind, and its next round."""

from uuid import uuid4

import pytest

from accounts.models import User
from annotation.batch_review.models import Sample
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import return_round
from annotation.labelling.models.labels import FinalLabel, Submission
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.onboarding.services.gold import retire_gold
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import Task, TaskState, Workload
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from projects.models import Project
from projects.services import set_group
from tests.annotation.batch_review.conftest import (
    cut_one_batch,
    diqad_answers,
    judge_all,
    label_next,
    latest_round,
    store_gold,
)


def test_a_returned_batch_loses_every_label_and_starts_again(
    quality: Project, anna: User, carla: User, drawn: Sample
) -> None:
    judge_all(carla, drawn, wrong=2)
    following = return_round(
        controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Many are 1, not 2."
    )
    assert not FinalLabel.objects.filter(superseded_at=None).exists()
    assert Submission.objects.count() == 8  # history
    states = set(Task.objects.filter(round=drawn.round_id).values_list("state", flat=True))
    assert states == {TaskState.WITHDRAWN}
    assert (following.number, following.state) == (2, RoundState.OPEN)
    label_next(quality, anna, [1] * 8)  # the same person labels the same dialogues again
    following.refresh_from_db()
    assert following.state == RoundState.SEALED
    assert FinalLabel.objects.filter(superseded_at=None).count() == 8


def test_withdrawn_work_counts_neither_for_a_limit_nor_for_the_balance(
    quality: Project, anna: User, carla: User, drawn: Sample
) -> None:
    quality.labelling.max_per_person = 8
    quality.labelling.save()
    judge_all(carla, drawn, wrong=2)
    return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Wrong.")
    assert Workload.objects.get(annotator=anna).taken == 0
    label_next(quality, anna, [1] * 8)
    assert Workload.objects.get(annotator=anna).taken == 8


def test_withdrawn_labels_cannot_be_corrected(
    quality: Project, anna: User, carla: User, sealed: Round, drawn: Sample
) -> None:
    judge_all(carla, drawn, wrong=4)
    return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="All wrong.")
    old = anna.assignments.filter(task__round=sealed).first()
    assert old
    with pytest.raises(Refusal) as refused:
        submit_labels(
            annotator=anna,
            assignment_id=old.pk,
            sent=SentLabels(id=uuid4(), schema=1, answers=diqad_answers(1)),
        )
    assert refused.value.code == "withdrawn"


def test_a_batch_whose_group_is_gone_is_for_anybody(quality: Project, anna: User, carla: User) -> None:
    set_group(project=quality, actor=None, user=anna, group="east")
    batch = cut_one_batch(quality, 4)
    label_next(quality, anna, [2, 2, 2, 2])
    sample = draw_sample(controller=carla, round_id=latest_round(batch).pk, sample_id=uuid4())
    judge_all(carla, sample, wrong=4)
    set_group(project=quality, actor=None, user=anna, group="")
    following = return_round(controller=carla, round_id=sample.round_id, decision_id=uuid4(), reason="Wrong.")
    assert following.group == ""


def test_a_gold_dialogue_is_not_labelled_in_the_next_round(
    quality: Project, anna: User, carla: User, tina: User, drawn: Sample
) -> None:
    task = drawn.round.tasks.latest("rank")
    store_gold(quality, tina, task)
    judge_all(carla, drawn, wrong=4)
    following = return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Wrong.")
    following.batch.refresh_from_db()
    assert (following.tasks.count(), following.batch.size) == (7, 7)
    label_next(quality, anna, [2] * 7)
    with pytest.raises(Refusal, match="done"):
        claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    following.refresh_from_db()
    assert following.state == RoundState.SEALED
    retire_gold(trainer=tina, project=quality, dialogue_id=task.dialogue_id or 0)
    claimed = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    assert claimed.dialogue_id == task.dialogue_id
