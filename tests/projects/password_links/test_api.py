"""Links to a new password over the API."""

from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from accounts.models import Scope, User
from projects.models import Project, Role
from tests.api.conftest import Program
from tests.api.conftest import program as program
from tests.conftest import Joins

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/projects/chit-chat/members/ann/password-link/"


def post(api: APIClient) -> Any:
    return api.post(ADDRESS, {"id": str(uuid4())}, format="json")


def test_mara_gets_a_link(program: Program, mara: User, ann: User) -> None:
    answer = post(program(mara))
    assert answer.status_code == 201
    assert answer.json()["username"] == "ann"
    assert "/account/password-link/" in answer.json()["url"]


def test_a_token_that_only_reads_gets_none(program: Program, mara: User, ann: User) -> None:
    answer = post(program(mara, Scope.READ, Scope.ANNOTATE))
    assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER, Role.TRAINER, Role.ENGINEER])
def test_other_roles_get_none(
    program: Program, project: Project, ann: User, joins: Joins, role: Role
) -> None:
    assert post(program(joins("nora", project, role))).status_code == 403


def test_strangers_and_guests_get_none(program: Program, ann: User, joins: Joins) -> None:
    assert post(program(joins("stranger"))).status_code == 404
    assert post(APIClient()).status_code == 401


def test_somebody_with_more_rights_is_refused(program: Program, mara: User, ann: User) -> None:
    User.objects.filter(pk=ann.pk).update(is_staff=True)
    answer = post(program(mara))
    assert (answer.status_code, answer.json()["code"]) == (403, "not_yours")
