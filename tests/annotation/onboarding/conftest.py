"""A labelling project with two people per dialogue, its trainer, and an admission test."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import pytest

from accounts.models import User
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.onboarding.models import AdmissionItem, AdmissionTry
from annotation.onboarding.services.admission_tests import update_admission_test
from annotation.onboarding.services.gold import make_gold
from annotation.onboarding.services.tries import answer_item, start_try
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Dialogue, DialogueState, Origin, Utterance
from projects.models import Project

RIGHT: dict[str, Any] = {"dialogue": {"verify": 0, "quality": 2}, "utterances": {}}
SLIP: dict[str, Any] = {"dialogue": {"verify": 1, "quality": 2}, "utterances": {}}


@pytest.fixture
def quality(mara: User) -> Project:
    """A DiQAD project without a minimum reading time, with six dialogues in the order of import."""
    project = create_project(slug="quality", preset="diqad", actor=mara)
    project.labelling.min_seconds, project.labelling.order = 0, "given"
    project.labelling.save()
    for number in range(6):
        dialogue = Dialogue.objects.create(
            project=project, origin=Origin.IMPORTED, state=DialogueState.FINISHED, utterance_count=2
        )
        for position, speaker in enumerate(["user", "assistant"]):
            Utterance.objects.create(
                dialogue=dialogue, position=position, speaker=speaker, text=f"{speaker} {number}"
            )
    plan_labelling(project=project, actor=mara, plan_id=uuid4())
    return project


def nth_dialogue(project: Project, n: int) -> Dialogue:
    return Dialogue.objects.filter(project=project).order_by("id")[n]


def store_gold(trainer: User, project: Project, n: int, answers: Mapping[str, Any] = RIGHT) -> GoldDialogue:
    return make_gold(
        trainer=trainer,
        project=project,
        dialogue_id=nth_dialogue(project, n).pk,
        answers=answers,
        explanation=f"Secret reason {n}",
        remarks={"quality": f"Because of {n}"},
    )


@pytest.fixture
def tested(quality: Project, tina: User) -> Project:
    """The project with a test: two gold dialogues, two tries, 80 % of the answers must be right."""
    for n in range(2):
        store_gold(tina, quality, n)
    update_admission_test(trainer=tina, project=quality, changes={"is_on": True, "tries": 2})
    return quality


def begin_try(person: User, project: Project) -> AdmissionTry:
    return start_try(annotator=person, project=project, try_id=uuid4())


def answer_place(attempt: AdmissionTry, place: int, answers: Mapping[str, Any]) -> AdmissionItem:
    return answer_item(annotator=attempt.annotator, try_id=attempt.pk, place=place, answers=answers)


def take_test(person: User, project: Project, *answers: Mapping[str, Any]) -> AdmissionTry:
    attempt = begin_try(person, project)
    for place, answer in enumerate(answers):
        answer_place(attempt, place, answer)
    attempt.refresh_from_db()
    return attempt


def label_next(
    person: User, project: Project, answers: Mapping[str, Any], id: UUID | None = None
) -> Assignment:
    held = claim_next_task(annotator=person, project=project, claim_id=uuid4())
    sent = SentLabels(id=id or uuid4(), schema=1, answers=answers)
    submit_labels(annotator=person, assignment_id=held.pk, sent=sent)
    return held
