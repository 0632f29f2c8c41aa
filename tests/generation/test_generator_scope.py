"""A trained model belongs to its project: others neither see its path nor use it, unless it is shared with them."""

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.models import User
from annotation.authoring.services.settings import update_authoring
from annotation.project_setup.services import create_project
from common.refusals import Invalid
from generation.generators import create_generator
from generation.models import BackendKind, Generator
from generation.selectors import usable_generators
from projects.models import Event, Project, Role
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


def test_an_operator_shares_it_and_stops(
    project: Project, other: Project, trained: Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    for _time in range(2):  # safe to repeat
        call_command("share_model", "other-1", project.slug)
    assert capsys.readouterr().out == "chit-chat may use other-1.\n" * 2
    assert trained in usable_generators(project)
    events = Event.objects.filter(kind="shared")
    assert {event.project for event in events} == {project, other}
    assert events.count() == 2
    call_command("share_model", "other-1", project.slug, "--stop")
    assert trained not in usable_generators(project)


def test_a_model_of_the_server_needs_no_sharing(project: Project) -> None:
    create_generator(actor=None, slug="scripted", backend=BackendKind.SCRIPTED, options={})
    with pytest.raises(CommandError, match="already"):
        call_command("share_model", "scripted", project.slug)
    with pytest.raises(CommandError, match="no model"):
        call_command("share_model", "missing", project.slug)


def test_a_present_model_may_stay(project: Project, trained: Generator) -> None:
    """Sharing has ended; other settings can still be saved."""
    trained.shared_with.add(project)
    update_authoring(project=project, actor=None, changes={"generator": trained})
    trained.shared_with.clear()
    settings = update_authoring(project=project, actor=None, changes={"generator": trained, "min_rounds": 5})
    assert settings.min_rounds == 5
    assert trained in usable_generators(project, trained.pk)
