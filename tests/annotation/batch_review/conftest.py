"""A DiQAD project in batches, labelled by one person a dialogue; who judges them."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import TestCase

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Judgement, Sample, SampleItem
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.judgements import SentJudgement, judge
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.project_setup.services import create_project
from annotation.tasks.models.rounds import Batch, Round
from annotation.tasks.services.claiming import claim_next_task
from projects.models import Project, Role
from tests.annotation.conftest import Joins, imported


def says(quality: int) -> dict[str, Any]:
    """A whole answer of the preset diqad."""
    given: dict[str, Any] = {"verify": 0, "quality": quality}
    if quality in (0, 1):
        given[f"reasons_{quality}"] = ["none"]
    return {"dialogue": given, "utterances": {}}


@pytest.fixture
def quality(mara: User) -> Project:
    """In the place of the one beside: one person a dialogue; of a sample of four, 75 % must be right."""
    project = create_project(slug="quality", preset="diqad", actor=mara)
    project.labelling.min_seconds, project.labelling.overlap = 0, 1
    project.labelling.save()
    BatchPlan.objects.create(
        project=project,
        question="quality",
        sample_size=4,
        overall_percent=75,
        class_percent=0,
        double_every=0,
    )
    return project


@pytest.fixture
def carla(joins: Joins, quality: Project) -> User:
    return joins("carla", quality, Role.CONTROLLER)


@pytest.fixture
def chris(joins: Joins, quality: Project) -> User:
    return joins("chris", quality, Role.CONTROLLER)


def cut(project: Project, dialogues: int = 8, **more: Any) -> Batch:
    imported(project, dialogues)
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    [batch] = cut_batches(project=project, actor=None, cut_id=uuid4(), **more)
    return batch


def round_of(batch: Batch) -> Round:
    """The latest one."""
    return Round.objects.filter(batch=batch).select_related("batch", "project").latest("number")


def label(project: Project, person: User, scores: Sequence[int]) -> list[int]:
    """The person labels as many dialogues; returns the assignments. What commits would start is run."""
    made = []
    for score in scores:
        with TestCase.captureOnCommitCallbacks(execute=True):
            claimed = claim_next_task(annotator=person, project=project, claim_id=uuid4())
            sent = SentLabels(id=uuid4(), schema=1, answers=says(score))
            submit_labels(annotator=person, assignment_id=claimed.pk, sent=sent)
        made.append(claimed.pk)
    return made


@pytest.fixture
def sealed(quality: Project, anna: User) -> Round:
    """Eight dialogues that Anna labelled: five with 2, three with 1."""
    batch = cut(quality)
    label(quality, anna, [2, 2, 2, 2, 2, 1, 1, 1])
    return round_of(batch)


@pytest.fixture
def drawn(sealed: Round, carla: User) -> Sample:
    return draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4(), seed=7)


def items(sample: Sample) -> list[SampleItem]:
    return list(SampleItem.objects.filter(sample=sample).select_related("final").order_by("place"))


def judges(controller: User, item: SampleItem, *, right: bool, judgement_id: UUID | None = None) -> Judgement:
    """right: the controller labels as the annotators did."""
    given = int(item.label)
    answers = says(given if right else 2 - given // 2)
    sent = SentJudgement(id=judgement_id or uuid4(), answers=answers, reason="" if right else "Look again.")
    return judge(controller=controller, item_id=item.pk, sent=sent)


def judges_all(controller: User, sample: Sample, *, wrong: int = 0) -> None:
    for place, item in enumerate(items(sample)):
        judges(controller, item, right=place >= wrong)
