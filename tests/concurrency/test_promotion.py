"""A model is promoted while annotators wait: no request is lost, and later ones are the new model's."""

import threading
import time
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections

from common.refusals import Refusal
from dialogues.models import CandidateSet
from generation.models import CandidateRequest, Generator, RequestState
from generation.protocol import Sampling
from generation.services import CandidateOptions, request_candidates
from jobs.models import Worker
from jobs.selectors import live_workers
from preference.registry.models import Promotion, RegisteredModel
from preference.registry.selectors.trained_models import current_model
from preference.registry.services.promotion import promote_model, roll_back
from projects.models import Project
from tests.candidate_requests import create_dialogue, create_generator
from tests.concurrency.test_labels import run_concurrently
from tests.conftest import Starts
from tests.preference.learning import generator_of, trained_model
from tests.processes import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ANNOTATORS, TURNS_AFTER = 4, 3


@pytest.fixture(autouse=True)
def model_files(settings: Any, tmp_path: Path) -> None:
    settings.FILES_ROOT = tmp_path / "files"
    settings.MODELS_ROOT = tmp_path / "files" / "models"


def models(project: Project, count: int) -> list[RegisteredModel]:
    """Registered models whose replies are scripted, so that no test waits for torch."""
    models = [trained_model(project, None, model="/models/base") for _number in range(count)]
    for model in models:
        options = {"delay": 0.05, "replies": [f"{model.slug} says {number}" for number in range(9)]}
        Generator.objects.filter(pk=generator_of(model).pk).update(
            backend=create_generator().backend, options=options
        )
    return models


def promote(project: Project, model: RegisteredModel, expected: str | None) -> Promotion:
    return promote_model(
        promotion_id=uuid4(), model=model, project=project, actor=None, expected_current=expected
    )


def test_one_of_many_concurrent_promotions_wins(project: Project) -> None:
    rivals = models(project, 6)
    results = run_concurrently(*(partial(promote, project, model, "scripted") for model in rivals))
    won = [result for result in results if isinstance(result, Promotion)]
    lost = [result for result in results if isinstance(result, Refusal)]
    assert (len(won), len(lost)) == (1, 5), results
    assert {refusal.code for refusal in lost} == {"changed_meanwhile"}
    now = current_model(project)
    assert now is not None
    assert now.generator == won[0].after
    assert all(won[0].after and won[0].after.slug in str(refusal.message) for refusal in lost)


def test_one_of_many_concurrent_rollbacks_wins(project: Project) -> None:
    first, second = models(project, 2)
    promote(project, first, "scripted")
    promote(project, second, first.slug)
    back = partial(roll_back, project=project, actor=None, expected_current=second.slug)
    results = run_concurrently(*(partial(back, promotion_id=uuid4()) for _person in range(5)))
    assert sum(isinstance(result, Promotion) for result in results) == 1, results
    now = current_model(project)
    assert now is not None
    assert now.name == first.slug


def test_the_same_promotion_sent_at_once_is_one(project: Project) -> None:
    (model,) = models(project, 1)
    number = uuid4()
    promote = partial(promote_model, promotion_id=number, model=model, project=project, actor=None)
    results = run_concurrently(*(partial(promote, expected_current="scripted") for _time in range(4)))
    assert {result.pk for result in results} == {number}
    assert Promotion.objects.count() == 1


class Annotator(threading.Thread):
    """Asks for a turn's candidates with the project's present model, waits for them, asks for the next.

    Three turns more once everything was promoted.
    """

    def __init__(self, project: Project, number: int, over: threading.Event) -> None:
        super().__init__()
        self.project, self.number, self.over = project, number, over
        self.asked: list[tuple[float, CandidateRequest]] = []

    def run(self) -> None:
        try:
            while not self.over.is_set():
                self.turn()
            for _turn in range(TURNS_AFTER):
                self.turn()
        finally:
            connections.close_all()

    def turn(self) -> None:
        dialogue, at = (
            create_dialogue(self.project, f"Hello {self.number}.{len(self.asked)}"),
            time.monotonic(),
        )
        now = current_model(self.project)
        assert now is not None
        request = request_candidates(
            dialogue=dialogue, options=CandidateOptions(now.generator, 7, Sampling())
        )
        self.asked.append((at, request))
        ended = CandidateRequest.objects.filter(pk=request.pk, state=RequestState.DONE)
        wait_until(ended.exists, 60, "candidates")


def test_waiting_annotators_lose_nothing(project: Project, starts: Starts) -> None:
    """Four annotators work while the model is promoted, taken back and promoted again; no worker is restarted."""
    (model,) = models(project, 1)
    starts()
    workers = set(live_workers("gpu").values_list("name", flat=True))
    over = threading.Event()
    crowd = [Annotator(project, number, over) for number in range(ANNOTATORS)]
    for annotator in crowd:
        annotator.start()
    time.sleep(1.0)
    promote(project, model, "scripted")
    roll_back(promotion_id=uuid4(), project=project, actor=None, expected_current=model.slug)
    promote(project, model, "scripted")
    promoted = time.monotonic()
    over.set()
    for annotator in crowd:
        annotator.join(120)
    requests = [pair for annotator in crowd for pair in annotator.asked]
    assert len(requests) > ANNOTATORS * TURNS_AFTER
    rows = {row.pk: row for row in CandidateRequest.objects.select_related("candidate_set", "generator")}
    assert {row.state for row in rows.values()} == {RequestState.DONE}
    assert CandidateSet.objects.count() == len(requests)
    for at, request in requests:
        row = rows[request.pk]
        assert row.candidate_set is not None
        replies = {candidate["text"] for candidate in row.candidate_set.candidates}
        is_new = row.generator == model.generator
        assert is_new or at < promoted
        assert all(reply.startswith(model.slug) for reply in replies) == is_new
    assert any(rows[request.pk].generator == model.generator for _at, request in requests)
    assert set(Worker.objects.values_list("name", flat=True)) == workers
