"""Ordering the queue of people by an assessor's uncertainty, and undoing it."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from annotation.labelling.models.labels import LabelDraft
from annotation.tasks.models.work import PRIORITY_STEP, Task
from annotation.tasks.selectors.queue import queue_order
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Dialogue
from preference.evaluators.models import ScoringRun
from preference.evaluators.selectors.assessments import preview_queue
from preference.evaluators.services.assessments import order_queue_by_uncertainty, undo_queue_order
from projects.models import Event, Project, Role
from tests.annotation.conftest import Joins
from tests.api.conftest import program as program
from tests.preference.conftest import refused
from tests.preference.evaluators.assessed import SURE, UNSURE, assessed_run, ids_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(quality: Project) -> ScoringRun:
    """The second of three dialogues is uncertain, the first is certain, the third has no score."""
    first, second, _third = ids_of(quality)
    return assessed_run(quality, {first: SURE[2], second: UNSURE})


def given_out(project: Project) -> list[int]:
    """Dialogues in the order in which people get them."""
    tasks = Task.objects.filter(project=project, open_slots__gt=0).order_by("rank", "id")
    return [task.dialogue_id or 0 for task in tasks]


def places(project: Project) -> dict[int, int]:
    return dict(Task.objects.filter(project=project).values_list("pk", "place"))


def test_people_get_the_least_certain_dialogues_first_and_those_without_a_score_last(
    run: ScoringRun, mara: User, joins: Joins
) -> None:
    first, second, third = ids_of(run.project)
    assert (preview_queue(run).ordered, preview_queue(run).others) == (2, 1)
    assert order_queue_by_uncertainty(run=run, actor=mara, order_id=uuid4()) == 2
    assert given_out(run.project) == [second, first, third]
    anna = joins("anna", run.project, Role.ANNOTATOR)
    claimed = claim_next_task(annotator=anna, project=run.project, claim_id=uuid4())
    assert claimed.dialogue_id == second
    assert not LabelDraft.objects.exists()  # nothing is filled in
    event = queue_order(run.project)
    assert event is not None
    assert event.actor == mara
    assert event.data["source"] == {"run": str(run.pk), "by": "entropy"}


def test_somebody_who_was_past_a_dialogue_still_gets_it(run: ScoringRun, joins: Joins) -> None:
    """The cursor of a claim is reset: a task may be free behind it."""
    anna = joins("anna", run.project, Role.ANNOTATOR)
    Task.objects.filter(dialogue=ids_of(run.project)[1]).update(place=PRIORITY_STEP - 1)
    for _time in range(2):
        claim_next_task(annotator=anna, project=run.project, claim_id=uuid4())
    order_queue_by_uncertainty(run=run, actor=None, order_id=uuid4())
    third = claim_next_task(annotator=anna, project=run.project, claim_id=uuid4())
    assert third.dialogue_id == ids_of(run.project)[1]


def test_the_same_request_again_orders_nothing_more(run: ScoringRun, mara: User) -> None:
    order_id = uuid4()
    order_queue_by_uncertainty(run=run, actor=mara, order_id=order_id)
    Task.objects.filter(dialogue=ids_of(run.project)[0]).update(open_slots=0)
    assert order_queue_by_uncertainty(run=run, actor=mara, order_id=order_id) == 2
    assert Event.objects.filter(subject_id=str(order_id)).count() == 1
    with refused("id_in_use"):
        undo_queue_order(run=run, actor=mara, request_id=order_id)


def test_undo_restores_every_place_also_after_two_orders(run: ScoringRun, mara: User) -> None:
    Task.objects.filter(dialogue=ids_of(run.project)[2]).update(place=PRIORITY_STEP - 1)
    before = places(run.project)
    order_queue_by_uncertainty(run=run, actor=mara, order_id=uuid4())
    other = assessed_run(run.project, dict.fromkeys(ids_of(run.project), UNSURE))
    order_queue_by_uncertainty(run=other, actor=mara, order_id=uuid4())
    assert places(run.project) != before
    assert undo_queue_order(run=run, actor=mara, request_id=uuid4()) == 3
    assert places(run.project) == before
    assert queue_order(run.project) is None


def test_priorities_and_taken_dialogues_keep_their_place(run: ScoringRun) -> None:
    first, second, third = ids_of(run.project)
    Task.objects.filter(dialogue=third).update(priority=-1)
    Task.objects.filter(dialogue=second).update(open_slots=0)
    order_queue_by_uncertainty(run=run, actor=None, order_id=uuid4())
    assert given_out(run.project) == [third, first]
    assert Task.objects.get(dialogue=second).original_place is None


def test_only_an_assessors_finished_scores_order_a_queue(run: ScoringRun) -> None:
    run.evaluator = "length"
    with refused("no_assessments"):
        order_queue_by_uncertainty(run=run, actor=None, order_id=uuid4())


def test_over_the_api(run: ScoringRun, mara: User, program: Callable[..., APIClient]) -> None:
    client, address = program(mara), f"/api/v1/scoring-runs/{run.pk}/queue-order/"
    assert client.get(address).json() == {"ordered": 2, "others": 1, "run": None}
    answer = client.post(address, {"id": str(uuid4())}, format="json")
    assert (answer.status_code, answer.json()) == (200, {"count": 2})
    assert client.get(address).json()["run"] == str(run.pk)
    answer = client.post(f"{address}undo/", {"id": str(uuid4())}, format="json")
    assert answer.json() == {"count": 3}
    assert Dialogue.objects.count() == 3
