"""Bodies that are too long are refused before anything of them is read."""

from io import BytesIO
from threading import BoundedSemaphore
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from config.body_deadline import WholeBody
from dialogues.services import uploads
from projects.models import Membership, Project, Role

IMPORTS = "/api/v1/projects/chitchat/imports/"
PAGE = "/p/chitchat/imports/"
RAW = "application/octet-stream"
MB = 1024**2


class Unread(BytesIO):
    """A body that must not be read."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise AssertionError("the body was read")


def answer_to(path: str, length: int) -> Any:
    """The answer to a request that announces `length` bytes, none of which are there to be read."""
    environ: dict[str, Any] = {"CONTENT_LENGTH": str(length), "wsgi.input": Unread()}
    return Client().generic("POST", path, b"", RAW, **environ)


def test_a_file_that_is_too_large_is_refused_unread(settings: Settings) -> None:
    settings.IMPORT_MAX_BYTES = 2 * MB
    answer = answer_to(IMPORTS, 3 * MB)
    body = answer.json()
    assert (answer.status_code, body["code"], body["limit"]) == (413, "too_large", 2 * MB)
    assert body["remedy"]
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/api/v1/me/", "/p/chitchat/imports/x/", "/accounts/login/"])
def test_only_imports_may_carry_files(settings: Settings, path: str) -> None:
    answer = answer_to(path, 6 * MB)
    assert (answer.status_code, answer.json()["limit"]) == (413, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def test_a_body_of_unknown_length_is_refused() -> None:
    answer = Client().post(IMPORTS, b"x", RAW, headers={"transfer-encoding": "chunked"})
    assert (answer.status_code, answer.json()["code"]) == (411, "length_required")


@pytest.mark.django_db
def test_a_body_that_fits_reaches_the_view() -> None:
    answer = Client().post(IMPORTS, b"x" * MB, RAW)
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")


@pytest.fixture
def project() -> Project:
    return Project.objects.create(slug="chitchat", title="Chit-chat", protocol="labelling")


def person_with(project: Project, *roles: Role) -> Client:
    """Signed in, with the CSRF cookie that lets Django look for its token in the form."""
    user = User.objects.create_user(username="robin")
    if roles:
        Membership.objects.create(project=project, user=user, roles=list(roles))
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    client.cookies["csrftoken"] = "a" * 32
    return client


def sent_form(client: Client, path: str, **headers: str) -> int:
    """The status of a form of a gigabyte that must not be read."""
    environ: dict[str, Any] = {"CONTENT_LENGTH": str(1024 * MB), "wsgi.input": Unread(), **headers}
    return client.generic("POST", path, b"", "multipart/form-data; boundary=x", **environ).status_code


@pytest.mark.django_db
@pytest.mark.parametrize("path", [IMPORTS, PAGE])
def test_a_file_is_not_read_from_somebody_unknown(project: Project, path: str) -> None:
    refused = 302 if path == PAGE else 401
    guest = Client(enforce_csrf_checks=True)
    guest.cookies["csrftoken"] = "a" * 32
    assert sent_form(guest, path) == refused
    assert sent_form(guest, path, HTTP_AUTHORIZATION="Bearer nonsense") == refused


@pytest.mark.django_db
@pytest.mark.parametrize("path", [IMPORTS, PAGE])
def test_a_file_is_not_read_from_somebody_who_may_not_import(project: Project, path: str) -> None:
    assert sent_form(person_with(project), path) == 404
    User.objects.all().delete()
    assert sent_form(person_with(project, Role.ANNOTATOR), path) == 403


@pytest.mark.django_db
def test_only_a_few_files_are_received_at_a_time(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "_slots", BoundedSemaphore(1))
    client = person_with(project, Role.ENGINEER)
    with uploads.one_of_few():
        answer = client.post(IMPORTS, b"x", RAW, headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (503, "too_many_uploads")
    assert int(answer["Retry-After"]) > 0
    assert client.post(IMPORTS, b"x", RAW).status_code != 503


def test_a_body_that_ends_early_is_an_error() -> None:
    body = WholeBody(BytesIO(b"half"), length=8)
    assert body.read(4) == b"half"
    with pytest.raises(OSError, match="went away"):
        body.read(4)
    whole = WholeBody(BytesIO(b"whole"), length=5)
    assert (whole.read(), whole.read()) == (b"whole", b"")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address",
    [
        "/api/v1/projects/a%00b/",
        "/p/a%00b/",
        "/api/v1/generators/a%00/",
        "/api/v1/projects/?cursor=%00",
        "/accounts/login/?next=%00",
    ],
)
def test_nul_in_an_address_is_refused(address: str) -> None:
    answer = Client().get(address)
    assert answer.status_code == 400
    assert answer.json()["code"] == "unreadable"
