"""Drawing the sample of a batch."""

from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Sample, SampleItem
from annotation.batch_review.selectors.batch_plan import batch_plan_for
from annotation.batch_review.selectors.sample_progress import sample_progress
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import return_round
from annotation.project_setup.services import create_project
from annotation.tasks.models.rounds import Round
from annotation.tasks.models.work import Task
from common.refusals import Refusal
from projects.models import Project, Role
from tests.annotation.batch_review.conftest import (
    cut_one_batch,
    judge_all,
    judge_item,
    label_next,
    latest_round,
    sample_items,
)
from tests.annotation.conftest import Joins


def code(refused: pytest.ExceptionInfo[Refusal]) -> str:
    return refused.value.code


def test_the_seed_does_not_follow_from_the_id_that_the_controller_sends(sealed: Round, carla: User) -> None:
    sample_id, seeds = uuid4(), set()
    for _draw in range(2):
        with transaction.atomic():
            seeds.add(draw_sample(controller=carla, round_id=sealed.pk, sample_id=sample_id).seed)
            transaction.set_rollback(True)
    assert len(seeds) == 2


def test_redraw_confirms_the_sample_of_a_seed(drawn: Sample, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("redraw", "quality")
    expected = "batch 1, round 1: 4 of 8 with the seed 7: the same dialogues\n"
    assert capsys.readouterr().out == expected
    assert drawn.population == 8
    assert drawn.classes == {"2": 5, "1": 3}


def test_redraw_reports_a_changed_sample(drawn: Sample) -> None:
    chosen = sample_items(drawn)
    other = Task.objects.filter(round=drawn.round).exclude(drawn__in=chosen).first()
    SampleItem.objects.filter(pk=chosen[0].pk).update(task=other)
    with pytest.raises(CommandError, match="1 of 1 samples differ"):
        call_command("redraw", "quality", "--batch", "1")


def test_redraw_ignores_what_the_controller_labels_later(quality: Project, anna: User, joins: Joins) -> None:
    olga = joins("olga", quality, Role.ANNOTATOR, Role.CONTROLLER)
    batch = cut_one_batch(quality, 8)
    label_next(quality, anna, [2] * 6)
    label_next(quality, olga, [1] * 2)
    sample = draw_sample(controller=olga, round_id=latest_round(batch).pk, sample_id=uuid4())
    judge_all(olga, sample, wrong=4)
    return_round(controller=olga, round_id=sample.round_id, decision_id=uuid4(), reason="Read twice.")
    label_next(quality, olga, [2] * 4)
    call_command("redraw", "quality")


def test_redraw_without_samples_fails(quality: Project) -> None:
    with pytest.raises(CommandError, match="No sample was drawn"):
        call_command("redraw", "quality")


def test_one_round_has_one_sample(drawn: Sample, carla: User, chris: User) -> None:
    assert draw_sample(controller=carla, round_id=drawn.round_id, sample_id=drawn.pk) == drawn
    with pytest.raises(Refusal) as refused:
        draw_sample(controller=chris, round_id=drawn.round_id, sample_id=uuid4())
    assert code(refused) == "already_drawn"


def test_an_open_batch_has_no_sample(quality: Project, carla: User) -> None:
    with pytest.raises(Refusal) as refused:
        draw_sample(controller=carla, round_id=latest_round(cut_one_batch(quality)).pk, sample_id=uuid4())
    assert code(refused) == "not_sealed"


def test_a_batch_smaller_than_the_sample_is_judged_whole(quality: Project, anna: User, carla: User) -> None:
    batch = cut_one_batch(quality, 3)
    label_next(quality, anna, [2, 2, 1])
    sample = draw_sample(controller=carla, round_id=latest_round(batch).pk, sample_id=uuid4())
    assert SampleItem.objects.filter(sample=sample).count() == 3
    judge_all(carla, sample)
    progress = sample_progress(sample)
    assert (progress.accuracy.low, progress.accuracy.high) == (1, 1)


def test_own_work_is_never_drawn(quality: Project, anna: User, joins: Joins) -> None:
    olga = joins("olga", quality, Role.ANNOTATOR, Role.CONTROLLER)
    batch = cut_one_batch(quality, 8)
    label_next(quality, anna, [2] * 5)
    label_next(quality, olga, [1] * 3)
    sample = draw_sample(controller=olga, round_id=latest_round(batch).pk, sample_id=uuid4())
    assert (sample.population, sample.own, sample.classes) == (5, 3, {"2": 5})
    assert {item.label for item in sample_items(sample)} == {"2"}


def test_a_controller_who_labelled_everything_cannot_draw(quality: Project, joins: Joins) -> None:
    olga = joins("olga", quality, Role.ANNOTATOR, Role.CONTROLLER)
    batch = cut_one_batch(quality, 2)
    label_next(quality, olga, [2, 2])
    with pytest.raises(Refusal) as refused:
        draw_sample(controller=olga, round_id=latest_round(batch).pk, sample_id=uuid4())
    assert code(refused) == "own_work"


def test_a_stratified_sample_has_every_class(quality: Project, anna: User, carla: User) -> None:
    BatchPlan.objects.update(is_stratified=True)
    batch = cut_one_batch(quality, 10)
    label_next(quality, anna, [2] * 9 + [1])
    sample = draw_sample(controller=carla, round_id=latest_round(batch).pk, sample_id=uuid4())
    assert sorted(item.label for item in sample_items(sample)) == ["1", "2", "2", "2"]
    call_command("redraw", "quality")
    first = next(item for item in sample_items(sample) if item.label == "1")
    for item in sample_items(sample):
        judge_item(carla, item, right=item.pk != first.pk)
    # One of ten is wrong: weighted by class, not one of four.
    assert sample_progress(sample).accuracy.value == pytest.approx(0.9)


def test_the_default_question_has_the_most_options(mara: User) -> None:
    project = create_project(slug="helpdesk", preset="dialeval", actor=mara)
    assert batch_plan_for(create_project(slug="q", preset="diqad", actor=mara)).question == "quality"
    assert batch_plan_for(project).question == "A"


def test_an_id_belongs_to_one_sample(drawn: Sample, carla: User, chris: User) -> None:
    with pytest.raises(Refusal) as refused:
        draw_sample(controller=chris, round_id=drawn.round_id, sample_id=drawn.pk)
    assert code(refused) == "id_in_use"
    assert draw_sample(controller=carla, round_id=drawn.round_id, sample_id=drawn.pk) == drawn
