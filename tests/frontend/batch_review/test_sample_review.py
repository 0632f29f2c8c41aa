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
from tests.annotation.batch_review.conftest import (
    cut_one_batch,
    judge_all,
    judge_item,
    label_next,
    latest_round,
    sample_items,
)

PAGE = "/p/quality/batches/1/sample/"
OPTIONS = ["-2", "-1", "0", "1", "2", "phone"]  # of the checked question


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


def classes_of(client: Client) -> dict[str, dict[str, Any]]:
    return {row["label"]: row for row in data_of(client)["progress"]["sample_progress"]["classes"]}


def test_a_blind_page_holds_no_label(client: Client, drawn: Sample, carla: User) -> None:
    client.force_login(carla)
    data = data_of(client)
    assert len(data["items"]) == 3
    assert {item["label"] for item in data["items"]} == {None}
    assert {entry["drawn"] for entry in data["progress"]["sample_progress"]["classes"]} == {None}
    assert data["schemas"].keys() == {"1"}


def test_the_classes_of_a_blind_page_reveal_no_label(
    client: Client, quality: Project, anna: User, carla: User
) -> None:
    batch = cut_one_batch(quality)
    label_next(quality, anna, [2] * 8)  # if only their class were listed, every label would be known
    sample = draw_sample(controller=carla, round_id=latest_round(batch).pk, sample_id=uuid4())
    client.force_login(carla)
    nothing = {"value": None, "low": None, "high": None, "judged": 0, "right": 0}
    secret = {"drawn": None, "population": None, "spare": None}
    unjudged = {label: {"label": label} | nothing | secret for label in OPTIONS}
    assert classes_of(client) == unjudged
    for item in sample_items(sample)[:3]:
        judge_item(carla, item, right=True)
    classes = classes_of(client)
    third = classes.pop("2")
    assert classes == {label: unjudged[label] for label in OPTIONS if label != "2"}
    assert (third["judged"], third["drawn"]) == (3, None)


def test_an_interval_of_a_blind_page_does_not_say_how_many_there_are(
    client: Client, drawn: Sample, carla: User
) -> None:
    first = sample_items(drawn)[0]
    other = {"1": "2", "2": "1"}[first.label]
    Sample.objects.update(classes={first.label: 1, other: 7})
    judge_item(carla, first, right=True)
    client.force_login(carla)
    assert classes_of(client)[first.label]["low"] < 0.5  # that of the only dialogue of its class would be 1


@pytest.mark.parametrize(
    ("is_blind", "class_percent", "spare", "by_class"),
    [
        (False, 0, 2, {"1": None, "2": None}),
        (False, 75, 1, {"1": 0, "2": 1}),
        (False, 90, 0, {"1": 0, "2": 0}),
        (True, 75, 2, dict.fromkeys(OPTIONS)),
        (True, 90, 0, dict.fromkeys(OPTIONS)),
    ],
)
def test_what_may_still_be_wrong_heeds_the_classes(
    client: Client,
    sealed: Round,
    carla: User,
    is_blind: bool,
    class_percent: int,
    spare: int,
    by_class: dict[str, int | None],
) -> None:
    BatchPlan.objects.update(is_blind=is_blind, class_percent=class_percent, sample_size=8)
    draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())  # five with 2, three with 1
    client.force_login(carla)
    assert data_of(client)["progress"]["sample_progress"]["spare"] == spare
    assert {label: row["spare"] for label, row in classes_of(client).items()} == by_class


def test_a_class_that_is_judged_leaves_the_others_what_they_may(
    client: Client, sealed: Round, carla: User
) -> None:
    BatchPlan.objects.update(is_blind=False, class_percent=60, sample_size=8)
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    for item in sample_items(sample):
        if item.label == "2":
            judge_item(carla, item, right=True)
    client.force_login(carla)
    assert data_of(client)["progress"]["sample_progress"]["spare"] == 1  # only labels with 1 are left


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
