"""Every error of the API is a problem that names cause and remedy, whatever went wrong."""

import json
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client, override_settings
from rest_framework.test import APIClient

from accounts.models import Scope, User
from accounts.rest.throttling import PersonRateThrottle
from accounts.services import create_token, revoke_token
from common.refusals import Refusal
from common.rest.problems import problem_body, unavailable
from projects.models import Project
from tests.api.conftest import Program

pytestmark = pytest.mark.django_db


def problem_of(response: Any, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.content
    assert response.headers["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = json.loads(response.content)
    assert body["status"] == status
    assert body["code"]
    assert body["detail"]
    return body


def test_a_request_without_credentials_learns_how_to_authenticate(client: Client) -> None:
    response = client.get("/api/v1/me/")
    assert problem_of(response, 401)["code"] == "not_authenticated"
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("header", ["Bearer lap_nothing", "Bearer", "Bearer a b", "Bearer \xff\xfe"])
def test_an_invalid_token_is_refused(client: Client, header: str) -> None:
    assert (
        problem_of(client.get("/api/v1/me/", headers={"Authorization": header}), 401)["code"] == "bad_token"
    )


def test_a_page_sends_nothing_for_somebody_who_signed_in_later(ann: User, bob: User) -> None:
    client = Client()
    client.force_login(bob)
    assert client.get("/api/v1/me/", headers={"X-Lapidary-User": str(bob.pk)}).status_code == 200
    refused = problem_of(client.get("/api/v1/me/", headers={"X-Lapidary-User": str(ann.pk)}), 401)
    assert refused["code"] == "other_person"
    assert bob.shown_name in refused["detail"]
    assert refused["name"] == bob.shown_name


def test_a_revoked_token_stops_working_at_once(ann: User) -> None:
    token, plain = create_token(user=ann, name="x", scopes=["read"])
    headers = {"Authorization": f"Bearer {plain}"}
    assert Client().get("/api/v1/me/", headers=headers).status_code == 200
    revoke_token(user=ann, token_id=token.pk)
    problem_of(Client().get("/api/v1/me/", headers=headers), 401)


@pytest.mark.parametrize(
    "path", ["nothing", "v1/nothing/", "v1/projects/a b/", "v1/assignments/abc/", "v2/", ""]
)
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_an_unknown_address_has_no_page(client: Client, path: str, method: str) -> None:
    assert problem_of(getattr(client, method)(f"/api/{path}"), 404)["code"] == "not_found"


def test_an_address_without_its_slash_says_so(client: Client) -> None:
    assert "/api/v1/me/" in problem_of(client.get("/api/v1/me"), 404)["remedy"]


def test_a_method_that_is_not_offered_names_those_that_are(program: Program, ann: User) -> None:
    response = program(ann).delete("/api/v1/me/")
    assert problem_of(response, 405)["code"] == "method_not_allowed"
    assert response.headers["Allow"] == "GET, PATCH, HEAD, OPTIONS"


def test_only_json_is_answered(program: Program, ann: User) -> None:
    problem_of(program(ann).get("/api/v1/me/", headers={"Accept": "text/html"}), 406)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/xml", "application/x-www-form-urlencoded"]
)
def test_only_json_is_read(program: Program, ann: User, content_type: str) -> None:
    problem_of(program(ann).patch("/api/v1/me/", "theme=dark", content_type=content_type), 415)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b'{"theme": NaN}',
        b'{"theme": 1e999}',
        b"[" * 100_000,
        b'{"display_name": "' + b"x" * 200,
    ],
)
def test_invalid_json_is_a_400(program: Program, ann: User, body: bytes) -> None:
    problem_of(program(ann).patch("/api/v1/me/", body, content_type="application/json"), 400)


@pytest.mark.parametrize("text", [r"a\u0000b", r"\ud800", r"\udfff\ud83d"])
def test_characters_that_no_text_can_have_are_refused(program: Program, ann: User, text: str) -> None:
    body = f'{{"display_name": "{text}"}}'
    problem = problem_of(program(ann).patch("/api/v1/me/", body, content_type="application/json"), 400)
    assert problem["code"] == "invalid"
    assert problem["remedy"]


def test_a_surrogate_pair_is_a_character(program: Program, ann: User) -> None:
    body = r'{"display_name": "Ann \ud83d\ude00"}'
    answer = program(ann).patch("/api/v1/me/", body, content_type="application/json")
    assert answer.json()["display_name"] == "Ann 😀"


def test_nesting_has_a_limit(program: Program, ann: User) -> None:
    body = '{"display_name": ' + "[" * 60 + "]" * 60 + "}"
    assert (
        "deep"
        in problem_of(program(ann).patch("/api/v1/me/", body, content_type="application/json"), 400)["detail"]
    )


@override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1000)
def test_too_much_is_a_413_that_names_the_limit(program: Program, ann: User) -> None:
    answer = program(ann).patch("/api/v1/me/", {"display_name": "x" * 1000}, format="json")
    assert problem_of(answer, 413)["limit"] == 1000


@pytest.mark.parametrize("body", [[], "text", 1, None])
def test_a_body_that_is_not_an_object_is_refused(program: Program, ann: User, body: object) -> None:
    problem_of(program(ann).patch("/api/v1/me/", json.dumps(body), content_type="application/json"), 400)


def test_every_wrong_field_is_named_and_unknown_ones_too(program: Program, ann: User) -> None:
    answer = program(ann).patch("/api/v1/me/", {"theme": "pink", "submit_on_enter": "maybe"}, format="json")
    assert set(problem_of(answer, 400)["errors"]) == {"theme", "submit_on_enter"}
    answer = program(ann).patch("/api/v1/me/", {"tehme": "dark"}, format="json")
    assert set(problem_of(answer, 400)["errors"]) == {"tehme"}


