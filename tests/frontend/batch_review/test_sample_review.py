"""The page on which a sample is judged: its initial data, and the labels that must not be in it."""

import json
import re
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.test import Client

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Sample
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import accept_round
from annotation.tasks.models.rounds import Round
from projects.models import Project
from tests.annotation.batch_review.conftest import judge_all, judge_item, sample_items

PAGE = "/p/quality/batches/1/sample/"


@pytest.fixture(autouse=True)
def _no_reservations() -> None:
    cache.clear()


def data_of(client: Client) -> dict[str, Any]:
    response = client.get(PAGE)
    assert response.status_code == 200
    match = re.search(r'id="workbench" type="application/json">(.*?)</script>', response.content.decode())
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


def test_a_blind_page_holds_no_label(client: Client, drawn: Sample, carla: User) -> None:
    client.force_login(carla)
    data = data_of(client)
    assert len(data["items"]) == 3
    assert {item["label"] for item in data["items"]} == {None}
    assert {entry["drawn"] for entry in data["progress"]["sample_progress"]["classes"]} == {None}
    assert data["schemas"].keys() == {"1"}


def test_an_open_page_shows_the_label(client: Client, sealed: Round, carla: User) -> None:
    BatchPlan.objects.update(is_blind=False)
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    client.force_login(carla)
    finals = [item.final.answers for item in sample_items(sample)][:3]
    assert [item["label"] for item in data_of(client)["items"]] == finals


def test_the_page_continues_after_the_last_judgement(client: Client, drawn: Sample, carla: User) -> None:
    first, second, *_rest = sample_items(drawn)
    judge_item(carla, second, right=True)
    judge_item(carla, first, right=False)
    client.force_login(carla)
    data = data_of(client)
    assert [item["place"] for item in data["items"]] == [2, 3]
    assert data["mine"] == [second.pk, first.pk]
    assert data["progress"]["cells"] == "wr.."


def test_a_larger_sample_takes_no_more_queries(
    client: Client, sealed: Round, carla: User, django_assert_max_num_queries: Any
) -> None:
    BatchPlan.objects.update(sample_size=8)
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    judge_all(carla, sample)
    client.force_login(carla)
    client.get(PAGE)  # the session
    with django_assert_max_num_queries(24):
        client.get(PAGE)


def test_without_a_sample_in_review_the_page_leads_to_the_batch(
    client: Client, drawn: Sample, carla: User
) -> None:
    judge_all(carla, drawn)
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    client.force_login(carla)
    answer = client.get(PAGE)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/p/quality/batches/1/")


def test_only_controllers_open_the_page(client: Client, drawn: Sample, anna: User, quality: Project) -> None:
    client.force_login(anna)
    assert client.get(PAGE).status_code == 403


def test_an_unknown_batch_is_not_found(client: Client, drawn: Sample, carla: User) -> None:
    client.force_login(carla)
    assert client.get("/p/quality/batches/9/sample/").status_code == 404
