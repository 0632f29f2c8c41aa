"""Planning dialogues to be written."""

from uuid import uuid4

import pytest

from accounts.models import User
from annotation.authoring.services.planning import plan_dialogues
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Task
from common.refusals import Invalid, Refusal
from projects.models import Event, Project


def test_the_same_plan_adds_nothing(project: Project, mara: User) -> None:
    plan_id = uuid4()
    assert plan_dialogues(project=project, actor=mara, count=3, plan_id=plan_id) == 3
    assert plan_dialogues(project=project, actor=mara, count=3, plan_id=plan_id) == 0
    assert Task.objects.filter(project=project).count() == 3


@pytest.mark.parametrize(("changed", "field"), [({"count": 4}, "count"), ({"priority": 1}, "priority")])
def test_a_used_plan_id_is_refused_with_another_plan(
    project: Project, mara: User, changed: dict[str, int], field: str
) -> None:
    plan_id = uuid4()
    plan_dialogues(project=project, actor=mara, count=3, plan_id=plan_id)
    with pytest.raises(Refusal) as refused:
        plan_dialogues(project=project, actor=mara, plan_id=plan_id, **{"count": 3, **changed})
    assert (refused.value.code, refused.value.details) == ("id_in_use", {"field": field})
    assert Task.objects.filter(project=project).count() == 3


def test_a_plan_id_of_another_project_is_refused(project: Project, mara: User) -> None:
    plan_id = uuid4()
    plan_dialogues(project=project, actor=mara, count=3, plan_id=plan_id)
    other = create_project(slug="other", preset="diamante", actor=mara)
    with pytest.raises(Refusal) as refused:
        plan_dialogues(project=other, actor=mara, count=3, plan_id=plan_id)
    assert refused.value.code == "id_in_use"


def test_an_early_plan_can_be_repeated(project: Project, mara: User) -> None:
    plan_id = uuid4()
    plan_dialogues(project=project, actor=mara, count=3, plan_id=plan_id)
    Event.objects.filter(subject_id=str(plan_id)).update(data={"count": 3})  # without the priority
    assert plan_dialogues(project=project, actor=mara, count=3, plan_id=plan_id) == 0


@pytest.mark.parametrize("count", [0, 100_001])
def test_a_plan_has_a_limit(project: Project, mara: User, count: int) -> None:
    with pytest.raises(Invalid):
        plan_dialogues(project=project, actor=mara, count=count, plan_id=uuid4())
