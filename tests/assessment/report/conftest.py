"""An assessment project to import ratings into."""

from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.models import User
from annotation.project_setup.services import create_project
from projects.models import Project


@pytest.fixture(autouse=True)
def files_root(settings: Settings, tmp_path: Path) -> Path:
    settings.FILES_ROOT = tmp_path / "files"
    return tmp_path / "files"


@pytest.fixture
def study(mara: User) -> Project:
    """Mara's assessment project with the paper's seven statements."""
    return create_project(actor=mara, slug="study", title="Which chatbot is best?", preset="live-assessment")
