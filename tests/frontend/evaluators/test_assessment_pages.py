"""What an assessor's scores are good for, on the pages: the order of the queue, batches of machine labels."""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from accounts.models import User
from annotation.batch_review.models import BatchPlan
from annotation.tasks.models.rounds import Batch, Round
from annotation.tasks.models.work import Task
from annotation.tasks.selectors.queue import queue_order
from preference.evaluators.models import ScoringRun
from projects.models import Project
from tests.frontend.data_pages import html
from tests.frontend.evaluators.test_scoring_pages import page_of, text_of
from tests.preference.evaluators.assessed import SURE, UNSURE, assessed_run, ids_of
from tests.preference.evaluators.conftest import quality as quality

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(quality: Project) -> ScoringRun:
    first, second, _third = ids_of(quality)
    return assessed_run(quality, {first: SURE[2], second: UNSURE})


@pytest.fixture
def browser(client: Client, mara: User) -> Client:
    client.force_login(mara)
    return client


def address(run: ScoringRun, name: str) -> str:
    return reverse(name, args=[run.project.slug, run.pk])


def test_the_preview_says_how_many_dialogues_are_ordered_and_the_order_can_be_undone(
    browser: Client, run: ScoringRun
) -> None:
    page = text_of(browser.get(page_of(run)))
    assert "2 open dialogues would be ordered" in page
    assert "1 without a score would follow." in page
    assert "Undo the order" not in page
    body = {"request_id": str(uuid4())}
    for _twice in range(2):
        browser.post(address(run, "scoring_order_queue"), body)
    page = text_of(browser.get(page_of(run)))
    assert "2 open dialogues are ordered, the least certain first." in page
    assert "The queue is ordered by these scores" in page
    assert "Order the queue by uncertainty" not in page
    browser.post(address(run, "scoring_undo_order"), {"request_id": str(uuid4())})
    assert queue_order(run.project) is None
    assert "Order the queue by uncertainty" in text_of(browser.get(page_of(run)))


def test_scores_of_other_evaluators_order_nothing(browser: Client, quality: Project) -> None:
    run = assessed_run(quality, {ids_of(quality)[0]: SURE[0]}, evaluator="length", base="")
    assert "Order of the queue" not in text_of(browser.get(page_of(run)))
    browser.post(address(run, "scoring_order_queue"))
    assert queue_order(quality) is None
    assert browser.get(address(run, "scoring_machine_labels")).status_code == 302


def test_a_batch_of_machine_labels_is_sealed_and_marked(browser: Client, run: ScoringRun) -> None:
    page = text_of(browser.get(address(run, "scoring_machine_labels")))
    assert "2 scored dialogues are in no batch" in page
    assert "This is the project's first batch." in html(
        browser.get(address(run, "scoring_machine_labels"))
    ).replace("&#x27;", "'")
    body = {
        "batch_id": str(uuid4()),
        "class_0": "people",
        "class_1": "people",
        "class_2": "2",
        "least_probability": "0.9",
        "most": "10",
    }
    answer = browser.post(address(run, "scoring_machine_labels"), body)
    assert answer.headers["Location"] == reverse("batch", args=["quality", 1])
    page = text_of(browser.get(answer.headers["Location"]))
    assert "Machine chat-assessor-1" in page
    assert "1 machine label is sealed as a batch." in page
    assert "Machine chat-assessor-1" in text_of(browser.get(reverse("batches", args=["quality"])))
    assert "Labelled by a machine" in text_of(browser.get(reverse("project", args=["quality"])))
    task = Task.objects.get(round=Round.objects.get())
    dialogue = text_of(browser.get(reverse("dialogue", args=["quality", task.dialogue_id])))
    assert "Label of the model chat-assessor-1, not of a person" in dialogue


def test_a_choice_that_is_refused_says_why(browser: Client, run: ScoringRun) -> None:
    body = {"batch_id": str(uuid4()), "least_probability": "0", "most": "10"}
    body |= {f"class_{n}": "people" for n in range(3)}
    answer = browser.post(address(run, "scoring_machine_labels"), body)
    assert answer.status_code == 400
    assert "nothing to label" in text_of(answer)
    assert not Batch.objects.exists()


def test_without_a_checked_question_the_run_says_what_to_do(browser: Client, run: ScoringRun) -> None:
    BatchPlan.objects.update_or_create(project=run.project, defaults={"question": ""})
    answer = browser.get(address(run, "scoring_machine_labels"), follow=True)
    assert "Choose a question about the dialogue" in text_of(answer)


def test_in_chinese(browser: Client, run: ScoringRun) -> None:
    with translation.override("zh-hans"):
        browser.cookies["django_language"] = "zh-hans"
        assert "按不确定性给队列排序" in text_of(browser.get(page_of(run)))
