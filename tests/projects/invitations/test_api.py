"""Inviting by link over the API."""

from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from accounts.models import Scope, User
from projects.models import Invitation, Project, Role
from tests.api.conftest import Program
from tests.api.conftest import program as program
from tests.conftest import Joins

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/projects/chit-chat/link-invitations/"
NORA = {"name": "Nora", "email": "nora@example.org", "roles": ["annotator"], "language": "zh"}


def post(api: APIClient, *people: dict[str, Any], **more: Any) -> Any:
    body = {"id": str(uuid4()), "people": list(people) or [NORA], **more}
    return api.post(ADDRESS, body, format="json")


def test_links_are_made_renewed_and_revoked(program: Program, project: Project, mara: User) -> None:
    api = program(mara)
    made = post(api, NORA, {"name": "Ole", "roles": ["trainer", "annotator"]})
    assert made.status_code == 201
    nora, ole = made.json()
    assert "/invitation/?key=" in nora["url"]
    assert ole["roles"] == ["annotator", "trainer"]
    listed = api.get(ADDRESS).json()["results"]
    assert [row["name"] for row in listed] == ["Ole", "Nora"]
    assert "url" not in listed[0]
    one = f"{ADDRESS}{nora['id']}/"
    renewed = api.post(f"{one}link/", {"version": 1}, format="json").json()
    assert (renewed["version"], renewed["url"] != nora["url"]) == (2, True)
    assert api.delete(one).json()["state"] == "revoked"
    assert api.get(one).json()["is_live"] is False


def test_a_second_send_returns_the_same(program: Program, project: Project, mara: User) -> None:
    api, request_id = program(mara), str(uuid4())
    first, second = (post(api, id=request_id).json() for _ in range(2))
    assert first == second
    assert post(api, {**NORA, "name": "N."}, id=request_id).json()["code"] == "id_in_use"


def test_bad_people_are_named_by_line(program: Program, project: Project, mara: User) -> None:
    answer = post(program(mara), NORA, {"email": "mara@example.org", "roles": ["annotator"]})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert answer.json()["lines"] == [{"line": 2, "problems": ["mara@example.org is already a member."]}]
    assert not Invitation.objects.exists()


def test_without_e_mail_nothing_is_sent(program: Program, project: Project, mara: User) -> None:
    assert post(program(mara), by_mail=True).json()["code"] == "mail_unavailable"


def test_a_token_that_only_reads_sees_no_links(program: Program, project: Project, mara: User) -> None:
    post(program(mara))
    api = program(mara, Scope.READ)
    assert post(api).json()["code"] == "scope_missing"
    assert "key=" not in api.get(ADDRESS).content.decode()
    pk = Invitation.objects.get().pk
    assert api.post(f"{ADDRESS}{pk}/link/", {"version": 1}, format="json").status_code == 403


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER, Role.TRAINER, Role.ENGINEER])
def test_other_roles_do_not_invite(program: Program, project: Project, joins: Joins, role: Role) -> None:
    api = program(joins("nora", project, role))
    assert post(api).status_code == api.get(ADDRESS).status_code == 403


def test_strangers_and_guests_do_not_invite(program: Program, project: Project, joins: Joins) -> None:
    assert post(program(joins("stranger"))).status_code == 404
    assert post(APIClient()).status_code == 401
