"""A DiQAD project in batches, labelled by one person per dialogue, and the controllers who judge it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import pytest
from django.test import Client, TestCase

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Judgement, Sample, SampleItem
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.judgements import SentJudgement, judge
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import return_round
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.onboarding.services.gold import make_gold
from annotation.project_setup.services import create_project
from annotation.tasks.models.rounds import Batch, Round
from annotation.tasks.models.work import Task
from annotation.tasks.services.claiming import claim_next_task
from projects.models import Project, Role
from tests.annotation.conftest import Joins, imported


def diqad_answers(quality: int) -> dict[str, Any]:
    """Complete answers to the questions of the preset diqad."""
    answers: dict[str, Any] = {"verify": 0, "quality": quality}
    if quality in (0, 1):
        answers[f"reasons_{quality}"] = ["none"]
    return {"dialogue": answers, "utterances": {}}


@pytest.fixture
def quality(mara: User) -> Project:
    """Replaces the fixture of tests.annotation: one person per dialogue; 75 % of a sample of four must be right."""
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


def cut_one_batch(project: Project, dialogues: int = 8, **more: Any) -> Batch:
    imported(project, dialogues)
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    [batch] = cut_batches(project=project, actor=None, cut_id=uuid4(), **more)
    return batch


def latest_round(batch: Batch) -> Round:
    return Round.objects.filter(batch=batch).select_related("batch", "project").latest("number")


def label_next(project: Project, person: User, scores: Sequence[int]) -> list[int]:
    """Label the next dialogues as the person, one per score; returns the assignments. Runs what commits start."""
    assignments = []
    for score in scores:
        with TestCase.captureOnCommitCallbacks(execute=True):
            claimed = claim_next_task(annotator=person, project=project, claim_id=uuid4())
            sent = SentLabels(id=uuid4(), schema=1, answers=diqad_answers(score))
            submit_labels(annotator=person, assignment_id=claimed.pk, sent=sent)
        assignments.append(claimed.pk)
    return assignments


@pytest.fixture
def sealed(quality: Project, anna: User) -> Round:
    """Eight dialogues that Anna labelled: five with 2, three with 1."""
    batch = cut_one_batch(quality)
    label_next(quality, anna, [2, 2, 2, 2, 2, 1, 1, 1])
    return latest_round(batch)


@pytest.fixture
def drawn(sealed: Round, carla: User) -> Sample:
    with seeded(7):
        return draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())


def seeded(seed: int) -> AbstractContextManager[Any]:
    """Draw with this seed, which the server chooses otherwise."""
    return patch("annotation.batch_review.services.sample_drawing.new_seed", return_value=seed)


def sample_items(sample: Sample) -> list[SampleItem]:
    return list(SampleItem.objects.filter(sample=sample).select_related("final").order_by("place"))


def judge_item(
    controller: User, item: SampleItem, *, right: bool, judgement_id: UUID | None = None
) -> Judgement:
    """right: give the same label as the annotators."""
    label = int(
        item.final.answers["dialogue"]["quality"]
    )  # the class of a sample without a question is another
    answers = diqad_answers(label if right else 2 - label // 2)
    sent = SentJudgement(id=judgement_id or uuid4(), answers=answers, reason="" if right else "Look again.")
    return judge(controller=controller, item_id=item.pk, sent=sent)


def judge_all(controller: User, sample: Sample, *, wrong: int = 0) -> None:
    for place, item in enumerate(sample_items(sample)):
        judge_item(controller, item, right=place >= wrong)


def store_gold(project: Project, trainer: User, task: Task) -> None:
    make_gold(
        trainer=trainer,
        project=project,
        dialogue_id=task.dialogue_id or 0,
        answers=diqad_answers(2),
        explanation="It names the step.",
    )


def get_page(client: Client, user: User, address: str) -> str:
    client.force_login(user)
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def post_form(client: Client, user: User, address: str, **data: Any) -> Any:
    client.force_login(user)
    return client.post(address, data)


@pytest.fixture
def failed(drawn: Sample, carla: User) -> Sample:
    judge_all(carla, drawn, wrong=2)
    return drawn


@pytest.fixture
def returned(failed: Sample, carla: User) -> Round:
    return return_round(controller=carla, round_id=failed.round_id, decision_id=uuid4(), reason="Read twice.")
