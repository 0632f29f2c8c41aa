"""The demo study: what `make demo` creates (people, ratings, a collection), and the chatbots that it starts."""

import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from django.core.management import CommandError, call_command
from django.test import Client, override_settings
from pytest_django import DjangoDbBlocker

from accounts.models import User
from annotation.labelling.models.labels import Submission
from annotation.tasks.models.work import Task, TaskState
from assessment.collections.models import CollectedDialogue, Collection
from assessment.collections.selectors.report import HUMAN, collection_report
from assessment.demo.collection import CONTEXTS, LEFT_FOR_PEOPLE
from assessment.demo.collection import SLUG as RATING
from assessment.demo.participants import CARELESS, PEOPLE
from assessment.report.selectors.run_report import run_report
from assessment.sessions.models.conversations import Rating, Session, SessionState, Turn
from assessment.sessions.models.participants import Assignment, Participant
from assessment.sessions.models.runs import Run, RunState
from assessment.sessions.selectors.turns import degraded_replies
from assessment.systems.models import Connector, System
from assessment.systems.selectors.identity import identity_words_in
from projects.models import Project
from tests.module_rows import shared_rows
from tests.processes import free_port, wait_until

BOTS = "http://127.0.0.1:8601"


@pytest.fixture(scope="module")
def _seeded(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with shared_rows(django_db_blocker):
        call_command("seed_demo", verbosity=0)
        call_command("seed_demo_study", bots=BOTS, verbosity=0)
        yield


@pytest.fixture
def study(_seeded: None, db: None) -> Project:
    return Project.objects.get(slug="live-assessment")


def test_five_systems_and_a_degraded_one_of_every_connector(study: Project) -> None:
    systems = System.objects.filter(project=study)
    assert {system.connector for system in systems} == set(Connector.values) - {Connector.IMPORTED}
    assert sum(not system.is_degraded for system in systems) == 5


def test_the_scripts_are_marked_and_most_of_them_pass(study: Project) -> None:
    first, second = Run.objects.filter(project=study).order_by("number")
    assert (first.state, second.state) == (RunState.CLOSED, RunState.OPEN)
    assert set(first.assignments.values_list("is_scripted", flat=True)) == {True}
    assert set(Session.objects.filter(assignment__run=first).values_list("state", flat=True)) == {
        SessionState.RATED
    }
    assert Rating.objects.filter(session__assignment__run=first).count() == PEOPLE * 6 * 7
    report = run_report(first, study.assessment)
    assert PEOPLE - CARELESS - 1 <= len(report.passed) < PEOPLE  # a careless one may pass by chance


def test_degraded_replies_tell_where_they_are_from(study: Project) -> None:
    turns = Turn.objects.filter(session__system__connector=Connector.DEGRADED)
    assert turns.count() == PEOPLE * 4
    assert all("source_text" in turn.trace for turn in turns)


def test_replies_of_unknown_making_are_not_explained(study: Project) -> None:
    system = System.objects.get(project=study, connector=Connector.DEGRADED)
    texts = [text for text, _trace in degraded_replies(system, 1000)]
    assert len(texts) == PEOPLE * 4
    imported = Turn.objects.filter(session__system=system).order_by("replied_at")[0]
    Turn.objects.filter(pk=imported.pk).update(trace={})
    assert len(degraded_replies(system, 1000)) == len(texts) - 1


def test_a_second_run_changes_only_the_address_of_the_bots(study: Project) -> None:
    before = [model.objects.count() for model in (Participant, Assignment, Turn, Run, System)]
    call_command("seed_demo_study", bots="http://127.0.0.1:8777", verbosity=0)
    assert [model.objects.count() for model in (Participant, Assignment, Turn, Run, System)] == before
    assert System.objects.get(name="Rule bot").options["base_url"] == "http://127.0.0.1:8777/v1"
    assert System.objects.get(name="Script bot").options["address"] == "http://127.0.0.1:8777/chat"


def test_the_printed_link_opens(study: Project, capsys: pytest.CaptureFixture[str], client: Client) -> None:
    call_command("seed_demo_study", bots=BOTS, server="http://testserver")
    address = capsys.readouterr().out.split()[-1]
    page = client.get(address, follow=True)
    assert page.status_code == 200
    assert "Before you begin" in page.content.decode()


def test_members_of_the_demo_open_the_report(study: Project, client: Client) -> None:
    client.force_login(User.objects.get(username="eric"))
    html = client.get("/p/live-assessment/report/?run=1").content.decode()
    assert "participants passed the reliability test" in html


def test_the_demo_has_a_rated_collection(study: Project, client: Client) -> None:
    collection = Collection.objects.get()
    report = collection_report(collection)
    assert (report.planned, report.rated) == (3 * CONTEXTS, 3 * CONTEXTS - LEFT_FOR_PEOPLE)
    assert [row.system for row in report.systems] == [HUMAN, "Rule bot", "Degraded"]
    assert all("source_text" in row.draft.utterances.get(position=len(row.context)).metadata
               for row in CollectedDialogue.objects.filter(system__name="Degraded") if row.draft)  # fmt: skip
    client.force_login(User.objects.get(username="mara"))
    html = client.get(f"/p/live-assessment/collections/{collection.pk}/").content.decode()
    assert "is better than “Degraded”" in html
    client.force_login(User.objects.get(username="ann"))
    assert client.get(f"/p/{RATING}/queue/").status_code == 200
    assert Task.objects.filter(project__slug=RATING, state=TaskState.OPEN).count() == LEFT_FOR_PEOPLE
    counts = [model.objects.count() for model in (Project, Collection, CollectedDialogue, Submission)]
    call_command("seed_demo_study", bots=BOTS, verbosity=0)
    assert [model.objects.count() for model in (Project, Collection, CollectedDialogue, Submission)] == counts


@override_settings(PRODUCTION=True)
def test_production_refuses_scripted_participants(study: Project) -> None:
    with pytest.raises(CommandError, match="refused"):
        call_command("seed_demo_study")


@pytest.fixture
def bots() -> Iterator[str]:
    port = free_port()
    with subprocess.Popen([sys.executable, "-m", "assessment.demo.bots", str(port)]) as process:
        address = f"http://127.0.0.1:{port}"
        try:
            wait_until(lambda: answers(address), 20, "the bots")
            yield address
        finally:
            process.terminate()


def answers(address: str) -> bool:
    try:
        httpx.post(f"{address}/chat/end", json={})
    except httpx.TransportError:
        return False
    return True


def test_the_bots_answer_in_the_language_of_the_message(bots: str) -> None:
    def ask(text: str) -> str:
        messages = [{"role": "user", "content": text}]
        answer = httpx.post(f"{bots}/v1/chat/completions", json={"model": "rules", "messages": messages})
        return str(answer.json()["choices"][0]["message"]["content"])

    assert ask("I have two cats.") == "I would love a pet. What is yours like?"
    assert ask("我家有猫") == "我也想养宠物。你家的是什么样的？"
    opened = httpx.post(f"{bots}/chat/init", json={"conversation": "1", "persona": []}).json()
    said = {"session_id": opened["session_id"], "text": "Hello", "turn": 1, "seed": 1}
    assert httpx.post(f"{bots}/chat/next", json=said).json() == {
        "text": "Nice to meet you. I like rainy days."
    }
    assert httpx.post(f"{bots}/chat/next", json={"turn": 1}).status_code == 400
    assert httpx.post(f"{bots}/chat/other", json={}).status_code == 400
    assert not identity_words_in(System(name="Rule bot"), ask("Who are you?"))
