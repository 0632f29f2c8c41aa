"""Prolific's API, answered by a small server as its public documentation describes it."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from assessment.sessions.models.participants import Assignment, AssignmentState
from assessment.sessions.models.runs import Run
from assessment.sessions.services import panels
from assessment.sessions.services.panels import PanelError, Prolific, configured_panel, sync_panel
from tests.assessment.steps import begin, complete

TOKEN = "a-token"


class FakeProlific(HTTPServer):
    """submissions: rows by study. broken: what to answer instead of them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.submissions: dict[str, list[dict[str, Any]]] = {}
        self.asked: list[str] = []
        self.broken: tuple[int, bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, study: str, participant: str, session: str, status: str) -> None:
        row = {"id": session, "participant_id": participant, "status": status, "study_id": study}
        self.submissions.setdefault(study, []).append(row)


class Answers(BaseHTTPRequestHandler):
    server: FakeProlific

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        if self.server.broken:
            self.reply(*self.server.broken)
        elif self.headers["Authorization"] != f"Token {TOKEN}":
            self.reply(401, b'{"error": {"status": 401}}')
        elif address.path != "/api/v1/submissions/":
            self.reply(404, b"{}")
        else:
            rows = self.server.submissions.get(query["study"], [])
            begin = (int(query["page"]) - 1) * int(query["page_size"])
            page = rows[begin : begin + int(query["page_size"])]
            self.reply(200, json.dumps({"results": page, "meta": {"count": len(rows)}}).encode())

    def reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def prolific() -> Iterator[FakeProlific]:
    server = FakeProlific()
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def anns(run: Run) -> Assignment:
    return begin(run.project, "ann", STUDY_ID="s1", SESSION_ID="x1")


def state_of(assignment: Assignment) -> str:
    return Assignment.objects.get(pk=assignment.pk).state


@pytest.mark.parametrize("status", ["RETURNED", "TIMED-OUT", "TIMED_OUT"])
def test_a_participant_who_left_the_panel_leaves_the_study_at_once(
    prolific: FakeProlific, run: Run, anns: Assignment, status: str
) -> None:
    prolific.add("s1", "ann", "x1", status)
    assert sync_panel(Prolific(TOKEN, prolific.url)) == 1
    assert state_of(anns) == AssignmentState.RETURNED
    run.refresh_from_db()
    assert run.open_places == 10
    assert sync_panel(Prolific(TOKEN, prolific.url)) == 0


@pytest.mark.parametrize("status", ["RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "REJECTED"])
def test_everybody_else_stays(prolific: FakeProlific, anns: Assignment, status: str) -> None:
    prolific.add("s1", "ann", "x1", status)
    assert sync_panel(Prolific(TOKEN, prolific.url)) == 0
    assert state_of(anns) == AssignmentState.ACTIVE


def test_an_earlier_returned_submission_says_nothing_about_the_present_one(
    prolific: FakeProlific, anns: Assignment
) -> None:
    prolific.add("s1", "ann", "x0", "RETURNED")
    assert sync_panel(Prolific(TOKEN, prolific.url)) == 0


def test_whoever_completed_stays_completed(prolific: FakeProlific, anns: Assignment) -> None:
    complete(anns)
    prolific.add("s1", "ann", "x1", "RETURNED")
    begin(anns.run.project, "bob", STUDY_ID="s1", SESSION_ID="x2")
    assert sync_panel(Prolific(TOKEN, prolific.url)) == 0
    assert state_of(anns) == AssignmentState.COMPLETED


def test_every_page_is_read(prolific: FakeProlific, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "PAGE_SIZE", 2)
    for n in range(5):
        prolific.add("s1", f"p{n}", f"x{n}", "ACTIVE")
    found = list(Prolific(TOKEN, prolific.url).submissions("s1"))
    assert [one.participant for one in found] == ["p0", "p1", "p2", "p3", "p4"]
    assert len(prolific.asked) == 3


@pytest.mark.parametrize("broken", [(500, b""), (200, b"<html>"), (200, b"[]"), (200, b'{"results": [1]}')])
def test_a_panel_that_answers_nonsense_changes_nothing(
    prolific: FakeProlific, anns: Assignment, broken: tuple[int, bytes]
) -> None:
    prolific.broken = broken
    assert sync_panel(Prolific(TOKEN, prolific.url)) == 0
    assert state_of(anns) == AssignmentState.ACTIVE


def test_a_wrong_token_is_an_error(prolific: FakeProlific) -> None:
    with pytest.raises(PanelError, match="401"):
        list(Prolific("another", prolific.url).submissions("s1"))


def test_without_a_token_no_panel_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROLIFIC_TOKEN", raising=False)
    assert configured_panel() is None
    monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
    assert isinstance(configured_panel(), Prolific)
