"""A trained model belongs to its project: others neither see its path nor use it, unless it is shared with them."""

import pytest
from django.test import Client

from accounts.models import User
from annotation.authoring.services.settings import update_authoring
from annotation.project_setup.services import create_project
from common.refusals import Invalid
from generation.generators import create_generator
from generation.models import BackendKind, Generator
from generation.selectors import usable_generators
from projects.models import Project, Role
from tests.conftest import Joins

pytestmark = pytest.mark.django_db
SERVER_PATH = "/srv/models/secret-run/model"


@pytest.fixture
def other(mara: User) -> Project:
    return create_project(slug="other", preset="diamante", actor=mara)


@pytest.fixture
def trained(other: Project) -> Generator:
    options = {"model": SERVER_PATH}
    return create_generator(
        actor=None, slug="other-1", backend=BackendKind.HF, options=options, project=other
    )


def test_an_engineer_of_another_project_does_not_see_it(
    client: Client, project: Project, trained: Generator, joins: Joins
) -> None:
    client.force_login(joins("erik", project, Role.ENGINEER))
    listed = client.get("/api/v1/generators/")
    assert listed.status_code == 200
    assert SERVER_PATH not in listed.content.decode()
    assert client.get("/api/v1/generators/other-1/").status_code == 404
    page = client.get(f"/p/{project.slug}/settings/").content.decode()
    assert "other-1" not in page


def test_an_engineer_of_its_project_sees_it(
    client: Client, other: Project, trained: Generator, joins: Joins
) -> None:
    client.force_login(joins("erik", other, Role.ENGINEER))
    assert client.get("/api/v1/generators/other-1/").json()["options"] == {"model": SERVER_PATH}
    assert trained in usable_generators(other)


def test_another_project_cannot_use_it(project: Project, trained: Generator) -> None:
    with pytest.raises(Invalid):
        update_authoring(project=project, actor=None, changes={"generator": trained})
    trained.shared_with.add(project)
    assert update_authoring(project=project, actor=None, changes={"generator": trained}).generator == trained


def test_a_present_model_may_stay(project: Project, trained: Generator) -> None:
    """Sharing has ended; other settings can still be saved."""
    trained.shared_with.add(project)
    update_authoring(project=project, actor=None, changes={"generator": trained})
    trained.shared_with.clear()
    settings = update_authoring(project=project, actor=None, changes={"generator": trained, "min_rounds": 5})
    assert settings.min_rounds == 5
    assert trained in usable_generators(project, trained.pk)
