"""Sealing batches, and opening them again."""

from uuid import uuid4

import pytest
from django.test import TestCase

from accounts.models import User
from annotation.batch_review.models import Sample
from annotation.batch_review.services.sealing import seal_round, unseal_round
from annotation.batch_review.services.verdicts import accept_round
from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.tasks.models.rounds import RoundState
from annotation.tasks.models.work import Task, TaskState
from common.refusals import Refusal
from projects.models import Event, Project
from tests.annotation.batch_review.conftest import (
    cut_one_batch,
    diqad_answers,
    judge_all,
    label_next,
    latest_round,
    store_gold,
)


def test_the_last_final_label_seals_the_batch(quality: Project, anna: User) -> None:
    batch = cut_one_batch(quality, 3)
    label_next(quality, anna, [2, 2])
    assert latest_round(batch).state == RoundState.OPEN
    label_next(quality, anna, [1])
    assert latest_round(batch).state == RoundState.SEALED


def test_a_missing_label_keeps_the_batch_open(quality: Project, anna: User) -> None:
    batch = cut_one_batch(quality, 3)
    label_next(quality, anna, [2])
    with pytest.raises(Refusal) as refused:
        seal_round(actor=None, round_id=latest_round(batch).pk)
    assert (refused.value.code, refused.value.details["missing"]) == ("not_complete", 2)


def test_nothing_changes_in_a_sealed_batch(quality: Project, anna: User) -> None:
    batch = cut_one_batch(quality, 1)
    [assignment] = label_next(quality, anna, [2])
    with pytest.raises(Refusal) as refused:
        submit_labels(
            annotator=anna,
            assignment_id=assignment,
            sent=SentLabels(id=uuid4(), schema=1, answers=diqad_answers(1)),
        )
    assert refused.value.code == "sealed"
    unseal_round(actor=anna, round_id=latest_round(batch).pk, reason="The guidelines changed.")
    submit_labels(
        annotator=anna,
        assignment_id=assignment,
        sent=SentLabels(id=uuid4(), schema=1, answers=diqad_answers(1)),
    )
    assert FinalLabel.objects.get(superseded_at=None).answers == diqad_answers(1)


def test_a_batch_in_review_is_not_opened_again(drawn: Sample, anna: User) -> None:
    with pytest.raises(Refusal) as refused:
        unseal_round(actor=anna, round_id=drawn.round_id, reason="Please.")
    assert refused.value.code == "in_review"


def test_every_move_is_an_event_with_its_actor(carla: User, drawn: Sample) -> None:
    judge_all(carla, drawn)
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    moves = Event.objects.filter(subject_type="annotation.round", kind="state").order_by("id")
    assert list(moves.values_list("before", "after", "actor__username")) == [
        ("open", "sealed", None), ("sealed", "in_review", "carla"), ("in_review", "accepted", "carla"),
    ]  # fmt: skip


def test_a_gold_dialogue_leaves_its_batch(quality: Project, anna: User, tina: User) -> None:
    batch = cut_one_batch(quality, 3)
    task = Task.objects.filter(round__batch=batch).latest("rank")
    store_gold(quality, tina, task)
    label_next(quality, anna, [2, 2])
    batch.refresh_from_db()
    assert (batch.size, latest_round(batch).state) == (2, RoundState.SEALED)


def test_a_batch_is_sealed_when_its_last_open_dialogue_becomes_gold(
    quality: Project, anna: User, tina: User
) -> None:
    batch = cut_one_batch(quality, 2)
    label_next(quality, anna, [2])
    with TestCase.captureOnCommitCallbacks(execute=True):
        store_gold(quality, tina, Task.objects.get(round__batch=batch, state=TaskState.OPEN))
    assert latest_round(batch).state == RoundState.SEALED


def test_an_empty_batch_is_not_sealed(quality: Project, tina: User) -> None:
    batch = cut_one_batch(quality, 1)
    with TestCase.captureOnCommitCallbacks(execute=True):
        store_gold(quality, tina, Task.objects.get(round__batch=batch))
    with pytest.raises(Refusal) as refused:
        seal_round(actor=None, round_id=latest_round(batch).pk)
    assert refused.value.code == "empty"
