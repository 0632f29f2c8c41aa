"""Bad input and crashes around a batch: nothing may be left half-done."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Sample
from annotation.batch_review.selectors.sample_progress import class_estimate, sample_progress
from annotation.batch_review.services.batch_plan import update_batch_plan
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.judgements import SentJudgement, judge
from annotation.batch_review.services.returning import open_next_round, withdraw_labels
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.sealing import seal_round
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.services.planning import plan_labelling
from annotation.tasks.models.rounds import Batch, Round, RoundState
from annotation.tasks.models.work import Task, TaskState
from common.refusals import Refusal
from measures.batch_verdict import BatchVerdict
from projects.models import Event, Project, Role
from projects.services import set_group
from tests.annotation.batch_review.conftest import (
    cut_one_batch,
    diqad_answers,
    judge_all,
    label_next,
    latest_round,
    sample_items,
)
from tests.annotation.conftest import Joins, imported


def test_cutting_for_an_unknown_group_changes_nothing(quality: Project) -> None:
    imported(quality, 4)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    with pytest.raises(Refusal, match="no group “nowhere”"):
        cut_batches(project=quality, actor=None, cut_id=uuid4(), groups=["", "nowhere"])
    assert not Batch.objects.exists()
    assert not Task.objects.exclude(round=None).exists()


def test_a_batch_is_not_returned_to_an_unknown_group(drawn: Sample, carla: User) -> None:
    judge_all(carla, drawn, wrong=4)
    with pytest.raises(Refusal, match="no group “nowhere”"):
        return_round(
            controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Wrong.", group="nowhere"
        )
    assert Round.objects.get().state == RoundState.IN_REVIEW
    assert set(Task.objects.values_list("state", flat=True)) == {TaskState.FINAL}


def test_a_drawn_sample_keeps_its_plan(quality: Project, drawn: Sample, carla: User) -> None:
    judge_all(carla, drawn, wrong=2)
    update_batch_plan(project=quality, actor=carla, changes={"overall_percent": 50, "sample_size": 2})
    assert sample_progress(drawn).decision is BatchVerdict.RETURN
    with pytest.raises(Refusal) as refused:
        accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    assert refused.value.code == "fails"


def test_a_class_with_a_single_right_item_passes(quality: Project, anna: User, carla: User) -> None:
    BatchPlan.objects.update(class_percent=90)
    batch = cut_one_batch(quality, 4)
    label_next(quality, anna, [2, 2, 2, 1])
    sample = draw_sample(controller=carla, round_id=latest_round(batch).pk, sample_id=uuid4())
    judge_all(carla, sample)
    tallies = sample_progress(sample).tallies
    assert class_estimate(tallies[0], tallies, hides_drawn=False).n == 1
    accept_round(controller=carla, round_id=sample.round_id, decision_id=uuid4())


def test_another_group_takes_over_when_nobody_is_left(
    client: Client, quality: Project, anna: User, carla: User, mara: User, joins: Joins
) -> None:
    set_group(project=quality, actor=None, user=anna, group="east")
    batch = cut_one_batch(quality, 2)
    label_next(quality, anna, [2, 2])
    sample = draw_sample(controller=carla, round_id=latest_round(batch).pk, sample_id=uuid4())
    judge_all(carla, sample, wrong=2)
    anna.is_active = False
    anna.save()
    following = return_round(
        controller=carla, round_id=sample.round_id, decision_id=uuid4(), reason="Wrong.", group="east"
    )
    client.force_login(mara)
    assert "The project has no annotators" in client.get("/p/quality/batches/1/").content.decode()
    bela = joins("bela", quality, Role.ANNOTATOR)
    set_group(project=quality, actor=None, user=bela, group="west")
    assert "Nobody is left in the group" in client.get("/p/quality/batches/1/").content.decode()
    client.post(f"/p/quality/rounds/{following.pk}/group/", {"group": "west"})
    label_next(quality, bela, [2, 2])
    following.refresh_from_db()
    assert following.state == RoundState.SEALED


@pytest.mark.parametrize("at", ["withdraw_labels", "open_next_round"])
def test_a_crash_inside_a_verdict_undoes_everything(
    drawn: Sample, carla: User, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    steps: dict[str, Callable[..., object]] = {
        "withdraw_labels": withdraw_labels,
        "open_next_round": open_next_round,
    }

    def crash(*arguments: Any) -> None:
        steps[at](*arguments)
        raise OSError("the plug was pulled")

    judge_all(carla, drawn, wrong=4)
    events = Event.objects.count()
    monkeypatch.setattr(f"annotation.batch_review.services.verdicts.{at}", crash)
    verdict: dict[str, Any] = {
        "controller": carla,
        "round_id": drawn.round_id,
        "decision_id": uuid4(),
        "reason": "Wrong.",
    }
    with pytest.raises(OSError, match="plug"):
        return_round(**verdict)
    assert Round.objects.get().state == RoundState.IN_REVIEW
    assert set(Task.objects.values_list("state", flat=True)) == {TaskState.FINAL}
    assert not FinalLabel.objects.exclude(superseded_at=None).exists()
    assert Event.objects.count() == events
    monkeypatch.undo()
    assert return_round(**verdict).number == 2  # the same click again


# ---- what a large batch costs ----------------------------------------------------------------------------------------


def count_queries(quality: Project, anna: User, carla: User, size: int, sample: int) -> dict[str, int]:
    """Queries of every step of a batch of this size and of its page. All of the sample is judged wrong."""
    BatchPlan.objects.update(sample_size=sample, is_blind=False)
    batch = cut_one_batch(quality, size)
    label_next(quality, anna, [2] * size)
    row = latest_round(batch)
    Round.objects.filter(pk=row.pk).update(state=RoundState.OPEN)
    client, counts, drawn = Client(), {}, uuid4()
    client.force_login(carla)
    address = f"/p/quality/batches/{batch.number}/"
    client.get(address)

    def step(name: str, act: Any) -> None:
        with CaptureQueriesContext(connection) as queries:
            act()
        counts[name] = len(queries)

    step("seal", lambda: seal_round(actor=carla, round_id=row.pk))
    step("draw", lambda: draw_sample(controller=carla, round_id=row.pk, sample_id=drawn))
    first, *others = sample_items(Sample.objects.get(pk=drawn))
    sent = SentJudgement(uuid4(), diqad_answers(0), "Empty.")
    step("judge", lambda: judge(controller=carla, item_id=first.pk, sent=sent))
    for item in others:
        judge(controller=carla, item_id=item.pk, sent=SentJudgement(uuid4(), diqad_answers(0), "Empty."))
    step("page", lambda: client.get(address))
    step("next", lambda: client.get(f"/api/v1/rounds/{row.pk}/sample/next/"))
    step(
        "return",
        lambda: return_round(controller=carla, round_id=row.pk, decision_id=uuid4(), reason="Wrong."),
    )
    step("page after", lambda: client.get(f"{address}?round=1"))
    client.force_login(anna)
    step("accuracy", lambda: client.get("/p/quality/accuracy/"))
    Task.objects.filter(round__batch=batch).update(open_slots=0)  # the next batch must not get them
    return counts


def test_a_larger_batch_and_sample_take_as_many_queries(quality: Project, anna: User, carla: User) -> None:
    count_queries(quality, anna, carla, 2, 1)  # fills caches
    small, large = count_queries(quality, anna, carla, 4, 3), count_queries(quality, anna, carla, 24, 20)
    assert large == small
    assert large["draw"] <= 12
    assert large["return"] <= 27  # one of them looks for webhooks that report it
