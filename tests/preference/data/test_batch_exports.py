"""Only labels of accepted batches leave; every row says batch, round and review status; withdrawn ones never leave."""

import io
import json
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.batch_review.models import BatchPlan
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.undoing import undo_acceptance
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.services.planning import plan_labelling
from annotation.project_setup.services import create_project
from annotation.tasks.models.rounds import RoundState
from dialogues.models import Dialogue, Split
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.writing import export
from preference.data.selectors.selection import Filters, preview, select
from projects.models import Project, Role
from tests.annotation.batch_review.conftest import judge_all, label_next
from tests.annotation.conftest import Joins, imported

EVERYTHING = Filters(include_unreviewed=True)


def rows(project: Project, format: str = "diqad", filters: Filters | None = None) -> list[dict[str, Any]]:
    out = io.BytesIO()
    export(FORMATS[format], select(project, filters or Filters()), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.fixture
def batched(mara: User) -> Project:
    """Two batches of three dialogues; all of a batch is judged, and 60 % must be right."""
    project = create_project(slug="quality", preset="diqad", actor=mara)
    project.labelling.min_seconds, project.labelling.overlap = 0, 1
    project.labelling.save()
    BatchPlan.objects.create(
        project=project,
        question="quality",
        sample_size=3,
        overall_percent=60,
        class_percent=0,
        double_every=0,
    )
    imported(project, 6)
    for n, dialogue in enumerate(Dialogue.objects.all()):
        Dialogue.objects.filter(pk=dialogue.pk).update(split=Split.TRAIN, external_id=f"d{n}")
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    cut_batches(project=project, actor=None, cut_id=uuid4(), size=3)
    return project


@pytest.fixture
def reviewed(batched: Project, joins: Joins) -> Project:
    """The first batch accepted, the second returned."""
    carla = joins("carla", batched, Role.CONTROLLER)
    label_next(batched, joins("anna", batched, Role.ANNOTATOR), [2] * 6)
    for number, wrong in ((1, 0), (2, 3)):
        row = batched.rounds.get(batch__number=number)
        sample = draw_sample(controller=carla, round_id=row.pk, sample_id=uuid4())
        judge_all(carla, sample, wrong=wrong)
        if wrong:
            return_round(controller=carla, round_id=row.pk, decision_id=uuid4(), reason="All of it.")
        else:
            accept_round(controller=carla, round_id=row.pk, decision_id=uuid4())
    return batched


def test_nothing_leaves_before_it_is_accepted(batched: Project, joins: Joins) -> None:
    label_next(batched, joins("anna", batched, Role.ANNOTATOR), [2] * 6)
    assert rows(batched) == []
    assert {row["review"] for row in rows(batched, filters=EVERYTHING)} == {"sealed"}


def test_accepted_labels_leave_with_their_batch(reviewed: Project) -> None:
    left = rows(reviewed)
    assert [(row["batch"], row["round"], row["review"]) for row in left] == [(1, 1, "accepted")] * 3
    assert preview(reviewed, Filters()).leaving == 3


def test_labels_leave_in_no_export_after_their_acceptance_is_undone(reviewed: Project) -> None:
    row = reviewed.rounds.get(state=RoundState.ACCEPTED)
    assert row.decision_id
    assert row.ended_by
    undo_acceptance(controller=row.ended_by, round_id=row.pk, decision_id=row.decision_id)
    assert rows(reviewed) == []


@pytest.mark.parametrize("format", ["diqad", "judgements"])
def test_withdrawn_labels_leave_in_no_format(reviewed: Project, format: str) -> None:
    everything = rows(reviewed, format, EVERYTHING)
    labelled = [row for row in everything if row.get("label") is not None or "value" in row]
    assert {row["batch"] for row in labelled} == {1}


def test_the_next_round_says_its_number(reviewed: Project, joins: Joins) -> None:
    label_next(reviewed, joins("bela", reviewed, Role.ANNOTATOR), [1] * 3)
    again = [row for row in rows(reviewed, filters=EVERYTHING) if row["batch"] == 2]
    assert [(row["round"], row["review"], row["label"]) for row in again] == [(2, "sealed", 1)] * 3
