"""A labelling project and its people."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, Task
from dialogues.models import Dialogue, DialogueState, Origin, Utterance
from projects.models import Project, Role

Joins = Callable[..., User]


def imported(project: Project, count: int, utterances: int = 2) -> list[Dialogue]:
    """Store dialogues of a user and an assistant as an import does, without tasks."""
    dialogues = Dialogue.objects.bulk_create(
        Dialogue(
            project=project, origin=Origin.IMPORTED, state=DialogueState.FINISHED, utterance_count=utterances
        )
        for _n in range(count)
    )
    Utterance.objects.bulk_create(
        Utterance(
            dialogue=dialogue,
            position=position,
            speaker=("user", "assistant")[position % 2],
            text=f"Words {position} of {dialogue.pk}",
        )
        for dialogue in dialogues
        for position in range(utterances)
    )
    return dialogues


def assigned(tasks: Iterable[Task], people: Iterable[User], **fields: Any) -> list[Assignment]:
    """An assignment of each task to each person, stored without claiming."""
    rows = [
        Assignment(
            task=task,
            project_id=task.project_id,
            dialogue_id=task.dialogue_id,
            annotator=person,
            claim_id=uuid4(),
            **{"lease_until": timezone.now(), **fields},
        )
        for task in tasks
        for person in people
        if task.dialogue_id is not None
    ]
    return Assignment.objects.bulk_create(rows)


@pytest.fixture
def quality(mara: User) -> Project:
    """A DiQAD project with three dialogues, two people per dialogue, without a minimum reading time."""
    project = create_project(slug="quality", preset="diqad", actor=mara)
    project.labelling.min_seconds = 0
    project.labelling.save()
    imported(project, 3)
    plan_labelling(project=project, actor=mara, plan_id=uuid4())
    return project


@pytest.fixture
def anna(joins: Joins, quality: Project) -> User:
    return joins("anna", quality, Role.ANNOTATOR)


@pytest.fixture
def bela(joins: Joins, quality: Project) -> User:
    return joins("bela", quality, Role.ANNOTATOR)


@pytest.fixture
def tina(joins: Joins, quality: Project) -> User:
    return joins("tina", quality, Role.TRAINER)
