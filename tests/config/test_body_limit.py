"""Bodies that are too large, or too large for the disk, never reach Django whole."""

import asyncio
import gc
import json
from pathlib import Path
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from pytest_django import Settings

from config.asgi import application
from tests.disks import disk_of

IMPORTS = "/api/v1/projects/chitchat/imports/"
MB = 1024**2


def answer_to(
    path: str, chunks: int, size: int = MB, length: int | None = None
) -> tuple[int, dict[str, Any]]:
    """Send `chunks` of `size` bytes; without a length, as a client does that streams."""
    headers = [(b"host", b"localhost"), (b"content-type", b"application/octet-stream")]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}

    async def talk() -> tuple[int, dict[str, Any]]:
        said: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]
        for number in range(chunks):
            more = number < chunks - 1
            await said.send_input({"type": "http.request", "body": b"x" * size, "more_body": more})
        start = await said.receive_output(timeout=10)
        body = await said.receive_output(timeout=10)
        await said.wait(timeout=10)
        return start["status"], json.loads(body["body"])

    return asyncio.run(talk())


def test_an_announced_length_is_refused_unread(settings: Settings) -> None:
    settings.IMPORT_MAX_BYTES = 2 * MB
    status, body = answer_to(IMPORTS, chunks=0, length=3 * MB)
    assert (status, body["code"], body["limit"]) == (413, "too_large", 2 * MB)
    assert body["remedy"]


def test_a_length_that_was_not_announced_is_refused_when_it_is_reached(settings: Settings) -> None:
    settings.IMPORT_MAX_BYTES = 2 * MB
    status, body = answer_to(IMPORTS, chunks=4)
    assert (status, body["code"]) == (413, "too_large")


@pytest.mark.parametrize("path", ["/api/v1/me/", "/p/chitchat/imports/x/", "/accounts/login/"])
def test_only_imports_may_carry_files(settings: Settings, path: str) -> None:
    status, body = answer_to(path, chunks=7)
    assert (status, body["limit"]) == (413, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


# Django closes what it spools only when it is collected.
@pytest.mark.filterwarnings("ignore:Unclosed file:ResourceWarning")
def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with disk_of(MB, tmp_path / "disk") as folder:
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        status, body = answer_to(IMPORTS, chunks=5)
        gc.collect()
        assert list(folder.iterdir()) == []
    assert (status, body["code"]) == (507, "disk_full")


@pytest.mark.django_db
def test_what_fits_reaches_django() -> None:
    status, body = answer_to(IMPORTS, chunks=1)
    assert (status, body["code"]) == (401, "not_authenticated")
