"""Cutting dialogues into batches."""

from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.batch_review.models import BatchPlan
from annotation.batch_review.services.cutting import cut_batches
from annotation.labelling.services.planning import plan_labelling
from annotation.project_setup.services import create_project
from annotation.tasks.models.rounds import Batch, Round
from annotation.tasks.models.work import Task
from annotation.tasks.services.assignment import subtract_held
from common.refusals import Refusal
from dialogues.models import Dialogue, DialogueState, Origin
from projects.models import Project, Role
from projects.services import set_group
from tests.annotation.conftest import Joins, imported


def test_batches_follow_the_order_in_which_dialogues_are_given_out(quality: Project) -> None:
    imported(quality, 7)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    batches = cut_batches(project=quality, actor=None, cut_id=uuid4(), size=3)
    assert [(batch.number, batch.size) for batch in batches] == [(1, 3), (2, 3), (3, 1)]
    ranks = list(Task.objects.order_by("round__batch__number", "rank").values_list("rank", flat=True))
    assert ranks == sorted(ranks)


def test_the_last_smaller_batch_can_wait(quality: Project) -> None:
    imported(quality, 7)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    batches = cut_batches(project=quality, actor=None, cut_id=uuid4(), size=3, with_rest=False)
    assert len(batches) == 2
    assert Task.objects.filter(round=None).count() == 1


def test_a_batch_of_more_dialogues_than_a_statement_has_parameters(quality: Project) -> None:
    size = 66_000
    kind = {"project": quality, "origin": Origin.IMPORTED, "state": DialogueState.FINISHED}
    dialogues = Dialogue.objects.bulk_create(Dialogue(**kind) for _ in range(size))
    rows = (Task(project=quality, dialogue=one, overlap=1, open_slots=1) for one in dialogues)
    Task.objects.bulk_create(rows, batch_size=5000)
    [batch] = cut_batches(project=quality, actor=None, cut_id=uuid4(), size=size)
    tasks = Task.objects.filter(round__batch=batch)
    assert tasks.count() == size
    subtract_held(quality, tasks.values_list("pk", flat=True))


def test_the_same_cut_again_cuts_nothing(quality: Project) -> None:
    imported(quality, 4)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    cut_id = uuid4()
    first = cut_batches(project=quality, actor=None, cut_id=cut_id)
    assert cut_batches(project=quality, actor=None, cut_id=cut_id) == first
    with pytest.raises(Refusal, match="not enough"):
        cut_batches(project=quality, actor=None, cut_id=uuid4())


def test_a_repeated_cut_must_be_the_same(quality: Project, mara: User) -> None:
    imported(quality, 4)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    sent: dict[str, Any] = {"cut_id": uuid4(), "size": 2, "groups": []}
    first = cut_batches(project=quality, actor=mara, **sent)
    for other in ({"size": 3}, {"size": None}, {"groups": None}, {"with_rest": False}):
        with pytest.raises(Refusal) as refused:
            cut_batches(project=quality, actor=mara, **(sent | other))
        assert refused.value.code == "id_in_use"
    BatchPlan.objects.update(batch_size=1)
    assert cut_batches(project=quality, actor=mara, **sent) == first


def test_groups_take_turns(quality: Project, anna: User, joins: Joins) -> None:
    for person, group in ((anna, "east"), (joins("bela", quality, Role.ANNOTATOR), "west")):
        set_group(project=quality, actor=None, user=person, group=group)
    imported(quality, 6)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    cut_batches(project=quality, actor=None, cut_id=uuid4(), size=2)
    assert list(Round.objects.values_list("group", flat=True)) == ["east", "west", "east"]
    assert set(Task.objects.filter(round__group="west").values_list("group", flat=True)) == {"west"}


def test_a_project_without_tasks_has_nothing_to_cut(quality: Project) -> None:
    with pytest.raises(Refusal):
        cut_batches(project=quality, actor=None, cut_id=uuid4())
    assert not Batch.objects.exists()


def test_an_id_belongs_to_one_project(quality: Project, mara: User) -> None:
    other, cut_id = create_project(slug="other", preset="diqad", actor=mara), uuid4()
    for project in (quality, other):
        imported(project, 2)
        plan_labelling(project=project, actor=None, plan_id=uuid4())
    [first] = cut_batches(project=quality, actor=None, cut_id=cut_id)
    [second] = cut_batches(project=other, actor=None, cut_id=cut_id)
    assert (first.project, second.project) == (quality, other)
