import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server process whose first path segment says how it behaves."""
    log = (tmp_path_factory.mktemp("systems") / "log").open("wb")
    # Without its folder on the path: a package there is called `collections`.
    command = [sys.executable, "-P", str(Path(__file__).parent / "system_server.py")]
    with log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().decode().strip()}"
        finally:
            process.kill()


@pytest.fixture
def talks(mara: User) -> Project:
    """A project without systems, with a time limit of ten seconds, no retries that wait, and no delay."""
    project = create_project(slug="talks", preset="live-assessment", actor=mara, title="Talks")
    settings = project.assessment
    settings.signed_links, settings.reply_timeout_seconds = False, 10
    settings.delay_ms = settings.delay_per_character_ms = 0
    settings.save()
    return project
