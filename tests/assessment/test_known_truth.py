"""Two runs of scripted participants through the addresses of their pages, with systems whose quality is known.

The report must find the careless ones, the order of the systems, and the same in both runs.
"""

import random
import time
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.report.selectors.run_report import RunReport, replications, run_report
from assessment.sessions.models.conversations import Session, Turn
from assessment.sessions.models.participants import Assignment
from assessment.sessions.models.runs import Run
from assessment.sessions.services import calls
from assessment.setup.models import TopicMode
from assessment.systems.connectors.protocol import SystemReply
from assessment.systems.models import Connector, System
from measures.system_scores import OVERALL
from projects.models import Project
from tests.assessment.steps import opened_run
from tests.sizes import FULL

pytestmark = [pytest.mark.django_db, pytest.mark.soak]

QUALITY = {"aster": 76, "briar": 61, "clover": 47, "daisy": 33}
DEGRADED = 12
CAREFUL, CARELESS = (120, 60) if FULL else (7, 3)
INPUTS = 10 if FULL else 1
SPREAD = 14


@pytest.fixture
def study(mara: User, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Four systems and a degraded one that answer at once."""
    monkeypatch.setattr(calls, "open_conversation", lambda *_: "")
    monkeypatch.setattr(calls, "ask", lambda *_: SystemReply("I see. And then?"))
    project = create_project(slug="truth", preset="live-assessment", actor=mara, title="Known truth")
    settings = project.assessment
    settings.inputs, settings.ordinary_systems, settings.signed_links = INPUTS, len(QUALITY), False
    settings.runs_per_participant, settings.delay_ms, settings.delay_per_character_ms = 2, 0, 0
    settings.save()
    for name in QUALITY:
        System.objects.create(project=project, name=name, connector=Connector.OPENAI)
    System.objects.create(project=project, name="degraded", connector=Connector.DEGRADED, corpus=project)
    return project


class Script:
    """A participant who does by HTTP what a browser does. careless: rates at random."""

    def __init__(self, run: Run, name: str, careless: bool) -> None:
        self.run, self.careless, self.client = run, careless, Client()
        self.name = f"{name} in run {run.number}"
        self.client.get(f"/join/truth/?PROLIFIC_PID={name}&run={run.number}")
        self.post("consent")
        self.assignment = Assignment.objects.get(run=run, participant__panel_id=name)

    def post(self, path: str, **fields: object) -> None:
        response = self.client.post(f"/join/truth/{path}/", fields)
        assert response.status_code == 302, (path, response.content)

    def take_part(self) -> None:
        for session in self.assignment.sessions.select_related("system"):
            self.converse(session)
        self.post("feedback", feedback="")
        assert b"code" in self.client.get("/join/truth/").content.lower()
        self.assignment.refresh_from_db()
        assert self.assignment.state == "completed"

    def converse(self, session: Session) -> None:
        self.post("start", session=session.pk, topic="tea", opinion="like")
        for number in range(INPUTS):
            self.send(session, f"Message {number}: I like tea.")
        self.post("finish", session=session.pk)
        values = {f"statement_{name}": value for name, value in self.ratings(session.system).items()}
        self.post("ratings", session=session.pk, bot_opinion="like", topic_change="none", **values)

    def send(self, session: Session, text: str) -> None:
        turn = str(uuid4())
        body = {"id": turn, "session": session.pk, "text": text, "writing": {"typing_ms": 900}}
        stored = self.client.post("/join/truth/turns/", body, content_type="application/json")
        assert stored.status_code == 201, stored.content
        calls.fetch_reply(turn_id=Turn.objects.get(pk=turn).pk, worker="worker-1")
        assert self.wait_for_reply(turn) == {"state": "replied", "reply": "I see. And then?"}

    def wait_for_reply(self, turn: str) -> dict[str, object]:
        """The state of a turn once it is another one than waiting, asked for as often as the server says."""
        while True:
            answer = self.client.get(f"/join/truth/turns/{turn}/", headers={"Accept": "application/json"})
            status: dict[str, object] = answer.json()
            if status["state"] != "waiting":
                return status
            time.sleep(answer.json()["retry_after_ms"] / 1000)

    def ratings(self, system: System) -> dict[str, int]:
        """What this person finds; the careless one does not look at what they rate."""
        rated = {}
        for statement in self.run.project.assessment.statement_list:
            # Seeded by what is rated: the order of the systems differs from one test run to the next.
            rng = random.Random(f"{self.name}: {statement.name} of {system.name}")
            quality = QUALITY.get(system.name, DEGRADED)
            agreed = rng.uniform(0, 100) if self.careless else rng.gauss(quality, SPREAD)
            value = round(min(100, max(0, agreed)))
            rated[statement.name] = 100 - value if statement.is_reversed else value
        return rated


def conduct_run(project: Project) -> RunReport:
    run = opened_run(project, places=CAREFUL + CARELESS, topic_mode=TopicMode.FREE)
    for number in range(CAREFUL):
        Script(run, f"careful-{number}", careless=False).take_part()
    for number in range(CARELESS):
        Script(run, f"careless-{number}", careless=True).take_part()
    return run_report(Run.objects.get(pk=run.pk), project.assessment)


def share_passed(report: RunReport, kind: str) -> float:
    people = Assignment.objects.filter(run=report.run, participant__panel_id__startswith=f"{kind}-")
    keys = set(people.values_list("participant", flat=True))
    return len(keys & report.passed) / len(keys)


def test_known_quality_is_found_in_two_runs(study: Project) -> None:
    reports = [conduct_run(study), conduct_run(study)]
    for report in reports:
        assert share_passed(report, "careful") >= 0.9
        assert share_passed(report, "careless") <= 0.1
        assert [each.system for each in report.scores] == list(QUALITY)
    (pair,) = replications(reports)
    agreement = pair.replication.by_score[OVERALL]
    assert agreement.pearson is not None
    assert agreement.pearson > 0.9
    assert agreement.spearman == pytest.approx(1.0)