def test_reading_needs_the_scope_read(program: Program, ann: User) -> None:
    problem = problem_of(program(ann, Scope.ANNOTATE).get("/api/v1/me/"), 403)
    assert (problem["code"], problem["scope"]) == ("scope_missing", "read")


def test_writing_needs_the_scope_of_its_kind(program: Program, project: Project, olga: User) -> None:
    claim = f"/api/v1/projects/{project.slug}/assignments/"
    edit = f"/api/v1/projects/{project.slug}/"
    annotates, manages = program(olga, Scope.READ, Scope.ANNOTATE), program(olga, Scope.READ, Scope.MANAGE)
    for program_, address, needed in [(manages, claim, "annotate"), (annotates, edit, "manage")]:
        method = program_.post if address == claim else program_.patch
        assert problem_of(method(address, {}, format="json"), 403)["scope"] == needed


def test_ann_cannot_use_the_api_with_a_one_time_password(client: Client, ann: User) -> None:
    from django.utils import timezone

    client.force_login(ann)
    User.objects.filter(pk=ann.pk).update(temporary_password_until=timezone.now())
    assert problem_of(client.get("/api/v1/me/"), 403)["code"] == "one_time_password"


def test_a_page_without_the_csrf_token_cannot_write(ann: User) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(ann)
    problem_of(client.patch("/api/v1/me/", {"theme": "dark"}, format="json"), 403)


def test_too_many_requests_get_the_time_to_retry(
    program: Program, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    monkeypatch.setattr(PersonRateThrottle, "THROTTLE_RATES", {"user": "2/min"})
    monkeypatch.setattr("accounts.rest.throttling.time.time", lambda: 600.0)  # no minute ends in between
    api = program(ann)
    assert [api.get("/api/v1/me/").status_code for _n in range(2)] == [200, 200]
    response = api.get("/api/v1/me/")
    assert problem_of(response, 429)["code"] == "throttled"
    assert 0 < int(response.headers["Retry-After"]) <= 61
    cache.clear()


def test_a_database_that_does_not_answer_is_a_503(
    program: Program, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(user: User) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr("accounts.api.tokens_for", fails)
    response = program(ann).get("/api/v1/tokens/")
    assert problem_of(response, 503)["code"] == "unavailable"
    assert response.headers["Retry-After"]


def test_an_error_of_ours_is_a_problem_without_its_traceback(
    ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(user: User) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("accounts.api.tokens_for", fails)
    client = APIClient(raise_request_exception=False)
    client.force_authenticate(ann)
    response = client.get("/api/v1/tokens/")
    assert problem_of(response, 500)["code"] == "server_error"
    assert b"secret" not in response.content


def test_a_refusal_of_a_service_keeps_its_code_facts_and_language(
    ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(user: User) -> None:
        raise Refusal("too_late", "Too late.", "Come earlier.", details={"by": 3, "status": "no"})

    monkeypatch.setattr("accounts.api.tokens_for", refuses)
    client = APIClient()
    client.force_authenticate(ann)
    problem = problem_of(client.get("/api/v1/tokens/"), 409)
    assert (problem["code"], problem["detail"], problem["remedy"], problem["by"]) == (
        *("too_late", "Too late.", "Come earlier."),
        3,
    )


@pytest.mark.parametrize("size", ["0", "-1", "201", "many", "", "１０", "9" * 50])
def test_an_invalid_page_size_is_refused(program: Program, ann: User, size: str) -> None:
    assert problem_of(program(ann).get("/api/v1/tokens/", {"page_size": size}), 400)["field"] == "page_size"


@pytest.mark.parametrize(
    "cursor", ["x", "cD1hYmM=", "bz0xJnI9MSZwPWFiYw==", "\0", "cD05OTk5OTk5OTk5OTk5OTk5OTk5OTk5"]
)
@pytest.mark.parametrize("path", ["tokens", "projects/chit-chat/jobs", "projects/chit-chat/members"])
def test_a_foreign_cursor_is_not_found(
    program: Program, project: Project, olga: User, path: str, cursor: str
) -> None:
    assert program(olga).get(f"/api/v1/{path}/", {"cursor": cursor}).status_code in (200, 400, 404)


def test_another_persons_token_is_not_found(program: Program, ann: User, bob: User) -> None:
    token, _plain = create_token(user=bob, name="bob's", scopes=["read"])
    problem_of(program(ann).get(f"/api/v1/tokens/{token.pk}/"), 404)
    problem_of(program(ann).delete(f"/api/v1/tokens/{token.pk}/"), 404)
    token.refresh_from_db()
    assert token.is_live


@pytest.mark.parametrize(
    "path",
    [
        "projects/chit-chat/",
        "projects/chit-chat/members/",
        "projects/chit-chat/jobs/",
        "jobs/00000000-0000-4000-8000-000000000000/",
    ],
)
def test_a_stranger_finds_nothing(program: Program, project: Project, joins: Any, path: str) -> None:
    stranger = joins("stranger")
    assert problem_of(program(stranger).get(f"/api/v1/{path}"), 404)["code"] == "not_found"


@pytest.mark.parametrize("query", [{"stat": "done"}, {"state": "asleep"}])
def test_an_invalid_filter_is_refused_instead_of_showing_everything(
    program: Program, project: Project, olga: User, query: dict[str, str]
) -> None:
    problem = problem_of(program(olga).get("/api/v1/projects/chit-chat/jobs/", query), 400)
    assert set(problem["errors"]) == set(query)


def test_a_problem_can_be_written_as_yaml() -> None:
    """The address of the schema answers in YAML, which knows no HTTPStatus."""
    assert type(problem_body(unavailable())["status"]) is int
