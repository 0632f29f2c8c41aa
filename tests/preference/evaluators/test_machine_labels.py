"""Batches of machine labels: marked, sampled, accepted or returned, and never counted as people's."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from rest_framework.test import APIClient

from accounts.models import User
from annotation.batch_review.models import BatchPlan
from annotation.batch_review.selectors.boards import Boards
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Submission
from annotation.labelling.selectors.ratings import independent_submissions
from annotation.labelling.selectors.workbench import labelling_progress
from annotation.labelling.selectors.workload import work_by_annotator
from annotation.labelling.services.planning import plan_labelling
from annotation.tasks.models.rounds import Batch, Round, RoundState
from annotation.tasks.models.work import Task, TaskState
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Invalid, Refusal
from preference.evaluators.models import ScoringRun
from preference.evaluators.selectors.judgements import judged_rows
from preference.evaluators.services.assessments import LabelChoice, label_by_machine
from preference.runs.assessor_options import write_labelled_rows
from projects.models import Project, Role
from tests.annotation.batch_review.conftest import judge_all, label_next, sample_items
from tests.annotation.batch_review.conftest import judge_item as judge_item
from tests.annotation.conftest import Joins
from tests.api.conftest import program as program
from tests.preference.conftest import EVERYTHING, Rows, refused
from tests.preference.conftest import rows as rows
from tests.preference.evaluators.assessed import SURE, UNSURE, assessed_run, ids_of
from tests.preference.evaluators.conftest import imported
from tests.preference.labelled import labelled_snapshot
from tests.sizes import MACHINE_LABELS

pytestmark = pytest.mark.django_db
ALL = LabelChoice({"0": 0, "1": 1, "2": 2})


@pytest.fixture
def labelling(quality: Project) -> Project:
    """One person per dialogue; 75 % of a sample of four must be right."""
    quality.labelling.min_seconds, quality.labelling.overlap = 0, 1
    quality.labelling.save()
    Task.objects.filter(project=quality).update(overlap=1, open_slots=1)
    BatchPlan.objects.create(
        project=quality,
        question="quality",
        sample_size=4,
        overall_percent=75,
        class_percent=0,
        double_every=0,
    )
    return quality


@pytest.fixture
def run(labelling: Project) -> ScoringRun:
    """Three dialogues of the classes 0, 1 and 2, of which the assessor is sure."""
    return assessed_run(labelling, dict(zip(ids_of(labelling), SURE, strict=True)))


@pytest.fixture
def anna(joins: Joins, labelling: Project) -> User:
    return joins("anna", labelling, Role.ANNOTATOR)


@pytest.fixture
def carla(joins: Joins, labelling: Project) -> User:
    return joins("carla", labelling, Role.CONTROLLER)


def machine_batch(run: ScoringRun, choice: LabelChoice = ALL) -> Batch:
    return label_by_machine(run=run, actor=None, batch_id=uuid4(), choice=choice)


def round_of(batch: Batch) -> Round:
    return Round.objects.filter(batch=batch).latest("number")


def accepted(batch: Batch, controller: User) -> None:
    sample = draw_sample(controller=controller, round_id=round_of(batch).pk, sample_id=uuid4())
    judge_all(controller, sample)
    accept_round(controller=controller, round_id=sample.round_id, decision_id=uuid4())


# ---- which dialogues are labelled ------------------------------------------------------------------------------------


def test_a_batch_is_sealed_with_labels_that_name_their_model(run: ScoringRun) -> None:
    batch = machine_batch(run)
    row = round_of(batch)
    assert (batch.size, row.state, row.machine) == (3, RoundState.SEALED, "chat-assessor-1")
    labels = FinalLabel.objects.filter(task__round=row).order_by("dialogue")
    assert [label.answers["dialogue"] for label in labels] == [{"quality": n} for n in range(3)]
    assert {label.origin for label in labels} == {LabelOrigin.MACHINE}
    assert labels[0].machine == {
        "run": str(run.pk),
        "model": "chat-assessor-1",
        "version": "abc",
        "probability": 0.96,
    }
    assert not Task.objects.filter(open_slots__gt=0).exists()  # nobody gets them


def test_classes_and_unsure_dialogues_can_stay_with_people(labelling: Project) -> None:
    first, second, third = ids_of(labelling)
    run = assessed_run(labelling, {first: SURE[0], second: SURE[2], third: UNSURE})
    batch = machine_batch(run, LabelChoice({"0": 1, "2": 2}, least_probability=0.9, most=1))
    assert [label.dialogue_id for label in FinalLabel.objects.filter(task__round__batch=batch)] == [first]
    assert FinalLabel.objects.get().answers["dialogue"] == {"quality": 1}  # as mapped
    batch = machine_batch(run, LabelChoice({"0": 1, "2": 2}, least_probability=0.9))
    assert [label.dialogue_id for label in FinalLabel.objects.filter(task__round__batch=batch)] == [second]
    assert Task.objects.get(dialogue=third).state == TaskState.OPEN


def test_what_somebody_has_begun_stays_with_them(run: ScoringRun, anna: User) -> None:
    claimed = claim_next_task(annotator=anna, project=run.project, claim_id=uuid4())
    assert machine_batch(run).size == 2
    assert Task.objects.get(pk=claimed.task_id).state == TaskState.OPEN
    with refused("nothing_to_label"):
        machine_batch(run)


def test_the_same_request_again_returns_the_first_batch(run: ScoringRun) -> None:
    batch_id = uuid4()
    first = label_by_machine(run=run, actor=None, batch_id=batch_id, choice=ALL)
    assert label_by_machine(run=run, actor=None, batch_id=batch_id, choice=ALL) == first
    with refused("id_in_use"):
        label_by_machine(run=run, actor=None, batch_id=batch_id, choice=LabelChoice({"0": 0}))
    assert Batch.objects.count() == 1


@pytest.mark.parametrize(
    ("choice", "field"),
    [
        (LabelChoice({}), "options"),
        (LabelChoice({"0": 7}), "labels"),
        (LabelChoice({"0": 0}, least_probability=1.5), "least_probability"),
        (LabelChoice({"0": 0}, most=0), "most"),
    ],
)
def test_a_choice_that_cannot_be_names_its_field(run: ScoringRun, choice: LabelChoice, field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        machine_batch(run, choice)
    assert refusal.value.details["field"] == field
    assert not Batch.objects.exists()


def test_batches_must_be_judged_by_a_question_that_the_machine_answers(run: ScoringRun) -> None:
    BatchPlan.objects.update(question="")
    with pytest.raises(Refusal) as refusal:
        machine_batch(run)
    assert refusal.value.code == "no_checked_question"


@pytest.mark.parametrize("change", [{"origin": LabelOrigin.SINGLE}, {"machine": None}])
def test_the_database_keeps_the_mark(run: ScoringRun, change: dict[str, Any]) -> None:
    machine_batch(run)
    with pytest.raises(IntegrityError, match="machine_labels_are_marked"), transaction.atomic():
        FinalLabel.objects.update(**change)


# ---- never counted as people's ---------------------------------------------------------------------------------------


def test_machine_labels_do_not_count_as_work(run: ScoringRun, anna: User, carla: User) -> None:
    imported(run.project, 1)
    accepted(machine_batch(run), carla)
    assert not Submission.objects.exists()
    assert not independent_submissions(run.project).exists()
    assert work_by_annotator(run.project) == []
    progress = labelling_progress(run.project)
    assert (progress.final, progress.machine, progress.judgements) == (0, 3, 0)
    assert list(judged_rows(run.project, "quality")) == []  # evaluators are compared with people only
    assert Boards(run.project).ended == []


def test_exports_and_snapshots_mark_them_and_assessors_do_not_learn_from_them(
    run: ScoringRun, carla: User, mara: User, rows: Rows, tmp_path: Any
) -> None:
    accepted(machine_batch(run), carla)
    assert [row["origin"] for row in rows("diqad", EVERYTHING, run.project)] == ["machine"] * 3
    snapshot = labelled_snapshot(run.project, mara)
    assert snapshot.card["origins"] == {"machine": 3}
    assert snapshot.card["gaps"]["machine_labels"] == 3
    assert snapshot.card["labels"] == {}
    assert write_labelled_rows(snapshot, "quality", tmp_path).read_text() == ""


# ---- the verdict -----------------------------------------------------------------------------------------------------


def test_a_returned_batch_goes_back_to_people(run: ScoringRun, anna: User, carla: User) -> None:
    batch = machine_batch(run)
    sample = draw_sample(controller=carla, round_id=round_of(batch).pk, sample_id=uuid4())
    judge_all(carla, sample, wrong=2)
    reason = "Too often wrong."
    return_round(controller=carla, round_id=sample.round_id, decision_id=uuid4(), reason=reason)
    row = round_of(batch)
    assert (row.number, row.machine, row.state) == (2, "", RoundState.OPEN)
    assert not FinalLabel.objects.filter(superseded_at=None).exists()
    label_next(run.project, anna, [2, 1, 0])
    row.refresh_from_db()
    assert row.state == RoundState.SEALED
    origins = FinalLabel.objects.filter(superseded_at=None).values_list("origin", flat=True)
    assert set(origins) == {LabelOrigin.SINGLE}


@pytest.mark.soak
@pytest.mark.parametrize("is_right", [True, False])
def test_a_large_batch_is_sealed_sampled_judged_and_decided(
    labelling: Project, anna: User, carla: User, is_right: bool
) -> None:
    imported(labelling, MACHINE_LABELS - 3)
    plan_labelling(project=labelling, actor=None, plan_id=uuid4())
    sizes = {"sample_size": min(100, MACHINE_LABELS // 2), "overall_percent": 92, "class_percent": 90}
    BatchPlan.objects.update(**sizes)
    run = assessed_run(labelling, {dialogue: SURE[dialogue % 3] for dialogue in ids_of(labelling)})
    batch = machine_batch(run)
    assert batch.size == MACHINE_LABELS
    sample = draw_sample(controller=carla, round_id=round_of(batch).pk, sample_id=uuid4())
    assert len(sample_items(sample)) == sizes["sample_size"]
    judge_all(carla, sample, wrong=0 if is_right else sizes["sample_size"] // 4)
    if is_right:
        accept_round(controller=carla, round_id=sample.round_id, decision_id=uuid4())
        assert FinalLabel.objects.filter(superseded_at=None).count() == MACHINE_LABELS
        assert labelling_progress(labelling).final == 0
    else:
        return_round(controller=carla, round_id=sample.round_id, decision_id=uuid4(), reason="Again.")
        assert Task.objects.filter(round=round_of(batch), open_slots=1).count() == MACHINE_LABELS
        claimed = claim_next_task(annotator=anna, project=labelling, claim_id=uuid4())
        assert claimed.task.round_id == round_of(batch).pk


def test_over_the_api(run: ScoringRun, mara: User, program: Callable[..., APIClient]) -> None:
    address = f"/api/v1/scoring-runs/{run.pk}/machine-labels/"
    body = {"id": str(uuid4()), "options": {"0": 0, "2": 2}}
    answer = program(mara).post(address, body, format="json")
    assert (answer.status_code, answer.json()) == (201, {"project": "quality", "number": 1, "size": 2})
    answer = program(mara).post(address, {**body, "id": str(uuid4())}, format="json")
    assert answer.json()["code"] == "nothing_to_label"
