"""A trained model is shared only if managers of both projects say so."""

import pytest
from django.test import Client

from accounts.models import User
from annotation.project_setup.services import create_project
from common.refusals import Refusal
from generation.generators import create_generator
from generation.models import BackendKind, Generator
from generation.selectors import usable_generators
from generation.sharing import accept_generator, offer_generator, share_generator, stop_sharing
from projects.models import Event, Project, Role
from tests.conftest import Joins

pytestmark = pytest.mark.django_db
SHARING = "/api/v1/generators/other-1/sharing/"


@pytest.fixture
def zoe() -> User:
    """The manager of the project with the model."""
    return User.objects.create(username="zoe")


@pytest.fixture
def other(zoe: User) -> Project:
    return create_project(slug="other", preset="diamante", actor=zoe)


@pytest.fixture
def trained(other: Project) -> Generator:
    options = {"model": "/srv/models/run/model"}
    return create_generator(
        actor=None, slug="other-1", backend=BackendKind.HF, options=options, project=other
    )


def kinds(project: Project) -> list[str]:
    about = Event.objects.filter(project=project, subject_type="generation.generator").order_by("pk")
    return [event.kind for event in about if event.kind != "created"]


def test_an_offer_alone_shares_nothing(
    project: Project, other: Project, trained: Generator, zoe: User
) -> None:
    for _time in range(2):  # safe to repeat
        offer_generator(actor=zoe, generator=trained, project=project)
    assert trained not in usable_generators(project)
    assert kinds(project) == kinds(other) == ["offered"]


def test_an_accepted_offer_shares_until_somebody_ends_it(
    project: Project, other: Project, trained: Generator, zoe: User, mara: User
) -> None:
    offer_generator(actor=zoe, generator=trained, project=project)
    for _time in range(2):
        accept_generator(actor=mara, generator=trained, project=project)
    assert trained in usable_generators(project)
    offer_generator(actor=zoe, generator=trained, project=project)  # shared already
    assert not trained.offered_to.exists()
    for _time in range(2):
        stop_sharing(actor=mara, generator=trained, project=project)
    assert trained not in usable_generators(project)
    assert kinds(project) == kinds(other) == ["offered", "shared", "no_longer_shared"]
    with pytest.raises(Refusal) as refused:
        accept_generator(actor=mara, generator=trained, project=project)
    assert refused.value.code == "not_offered"


def test_a_withdrawn_offer_cannot_be_accepted(
    project: Project, trained: Generator, zoe: User, mara: User
) -> None:
    offer_generator(actor=zoe, generator=trained, project=project)
    stop_sharing(actor=zoe, generator=trained, project=project)
    assert kinds(project) == ["offered", "offer_ended"]
    with pytest.raises(Refusal, match="not offered"):
        accept_generator(actor=mara, generator=trained, project=project)


def test_a_model_of_everybody_or_of_the_same_project_is_not_offered(
    project: Project, other: Project, trained: Generator
) -> None:
    everybodys = create_generator(actor=None, slug="all", backend=BackendKind.SCRIPTED, options={})
    for generator, target, code in ((everybodys, project, "for_everybody"), (trained, other, "own_model")):
        with pytest.raises(Refusal) as refused:
            offer_generator(actor=None, generator=generator, project=target)
        assert refused.value.code == code


def test_both_managers_act_through_the_api(
    client: Client, project: Project, trained: Generator, zoe: User, mara: User
) -> None:
    client.force_login(zoe)
    assert client.post(SHARING, {"project": "missing"}, "application/json").json()["code"] == "no_project"
    assert client.post(SHARING, {"project": project.slug}, "application/json").status_code == 204
    assert client.get(SHARING).json()["results"] == [{"project": project.slug, "is_shared": False}]
    theirs = f"/api/v1/projects/{project.slug}/models-of-others/"
    assert client.post(f"{theirs}other-1/").status_code == 404  # zoe is not a member there
    client.force_login(mara)
    listed = {"slug": "other-1", "project": "other", "is_shared": False}
    assert client.get(theirs).json()["results"] == [listed]
    assert client.get(SHARING).status_code == 404
    assert client.post(f"{theirs}other-1/").status_code == 204
    assert client.get(theirs).json()["results"] == [listed | {"is_shared": True}]
    assert client.delete(f"{theirs}other-1/").status_code == 204
    assert client.get(theirs).json()["results"] == []


def test_the_owner_stops_it_through_the_api(
    client: Client, project: Project, trained: Generator, zoe: User
) -> None:
    share_generator(actor=None, generator=trained, project=project)
    client.force_login(zoe)
    assert client.delete(f"{SHARING}{project.slug}/").status_code == 204
    assert trained not in usable_generators(project)


@pytest.mark.parametrize("role", [Role.ENGINEER, Role.TRAINER, Role.ANNOTATOR])
def test_other_roles_neither_offer_nor_accept(
    client: Client, project: Project, other: Project, trained: Generator, joins: Joins, role: Role
) -> None:
    client.force_login(joins("uma", other, role))
    assert client.post(SHARING, {"project": project.slug}, "application/json").status_code == 404
    trained.offered_to.add(project)
    client.force_login(joins("ulf", project, role))
    assert client.post(f"/api/v1/projects/{project.slug}/models-of-others/other-1/").status_code == 403
    assert trained not in usable_generators(project)
