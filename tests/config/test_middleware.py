"""Bodies that are too long are refused before anything of them is read."""

from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

IMPORTS = "/api/v1/projects/chitchat/imports/"
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
