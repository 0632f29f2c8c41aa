"""Topics on pages: filter, column, a dialogue's own topic, the project's list, distribution, tagging runs."""

import json
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import User
from dialogues.models import Dialogue
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.topics.models import TaggingRun
from preference.topics.selectors import categories_of
from projects.models import Project
from tests.frontend.data_pages import erics_browser, files_root, html, imported, spoken
from tests.preference.training.evaluators.conftest import judge_server as judge_server

__all__ = ["erics_browser", "files_root"]
pytestmark = pytest.mark.django_db
PAGE = "/p/chit-chat/topics/"
LIST = "/p/chit-chat/dialogues/"


@pytest.fixture(autouse=True)
def models_root(settings: Settings, files_root: Path) -> None:
    settings.MODELS_ROOT = files_root / "models"


@pytest.fixture
def filled(project: Project) -> Project:
    imported(
        project,
        [
            spoken("I drink tea.", "With milk?", topic="food", language="en", domain="chat"),
            spoken("我家猫掉毛", "多吗？", topic="宠物", language="zh", domain="chat"),
            spoken("More tea?", "Yes", language="en"),
        ],
    )
    return project


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html(response)))


def test_the_list_of_dialogues_shows_and_filters_topics(erics_browser: Client, filled: Project) -> None:
    page = html(erics_browser.get(LIST))
    assert "Every topic" in page
    assert page.count('href="/p/chit-chat/dialogues/') > 2
    pets = text_of(erics_browser.get(f"{LIST}?topic=pets"))
    assert "1 dialogue with these filters" in pets
    assert "我家猫掉毛" in pets
    assert "More tea?" in text_of(erics_browser.get(f"{LIST}?topic=none"))
    assert "1 dialogue with" not in text_of(erics_browser.get(f"{LIST}?topic=weather"))
    assert "More tea?" in text_of(erics_browser.get(f"{LIST}?topic=none&q=tea"))


def test_without_topics_the_list_has_neither_column_nor_filter(
    erics_browser: Client, project: Project
) -> None:
    imported(project, [spoken("Hello")])
    assert "opic" not in text_of(erics_browser.get(LIST)).replace("Topics", "")


def test_a_manager_sets_the_topic_of_a_dialogue(client: Client, mara: User, filled: Project) -> None:
    client.force_login(mara)
    dialogue = Dialogue.objects.latest("id")
    address = reverse("dialogue", args=["chit-chat", dialogue.pk])
    assert client.post(f"{address}topic/", {"topic": "home"}).headers["Location"] == address
    page = text_of(client.get(address))
    assert "Home · A person" in page
    assert "Topic: Home" in page
    assert client.post(f"{address}topic/", {"topic": "weather"}).status_code == 400


def test_a_controller_reads_the_topic_and_cannot_set_it(
    client: Client, carlos: User, filled: Project
) -> None:
    client.force_login(carlos)
    dialogue = Dialogue.objects.earliest("id")
    address = reverse("dialogue", args=["chit-chat", dialogue.pk])
    page = html(client.get(address))
    assert "Food and drink" in page
    assert f"{address}topic/" not in page
    assert client.post(f"{address}topic/", {"topic": "home"}).status_code == 403
    assert client.get(PAGE).status_code == 403


def test_a_manager_edits_the_topics_of_the_project(client: Client, mara: User, project: Project) -> None:
    client.force_login(mara)
    settings = "/p/chit-chat/settings/"
    assert "food | Food and drink | 美食" in html(client.get(settings))
    answer = client.post(f"{settings}topics/", {"topics": "card | Cards | 银行卡\n\nloan | Loans | 贷款"})
    assert answer.headers["Location"] == settings
    assert [one.id for one in categories_of(project)] == ["card", "loan"]
    for wrong in ("card | Cards | 银行卡\nloan", "card | Cards | 银行卡", "a | A | 甲\na | B | 乙"):
        answer = client.post(f"{settings}topics/", {"topics": wrong})
        assert answer.status_code == 422
        assert "<details open>" in html(answer)
    assert client.post(f"{settings}topics/", {"topics": ""}).status_code == 302
    assert len(categories_of(project)) == 26


