"""Oneself and one's tokens, over the API."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import ApiToken, Scope, User
from tests.api.conftest import Program

pytestmark = pytest.mark.django_db


def test_me_describes_the_caller_and_the_token(program: Program, ann: User) -> None:
    me = program(ann, Scope.READ).get("/api/v1/me/").json()
    assert (me["username"], me["email"], me["scopes"]) == ("ann", "ann@example.org", ["read"])


def test_a_browser_session_has_no_scopes(client: Client, ann: User) -> None:
    client.force_login(ann)
    assert client.get("/api/v1/me/").json()["scopes"] is None


def test_ann_changes_her_preferences_and_nothing_else(program: Program, ann: User) -> None:
    changed = (
        program(ann).patch("/api/v1/me/", {"theme": "dark", "submit_on_enter": True}, format="json").json()
    )
    assert (changed["theme"], changed["submit_on_enter"]) == ("dark", True)
    assert program(ann).patch("/api/v1/me/", {"username": "root"}, format="json").status_code == 400


def token_request(**about: Any) -> dict[str, Any]:
    return {"id": str(uuid4()), "name": "export", "scopes": ["read"], "days": 30, **about}


def test_a_token_is_shown_once_and_works(program: Program, ann: User) -> None:
    api = program(ann)
    answer = api.post("/api/v1/tokens/", token_request(), format="json")
    assert answer.status_code == 201
    token = answer.json()
    assert (
        Client().get("/api/v1/me/", headers={"Authorization": f"Bearer {token['value']}"}).status_code == 200
    )
    listed = api.get("/api/v1/tokens/").json()["results"]
    assert token["id"] in [token["id"] for token in listed]
    assert "value" not in listed[0]


def test_a_token_sent_twice_is_one(program: Program, ann: User) -> None:
    api, sent = program(ann), token_request()
    first = api.post("/api/v1/tokens/", sent, format="json").json()
    second = api.post("/api/v1/tokens/", sent, format="json").json()
    assert first["id"] == second["id"]
    assert ApiToken.objects.filter(name="export").count() == 1


def test_revoking_twice_is_revoking(program: Program, ann: User) -> None:
    api = program(ann)
    token = api.post("/api/v1/tokens/", token_request(), format="json").json()
    first, second = (api.delete(f"/api/v1/tokens/{token['id']}/").json() for _time in range(2))
    assert first == second
    assert (first["is_live"], first["revoked_at"] is not None) == (False, True)


def test_a_token_cannot_make_a_stronger_one(program: Program, ann: User) -> None:
    answer = program(ann, Scope.MANAGE).post(
        "/api/v1/tokens/", token_request(scopes=["annotate"]), format="json"
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
