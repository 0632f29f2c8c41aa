"""Giving an open batch to another group."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.models import User
from annotation.batch_review.services.regrouping import regroup_round
from annotation.tasks.models.work import Assignment, AssignmentState, Task
from annotation.tasks.services.assignment import reap_expired_leases, release, resume
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from projects.models import Project, Role
from projects.services import set_group
from tests.annotation.batch_review.conftest import (
    cut_one_batch,
    latest_round,
)
from tests.annotation.conftest import Joins


def test_an_open_batch_goes_to_another_group(quality: Project, anna: User, mara: User) -> None:
    set_group(project=quality, actor=None, user=anna, group="east")
    batch = cut_one_batch(quality, 2, groups=[])
    opened = regroup_round(actor=mara, round_id=latest_round(batch).pk, group="east")
    assert set(Task.objects.filter(round=opened).values_list("group", flat=True)) == {"east"}
    with pytest.raises(Refusal):
        regroup_round(actor=mara, round_id=opened.pk, group="nowhere")


def test_a_held_dialogue_goes_to_the_new_group_when_given_back(
    quality: Project, anna: User, mara: User, joins: Joins
) -> None:
    """Otherwise it would go back to a group that may be empty."""
    bela = joins("bela", quality, Role.ANNOTATOR)
    set_group(project=quality, actor=None, user=anna, group="east")
    set_group(project=quality, actor=None, user=bela, group="west")
    batch = cut_one_batch(quality, 1, groups=["east"])
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    regroup_round(actor=mara, round_id=latest_round(batch).pk, group="west")
    release(annotator=anna, assignment_id=held.pk)
    assert claim_next_task(annotator=bela, project=quality, claim_id=uuid4()).task_id == held.task_id


@pytest.mark.parametrize("expires", [True, False])
def test_work_given_back_to_a_regrouped_batch_cannot_be_resumed(
    quality: Project, anna: User, mara: User, joins: Joins, expires: bool
) -> None:
    bela = joins("bela", quality, Role.ANNOTATOR)
    for person, group in ((anna, "east"), (bela, "west")):
        set_group(project=quality, actor=None, user=person, group=group)
    batch = cut_one_batch(quality, 1, groups=["east"])
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    if expires:
        Assignment.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert reap_expired_leases() == 1
    else:
        release(annotator=anna, assignment_id=held.pk, reason="Later.")
    regroup_round(actor=mara, round_id=latest_round(batch).pk, group="west")
    with pytest.raises(Refusal) as refused:
        resume(annotator=anna, assignment_id=held.pk)
    assert refused.value.code == "lease_gone"
    assert claim_next_task(annotator=bela, project=quality, claim_id=uuid4()).task_id == held.task_id


def test_work_for_anybody_can_be_resumed(quality: Project, anna: User, mara: User) -> None:
    set_group(project=quality, actor=None, user=anna, group="east")
    batch = cut_one_batch(quality, 1, groups=["east"])
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    for group in ("east", ""):
        release(annotator=anna, assignment_id=held.pk, reason="Later.")
        regroup_round(actor=mara, round_id=latest_round(batch).pk, group=group)
        assert resume(annotator=anna, assignment_id=held.pk).state == AssignmentState.ACTIVE
