"""Creating a project: once per id."""

import io
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from annotation.project_setup.services import create_project
from common.refusals import Refusal
from projects.models import Event, Project


def request_by(mara: User) -> dict[str, Any]:
    return {"actor": mara, "slug": "pets", "preset": "diamante", "title": "Pets", "creation_id": uuid4()}


def test_the_same_request_returns_the_first_project(mara: User) -> None:
    request = request_by(mara)
    assert create_project(**request) == create_project(**request)
    assert Project.objects.count() == 1


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"slug": "films"}, "slug"), ({"preset": "diqad"}, "preset"), ({"title": "Cats"}, "title")],
)
def test_a_used_id_is_refused_with_another_request(mara: User, changed: dict[str, str], field: str) -> None:
    request = request_by(mara)
    create_project(**request)
    with pytest.raises(Refusal) as refused:
        create_project(**{**request, **changed})
    assert (refused.value.code, refused.value.details) == ("id_in_use", {"field": field})
    assert Project.objects.count() == 1


def test_a_used_id_of_somebody_else_is_refused(mara: User, bob: User) -> None:
    request = request_by(mara)
    create_project(**request)
    with pytest.raises(Refusal) as refused:
        create_project(**{**request, "actor": bob})
    assert refused.value.code == "id_in_use"


def test_an_early_event_knows_only_the_preset(mara: User) -> None:
    request = request_by(mara)
    project = create_project(**request)
    early = {"preset": "diamante", "creation_id": str(request["creation_id"])}
    Event.objects.filter(project=project, kind="created").update(data=early)
    assert create_project(**request) == project


def test_a_refused_form_can_be_sent_again(client: Client, mara: User) -> None:
    mara.is_superuser = True
    mara.save()
    client.force_login(mara)
    request = request_by(mara)
    create_project(**request)
    form = {
        "id": str(request["creation_id"]),
        "slug": "films",
        "title": "Films",
        "preset": "diamante",
        "language": "mul",
    }
    page = client.post("/projects/new/", form)
    assert page.status_code == 200
    assert str(request["creation_id"]) not in page.content.decode()


@pytest.mark.parametrize(("manager", "is_warned"), [((), True), (("--manager", "mara"), False)])
def test_the_command_says_that_nobody_sees_a_project_without_a_manager(
    mara: User, manager: tuple[str, ...], is_warned: bool
) -> None:
    said = io.StringIO()
    call_command("create_project", "pets", "--preset", "diamante", *manager, stdout=said)
    assert ("It has no manager" in said.getvalue()) is is_warned
