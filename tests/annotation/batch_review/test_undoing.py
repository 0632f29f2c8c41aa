"""Undoing the verdict on a batch."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from accounts.models import User
from annotation.batch_review.models import Sample
from annotation.batch_review.selectors.undoing import UNDO_WITHIN, reason_of_undone_return
from annotation.batch_review.services.undoing import undo_acceptance, undo_return
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.services.submissions import serve
from annotation.onboarding.services.gold import retire_gold
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import Assignment, Task, TaskState, Workload
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from projects.models import Project
from tests.annotation.batch_review.conftest import judge_all, judge_item, label_next, sample_items, store_gold

DECISION = UUID(int=7)


@pytest.fixture
def returned(failed: Sample, carla: User) -> Round:
    """Replaces the fixture of the room: the id of the decision is known."""
    return_round(controller=carla, round_id=failed.round_id, decision_id=DECISION, reason="Read twice.")
    return Round.objects.get(pk=failed.round_id)


def undo(controller: User, row: Round) -> Round:
    return undo_return(controller=controller, round_id=row.pk, decision_id=DECISION)


def test_undoing_gives_every_label_back(returned: Round, carla: User, anna: User) -> None:
    for _again in range(2):
        row = undo(carla, returned)
    assert (row.state, row.ended_at, row.ended_by, row.figures) == (RoundState.IN_REVIEW, None, None, {})
    assert Round.objects.count() == 1
    assert FinalLabel.objects.filter(superseded_at=None).count() == 8
    assert set(Task.objects.values_list("state", "round")) == {(TaskState.FINAL, row.pk)}
    assert (Workload.objects.get(annotator=anna).taken, row.batch.size) == (8, 8)


def test_it_can_be_returned_again(returned: Round, carla: User) -> None:
    undo(carla, returned)
    with pytest.raises(Refusal) as late:
        return_round(controller=carla, round_id=returned.pk, decision_id=DECISION, reason="Read twice.")
    assert late.value.code == "undone"
    following = return_round(controller=carla, round_id=returned.pk, decision_id=uuid4(), reason="Read on.")
    assert (following.number, following.tasks.count()) == (2, 8)


def end_long_ago(row: Round) -> None:
    Round.objects.filter(pk=row.pk).update(ended_at=timezone.now() - UNDO_WITHIN - timedelta(seconds=1))


def test_after_ten_minutes_it_is_too_late(returned: Round, carla: User) -> None:
    end_long_ago(returned)
    with pytest.raises(Refusal) as late:
        undo(carla, returned)
    assert late.value.code == "too_late"
    assert Round.objects.count() == 2


def test_work_on_the_next_round_stays(quality: Project, returned: Round, carla: User, anna: User) -> None:
    label_next(quality, anna, [1])
    with pytest.raises(Refusal) as refused:
        undo(carla, returned)
    assert refused.value.code == "worked_on"
    assert FinalLabel.objects.filter(superseded_at=None).count() == 1


def test_a_dialogue_that_is_only_fetched_ahead_does_not_count(
    quality: Project, returned: Round, carla: User, anna: User
) -> None:
    ahead = claim_next_task(annotator=anna, project=quality, claim_id=uuid4(), ahead=True)
    undo(carla, returned)
    assert not Assignment.objects.filter(pk=ahead.pk).exists()
    assert Workload.objects.get(annotator=anna).taken == 8


def test_a_dialogue_that_somebody_reads_counts(
    quality: Project, returned: Round, carla: User, anna: User
) -> None:
    serve(assignment=claim_next_task(annotator=anna, project=quality, claim_id=uuid4(), ahead=True))
    with pytest.raises(Refusal) as refused:
        undo(carla, returned)
    assert refused.value.code == "worked_on"


def test_gold_dialogues_have_their_task_back(
    quality: Project, failed: Sample, carla: User, tina: User
) -> None:
    task = failed.round.tasks.latest("rank")
    store_gold(quality, tina, task)
    return_round(controller=carla, round_id=failed.round_id, decision_id=DECISION, reason="Read twice.")
    undo(carla, failed.round)
    gold = GoldDialogue.objects.get()
    assert (gold.task_id, gold.withheld, Task.objects.count()) == (task.pk, 0, 8)
    retire_gold(trainer=tina, project=quality, dialogue_id=task.dialogue_id or 0)
    assert not Task.objects.filter(open_slots__gt=0).exists()


def test_only_a_return_can_be_undone(failed: Sample, carla: User) -> None:
    with pytest.raises(Refusal) as refused:
        undo(carla, failed.round)
    assert refused.value.code == "not_returned"


def test_the_reason_of_an_undone_return_is_kept_for_the_next_one(returned: Round, carla: User) -> None:
    row = undo(carla, returned)
    assert (row.reason, reason_of_undone_return(row)) == ("", "Read twice.")


@pytest.fixture
def accepted(drawn: Sample, carla: User) -> Round:
    judge_all(carla, drawn, wrong=1)
    return accept_round(controller=carla, round_id=drawn.round_id, decision_id=DECISION)


def take_back(controller: User, row: Round) -> Round:
    return undo_acceptance(controller=controller, round_id=row.pk, decision_id=DECISION)


def test_an_acceptance_is_undone(accepted: Round, carla: User) -> None:
    for _again in range(2):
        row = take_back(carla, accepted)
    assert (row.state, row.ended_at, row.ended_by, row.figures) == (RoundState.IN_REVIEW, None, None, {})
    with pytest.raises(Refusal) as late:
        accept_round(controller=carla, round_id=row.pk, decision_id=DECISION)
    assert late.value.code == "undone"
    again = accept_round(controller=carla, round_id=row.pk, decision_id=uuid4())
    assert again.state == RoundState.ACCEPTED


def test_an_acceptance_stands_after_ten_minutes(accepted: Round, carla: User) -> None:
    end_long_ago(accepted)
    with pytest.raises(Refusal) as late:
        take_back(carla, accepted)
    assert late.value.code == "too_late"
    accepted.refresh_from_db()
    assert accepted.state == RoundState.ACCEPTED


@pytest.mark.parametrize(
    ("is_blind", "is_double", "left", "stands"),
    [
        (True, False, 1, True),
        (True, False, 0, False),
        (False, False, 1, False),
        (False, True, 0, True),  # nobody else has judged
    ],
)
def test_a_verdict_that_shows_what_is_hidden_stands(
    drawn: Sample, carla: User, is_blind: bool, is_double: bool, left: int, stands: bool
) -> None:
    """Three of four that are right accept the batch, whatever the fourth is."""
    Sample.objects.update(is_blind=is_blind, is_double=is_double)
    for item in sample_items(drawn)[left:]:
        judge_item(carla, item, right=True)
    row = accept_round(controller=carla, round_id=drawn.round_id, decision_id=DECISION)
    if not stands:
        assert take_back(carla, row).state == RoundState.IN_REVIEW
        return
    with pytest.raises(Refusal) as refused:
        take_back(carla, row)
    assert refused.value.code == "secrets_shown"


def test_an_early_return_of_a_blind_sample_stands(drawn: Sample, carla: User) -> None:
    for item in sample_items(drawn)[:2]:
        judge_item(carla, item, right=False)
    return_round(controller=carla, round_id=drawn.round_id, decision_id=DECISION, reason="Read twice.")
    with pytest.raises(Refusal) as refused:
        undo(carla, drawn.round)
    assert refused.value.code == "secrets_shown"
    assert Round.objects.count() == 2


def test_only_an_acceptance_is_undone_as_one(returned: Round, carla: User) -> None:
    with pytest.raises(Refusal) as refused:
        take_back(carla, returned)
    assert refused.value.code == "not_accepted"
