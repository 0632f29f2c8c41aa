"""The pages of evaluators: what can be scored, how it goes, what came of it."""

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
from jobs.models import Job, JobState
from preference.evaluators.models import EvaluatorName, ScoringRun
from projects.models import Project
from tests.frontend.data_pages import erics_browser, files_root, html, imported, spoken
from tests.preference.evaluators.test_scoring import scored, waiting

__all__ = ["erics_browser", "files_root"]
pytestmark = pytest.mark.django_db
LIST = "/p/chit-chat/evaluators/"


@pytest.fixture(autouse=True)
def models_root(settings: Settings, files_root: Path) -> None:
    settings.MODELS_ROOT = files_root / "models"


@pytest.fixture
def filled(project: Project) -> Project:
    imported(
        project, [spoken("Hello, who are you?", "A cat.", "Really?", "Really, really."), spoken("Hi", "Yes")]
    )
    return project


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html(response)))


def page_of(run: ScoringRun) -> str:
    return reverse("scoring_run", args=[run.project.slug, run.pk])


def test_an_empty_list_says_what_to_do(erics_browser: Client, project: Project) -> None:
    page = text_of(erics_browser.get(LIST))
    assert "Nothing was scored yet" in page
    assert all(str(label) in page for label in EvaluatorName.labels)


@pytest.mark.parametrize("evaluator", EvaluatorName.values)
def test_every_evaluator_has_a_form(erics_browser: Client, filled: Project, evaluator: str) -> None:
    response = erics_browser.get(f"{LIST}new/", {"evaluator": evaluator})
    assert response.status_code == 200
    assert ("Score the replies" in html(response)) != ("No model fits yet" in html(response))


def test_an_unknown_evaluator_leads_to_the_list(erics_browser: Client, filled: Project) -> None:
    assert erics_browser.get(f"{LIST}new/", {"evaluator": "x"}).headers["Location"] == LIST


def test_start_and_read(erics_browser: Client, filled: Project) -> None:
    body = {"id": str(uuid4()), "target": "replies", "unit": "words"}
    for _twice in range(2):
        answer = erics_browser.post(f"{LIST}new/?evaluator=length", body)
        assert answer.status_code == 302
    run = ScoringRun.objects.get()
    assert answer.headers["Location"] == page_of(run)
    assert "Waiting" in text_of(erics_browser.get(page_of(run)))
    assert erics_browser.get(page_of(run) + "?part=live").status_code == 200


def test_a_request_that_is_refused_says_why(erics_browser: Client, project: Project) -> None:
    body = {"id": str(uuid4()), "target": "replies"}
    answer = erics_browser.post(f"{LIST}new/?evaluator=length", body)
    assert answer.status_code == 409
    assert "no finished dialogue" in text_of(answer)


def test_a_setting_out_of_range_is_refused(erics_browser: Client, filled: Project) -> None:
    body = {"id": str(uuid4()), "target": "replies", "n": "0"}
    assert erics_browser.post(f"{LIST}new/?evaluator=distinct", body).status_code == 422
    assert not ScoringRun.objects.exists()


def test_the_scores_of_a_finished_run(erics_browser: Client, filled: Project) -> None:
    run = scored(filled, "distinct", settings={"n": 2})
    page = text_of(erics_browser.get(page_of(run)))
    assert "1 row has no score" in page  # "Yes"
    assert "How are the scores distributed?" in page
    assert "Really, really." in page
    unscored = text_of(erics_browser.get(page_of(run) + "?order=unscored"))
    assert "fewer than 2 words" in unscored
    file: Any = erics_browser.get(page_of(run) + "all.jsonl")
    rows = [json.loads(line) for line in b"".join(file.streaming_content).splitlines()]
    assert [row["text"] for row in rows] == ["A cat.", "Really?", "Really, really.", "Yes"]
    for suffix in ("svg", "csv", "json"):
        assert erics_browser.get(page_of(run) + f"scores.{suffix}").status_code == 200
    assert erics_browser.get(page_of(run) + "other.csv").status_code == 404


def test_stop_and_start_again(erics_browser: Client, filled: Project) -> None:
    run = waiting(filled)
    erics_browser.post(page_of(run) + "cancel/")
    assert "continues after the last reply" in text_of(erics_browser.get(page_of(run)))
    erics_browser.post(page_of(run) + "retry/")
    assert Job.objects.get(pk=run.pk).state == JobState.QUEUED


def test_only_who_trains_sees_the_tab(
    client: Client, filled: Project, ann: User, carlos: User, mara: User
) -> None:
    run = waiting(filled)
    for person in (ann, carlos):
        client.force_login(person)
        assert client.get(LIST).status_code == 403
        assert client.get(page_of(run)).status_code == 404
    client.force_login(mara)
    assert LIST in html(client.get(LIST))


def test_the_list_takes_the_same_queries_however_long(
    erics_browser: Client, filled: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _number in range(4):
        waiting(filled)
    with django_assert_max_num_queries(12):
        erics_browser.get(LIST)


def test_text_of_dialogues_is_escaped(erics_browser: Client, project: Project) -> None:
    imported(project, [spoken("Hello", "<script>alert(1)</script>")])
    page = html(erics_browser.get(page_of(scored(project))))
    assert "<script>alert(1)" not in page
