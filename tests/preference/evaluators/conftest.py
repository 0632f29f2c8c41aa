"""A labelling project whose dialogues have a split, as imported ones do."""

from uuid import uuid4

import pytest

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.project_setup.services import create_project
from dialogues.models import Dialogue, Split
from projects.models import Project
from tests.annotation import conftest as labelling


def imported(project: Project, count: int, utterances: int = 2) -> list[Dialogue]:
    dialogues = labelling.imported(project, count, utterances)
    Dialogue.objects.filter(project=project).update(split=Split.TEST)
    return dialogues


@pytest.fixture
def quality(mara: User) -> Project:
    """A DiQAD project with three dialogues of two utterances."""
    project = create_project(slug="quality", preset="diqad", actor=mara)
    imported(project, 3)
    plan_labelling(project=project, actor=mara, plan_id=uuid4())
    return project
