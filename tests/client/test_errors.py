"""Errors name cause and remedy, and a server of another version is noticed."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import lapidary
from accounts.models import ApiToken, Scope, User
from accounts.services import create_token, revoke_token
from common.rest.api_version import API_VERSION
from common.rest.api_version import HEADER as HEADER_OF_SERVER
from lapidary import (
    BadRequest,
    BadToken,
    Changed,
    Client,
    Conflict,
    ConnectionLost,
    NotAllowed,
    NotFound,
    Retries,
    ScopeMissing,
    ServerTooNew,
    ServerTooOld,
    TooLarge,
    TooManyRequests,
)
from lapidary.downloads import download
from lapidary.errors import BY_CODE
from lapidary.rows import Dialogue
from lapidary.version import HEADER, check_api_version
from projects.models import Project
from tests.client.conftest import QUICK, Connects
from tests.processes import ROOT, free_port

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_revoked_token_is_named(connects: Connects, mara: User) -> None:
    client = connects()
    assert set(client.me().scopes or []) == {str(scope) for scope in Scope}
    revoke_token(user=mara, token_id=ApiToken.objects.get(name="notebook").pk)
    with pytest.raises(BadToken, match=r"unknown, expired or revoked\. Create a new token .*401 bad_token"):
        client.me()


def test_refusals_are_exceptions_of_their_kind(
    connects: Connects, project: Project, mara: User, eric: User
) -> None:
    client = connects()
    with pytest.raises(NotFound, match=r"no project “other”.*Ask its manager"):
        client.project("other")
    with pytest.raises(BadRequest, match="preset") as bad:
        client.create_project("new", "none such")
    assert "preset" in bad.value.errors
    with pytest.raises(Conflict, match="slug_taken"):
        client.create_project(project.slug, "diamante")
    reader = connects(token=create_token(user=mara, name="reader", scopes=["read"])[1])
    with pytest.raises(ScopeMissing, match="scope “manage”") as missing:
        reader.create_project("new", "diamante")
    assert missing.value.facts["scope"] == "manage"
    of_eric = connects(token=create_token(user=eric, name="eric", scopes=list(Scope))[1])
    with pytest.raises(NotAllowed, match="roles"):
        list(of_eric.project(project.slug).people())


def test_settings_people_and_questions(
    connects: Connects, project: Project, quality: Project, ann: User
) -> None:
    client = connects()
    assert {each.slug for each in client.projects()} == {"chit-chat", "quality"}
    mine, stale = client.project("quality"), client.project("quality")
    mine.update(title="Quality of answers")
    with pytest.raises(Changed):
        stale.update(title="Another title")
    assert stale.refresh().title == "Quality of answers"
    assert mine.update_settings(overlap=3)["overlap"] == mine.settings["overlap"] == 3
    content = mine.questions["content"]
    assert mine.set_questions(content)["content"] == content
    with pytest.raises(BadRequest, match="invalid"):
        mine.set_questions("questions: [{}]")
    assert mine.add_person("ann", ["annotator"]).roles == ["annotator"]
    mine.set_roles("ann", ["controller"])
    assert mine.change_person("ann", group="night").group == "night"
    assert mine.change_person("ann", reading_languages=["zh"]).reading_languages == ["zh"]
    assert {each.username: each.group for each in mine.people()}["ann"] == "night"
    assert mine.invite("bea", ["annotator"])
    assert {each.username: each.roles for each in mine.people()} == {
        "mara": ["manager"],
        "ann": ["controller"],
        "bea": ["annotator"],
    }
    with pytest.raises(NotFound):
        mine.remove_person("ann?")  # and not ann
    mine.remove_person("ann")
    assert {each.username for each in mine.people()} == {"mara", "bea"}


def test_a_server_that_is_away_is_named() -> None:
    away = Client(f"http://127.0.0.1:{free_port()}", "t", retries=QUICK)
    with away as client, pytest.raises(ConnectionLost, match="did not answer, tried 4 times: ConnectError"):
        client.me()


class OtherServer(BaseHTTPRequestHandler):
    """Answers as a proxy does by itself, with the status that the address begins with."""

    def do_GET(self) -> None:
        status = self.path.split("/")[1]
        if status == "lapidary":  # signs a download
            self.send_response(302)
            self.send_header(HEADER, API_VERSION)
            self.send_header("Location", "/lapidary-store/rows.jsonl")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(int(status) if status.isdecimal() else 200)
        self.send_header("Location", "https://lapidary.example/")
        self.send_header("Retry-After", "3")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_arguments: object) -> None:
        return


@pytest.fixture
def other_server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), OtherServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_another_server_is_noticed(other_server: str) -> None:
    with Client(other_server, "t") as client, pytest.raises(ServerTooOld, match="or not a Lapidary server"):
        client.me()
    moved = Client(f"{other_server}/301", "t")
    with moved as client, pytest.raises(lapidary.Problem, match="redirects to http"):
        client.me()


@pytest.mark.parametrize(
    "status, error, waits",
    [(401, BadToken, []), (403, NotAllowed, []), (413, TooLarge, []), (429, TooManyRequests, [3, 3])],
)
def test_what_a_proxy_refuses_is_not_taken_for_an_old_server(
    status: int, error: type[lapidary.Problem], waits: list[float], other_server: str, tmp_path: Path
) -> None:
    """Also when a file is downloaded: the server did answer."""
    slept: list[float] = []
    retries = Retries(tries=3, pause=0.01, sleep=slept.append)
    with Client(f"{other_server}/{status}", "t", retries=retries) as client:
        with pytest.raises(error):
            client.me()
        with pytest.raises(error):
            download(client._transport, "exports/1/file/", tmp_path / "rows.jsonl", progress=False)
    assert slept == waits * 2


def test_a_store_whose_address_begins_like_the_servers_names_no_version(
    other_server: str, tmp_path: Path
) -> None:
    with Client(f"{other_server}/lapidary", "t") as client:
        file = download(client._transport, "exports/1/file/", tmp_path / "rows.jsonl", progress=False)
    assert file.read_bytes() == b"{}"


def test_the_version_is_that_of_the_api() -> None:
    """The client of this repository belongs to the server of this repository."""
    assert lapidary.__version__.rpartition(".")[0] == API_VERSION
    assert HEADER == HEADER_OF_SERVER
    check_api_version(API_VERSION, "here")
    check_api_version("1.99", "here")
    with pytest.raises(ServerTooOld, match=r"version 1\.0 of the API.*install lapidary==1\.0\.\*"):
        check_api_version("1.0", "here")
    with pytest.raises(ServerTooNew, match=r"Install lapidary==2\.\*"):
        check_api_version("2.0", "here")


def test_an_answer_of_another_schema_is_noticed() -> None:
    with pytest.raises(ServerTooOld, match=r"no “external_id” for a Dialogue\. Upgrade"):
        Dialogue.read({"id": 1})


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_every_code_is_one_of_the_server(code: str) -> None:
    folders = ("accounts", "annotation", "common", "dialogues", "preference", "projects")
    sources = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    assert any(f'"{code}"' in path.read_text(encoding="utf-8") for path in sources)


def test_pauses_grow_and_end() -> None:
    pauses: list[float] = []
    retries = Retries(tries=6, pause=0.5, sleep=pauses.append)
    for failures in range(1, 9):
        retries.wait(failures)
    assert all(
        0.5 <= each / longest <= 1
        for each, longest in zip(pauses, [0.5, 1, 2, 4, 8, 16, 30, 30], strict=True)
    )
    retries.wait(1, asked=7)
    assert pauses[-1] == 7


def test_a_study_has_no_settings_in_the_api(connects: Connects, project: Project) -> None:
    study = connects().create_project("study", "live-assessment")
    with pytest.raises(lapidary.LapidaryError, match="protocol assessment"):
        study.update_settings(overlap=2)
    with pytest.raises(NotFound, match="no such model"):
        study.promote("any")


@pytest.mark.parametrize(
    "url", ["", "lapidary.example", "ftp://lapidary.example", "https://", "https://ann:x@here"]
)
def test_a_wrong_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(lapidary.LapidaryError, match="It looks like https://") as refused:
        Client(url, "t")
    assert "ann" not in str(refused.value)


@pytest.mark.parametrize("token", ["", " ", "secret\nsecret", "sécret", "my secret"])
def test_no_error_shows_a_token(token: str) -> None:
    with pytest.raises(lapidary.LapidaryError, match="not a token") as refused:
        Client("https://lapidary.example", token)
    assert "cret" not in str(refused.value)


def test_a_token_may_end_with_its_line(connects: Connects, token: str) -> None:
    assert connects(token=f"{token}\n").me().username == "mara"
