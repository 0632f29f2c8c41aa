import pytest

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.sessions.models.participants import Assignment
from assessment.sessions.models.runs import Run
from projects.models import Project
from tests.assessment.steps import add_systems, begin, opened_run


@pytest.fixture
def study(mara: User) -> Project:
    """Two messages a conversation, unsigned links, five ordinary systems and a degraded one."""
    project = create_project(slug="study", preset="live-assessment", actor=mara, title="Study")
    settings = project.assessment
    settings.inputs, settings.signed_links = 2, False
    settings.return_url = "https://panel.example/complete?cc={code}"
    settings.save()
    add_systems(project)
    return project


@pytest.fixture
def run(study: Project) -> Run:
    return opened_run(study)


@pytest.fixture
def anns(run: Run) -> Assignment:
    """Ann has consented."""
    return begin(run.project, "ann")
