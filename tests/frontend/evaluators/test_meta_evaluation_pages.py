"""The pages on which evaluators stand beside people."""

from pathlib import Path
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import User
from jobs.services import run_job
from preference.evaluators.models import MetaEvaluation
from projects.models import Project
from tests.annotation.conftest import anna as anna
from tests.annotation.conftest import bela as bela
from tests.frontend.data_pages import files_root, html
from tests.frontend.evaluators.test_scoring_pages import text_of
from tests.preference.evaluators.conftest import quality as quality
from tests.preference.evaluators.test_meta_evaluations import compared
from tests.preference.evaluators.test_meta_evaluations import labelled as labelled
from tests.preference.evaluators.test_scoring import scored

__all__ = ["files_root"]
pytestmark = pytest.mark.django_db
LIST = "/p/quality/evaluators/"


@pytest.fixture(autouse=True)
def models_root(settings: Settings, files_root: Path) -> None:
    settings.MODELS_ROOT = files_root / "models"


@pytest.fixture
def maras_browser(client: Client, mara: User) -> Client:
    client.force_login(mara)
    return client


def page_of(evaluation: MetaEvaluation) -> str:
    return reverse("meta_evaluation", args=["quality", evaluation.pk])


def test_three_evaluators_on_one_page(maras_browser: Client, labelled: Project) -> None:
    for evaluator in ("length", "distinct", "random"):
        scored(labelled, evaluator)
    assert "Compare with people" in text_of(maras_browser.get(LIST))
    body = {"id": str(uuid4()), "question": "quality"}
    for _twice in range(2):
        answer = maras_browser.post(f"{LIST}comparisons/", body)
    evaluation = MetaEvaluation.objects.get()
    assert answer.headers["Location"] == page_of(evaluation)
    assert "Waiting" in text_of(maras_browser.get(page_of(evaluation)))
    assert not run_job(job_id=evaluation.job_id).error
    page = maras_browser.get(page_of(evaluation))
    shown = text_of(page)
    for words in (
        "Length agrees best with people",
        "A person agrees with the others",
        "Which evaluator agrees with people?",
        "Is one evaluator better than another?",
        "Does an evaluator agree with people as well as a person does?",
        "Distinct n-grams",
        "Random number",
    ):
        assert words in shown
    assert str(evaluation.runs.all()[0].pk) not in shown
    assert html(page).count("<svg") >= 2 * 5
    assert "1 evaluator" not in text_of(maras_browser.get(LIST))
    for name, suffix in (("report", "json"), ("correlation", "csv"), ("points-1", "svg"), ("people", "json")):
        assert maras_browser.get(f"{page_of(evaluation)}{name}.{suffix}").status_code == 200
    assert maras_browser.get(f"{page_of(evaluation)}nothing.csv").status_code == 404


def test_a_refusal_is_shown_with_the_form(maras_browser: Client, quality: Project) -> None:
    scored(quality)
    answer = maras_browser.post(f"{LIST}comparisons/", {"id": str(uuid4()), "question": "quality"})
    assert answer.status_code == 409
    assert "Nobody has judged" in text_of(answer)
    assert maras_browser.post(f"{LIST}comparisons/", {"question": "mood"}).status_code == 422


def test_only_who_trains_sees_a_comparison(client: Client, labelled: Project, anna: User) -> None:
    scored(labelled)
    evaluation = compared(labelled)
    client.force_login(anna)
    assert client.get(page_of(evaluation)).status_code == 404
    assert client.post(f"{LIST}comparisons/", {}).status_code == 403