def test_the_distribution_with_its_files(
    erics_browser: Client, filled: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(16):
        page = erics_browser.get(PAGE)
    text = text_of(page)
    assert "n = 2 dialogues with a topic · 1 without" in text
    assert "Pets · Chinese: 100.0 %, n = 1" in html(page)
    assert f"{LIST}?topic=pets" in html(page)
    assert "The imported file" in text
    assert "Which domains do the dialogues come from?" in text
    rows = erics_browser.get(f"{PAGE}topics.json").json()["rows"]
    assert sorted(row[:3] for row in rows) == [["Food and drink", 1, 50.0], ["Pets", 1, 50.0]]
    assert "Food and drink,1,50.0" in erics_browser.get(f"{PAGE}topics.csv").content.decode()
    assert erics_browser.get(f"{PAGE}topics.svg").content.startswith(b"<svg")
    assert erics_browser.get(f"{PAGE}x.csv").status_code == 404
    assert "What are the dialogues about?" in html(erics_browser.get("/p/chit-chat/statistics/"))
    assert erics_browser.get("/p/chit-chat/statistics/topics.csv").status_code == 200


def test_an_empty_page_says_what_to_do(erics_browser: Client, project: Project) -> None:
    assert "No dialogue has a topic yet" in text_of(erics_browser.get(PAGE))
    assert erics_browser.get(f"{PAGE}new/?tagger=x").headers["Location"] == PAGE
    assert "No topic model yet" in text_of(erics_browser.get(f"{PAGE}new/?tagger=model"))
    training = text_of(erics_browser.get("/p/chit-chat/trainings/new/?kind=topics"))
    assert "Train a topic model" in training
    assert "Take a snapshot first" in training


def test_tag_follow_and_undo(erics_browser: Client, filled: Project, judge_server: str) -> None:
    assert "Address of the server" in text_of(erics_browser.get(f"{PAGE}new/?tagger=judge"))
    body = {"id": str(uuid4()), "server": f"{judge_server}/topics/v1", "server_model": "judge-1"}
    for _twice in range(2):
        answer = erics_browser.post(f"{PAGE}new/?tagger=judge", body)
        assert answer.status_code == 302, text_of(answer)
    run = TaggingRun.objects.get()
    address = reverse("tagging_run", args=["chit-chat", run.pk])
    assert answer.headers["Location"] == address
    assert "Waiting" in text_of(erics_browser.get(address))
    assert erics_browser.get(f"{address}?part=row").status_code == 200
    run_job(job_id=run.job_id)
    live = erics_browser.get(f"{address}?part=live")
    assert live.headers["HX-Refresh"] == "true"
    assert "1 dialogue got a topic" in text_of(erics_browser.get(address))
    assert "1 dialogue tagged" in text_of(erics_browser.get(PAGE))
    assert erics_browser.get(f"/p/chit-chat/jobs/{run.pk}/").status_code == 200
    for _twice in range(2):
        assert erics_browser.post(f"{address}undo/").headers["Location"] == address
    assert "Undone: 1 topic was removed" in text_of(erics_browser.get(address))
    assert not Dialogue.objects.filter(topic_source="judge").exists()


def test_a_refused_run_says_why(erics_browser: Client, project: Project) -> None:
    body = {"id": str(uuid4()), "server": "http://127.0.0.1:9/v1", "server_model": "m"}
    answer = erics_browser.post(f"{PAGE}new/?tagger=judge", body)
    assert answer.status_code == 409
    assert "has a topic already" in text_of(answer)
    wrong = erics_browser.post(f"{PAGE}new/?tagger=judge", {**body, "server_model": ""})
    assert wrong.status_code == 422


def test_a_failed_run_offers_to_start_again(erics_browser: Client, filled: Project) -> None:
    body = {"id": str(uuid4()), "server": "http://127.0.0.1:9/v1", "server_model": "m"}
    erics_browser.post(f"{PAGE}new/?tagger=judge", body)
    Job.objects.filter(pk=body["id"]).update(state=JobState.FAILED, error="It broke.")
    address = reverse("tagging_run", args=["chit-chat", body["id"]])
    assert "It broke." in text_of(erics_browser.get(address))
    erics_browser.post(f"{address}retry/")
    assert Job.objects.get(pk=body["id"]).state == JobState.QUEUED
    erics_browser.post(f"{address}cancel/")
    assert Job.objects.get(pk=body["id"]).state == JobState.CANCELLED
    assert json.loads(json.dumps(TaggingRun.objects.get().settings))["server_model"] == "m"
