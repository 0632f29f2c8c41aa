"""A labelling project and the people in it, by name."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.project_setup.services import create_project
from dialogues.models import Dialogue, DialogueState, Origin, Utterance
from projects.models import Project, Role

Joins = Callable[..., User]


def imported(project: Project, count: int, utterances: int = 2) -> list[Dialogue]:
    """Dialogues of a user and an assistant, as an import stores them, without tasks."""
    made = Dialogue.objects.bulk_create(
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
        for dialogue in made
        for position in range(utterances)
    )
    return made


@pytest.fixture
def quality(mara: User) -> Project:
    """A DiQAD project, two people per dialogue, without the time floor, with three dialogues."""
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
