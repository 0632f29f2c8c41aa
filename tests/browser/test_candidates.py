"""Candidates that do not come, come late or come in part: said in words, never spun."""

import os
import signal
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.utils import timezone
from playwright.sync_api import Route, expect

from accounts.models import User
from annotation.tasks.models.work import Assignment
from dialogues.models import Action
from generation.models import CandidateRequest, Generator
from jobs.models import Worker
from tests.browser.bench import Bench, actions
from tests.browser.conftest import ROUTED, SignedIn, is_quiet
from tests.processes import Running

OPENING = "My cat sheds all over the sofa."


def suspend(group: int) -> None:
    """Not within a transaction, whose locks would last."""
    for _attempt in range(100):
        os.killpg(group, signal.SIGSTOP)
        if is_quiet():
            return
        os.killpg(group, signal.SIGCONT)
        time.sleep(0.05)
    raise AssertionError("the worker never rests")


@pytest.fixture
def no_worker(worker: Running) -> Iterator[Running]:
    assert worker.process is not None
    suspend(worker.process.pid)
    Worker.objects.all().delete()
    cache.clear()
    yield worker
    os.killpg(worker.process.pid, signal.SIGCONT)


def test_a_missing_worker_is_reported_until_one_starts(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, no_worker: Running
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    Worker.objects.all().delete()
    bench.type(OPENING).submit().stored(1)
    expect(page.locator("[data-message]")).to_contain_text("No worker is running")
    bench.type("I need none.").submit().stored(2)
    assert actions(anns_assignment) == [Action.REWRITE, Action.REWRITE]
    assert no_worker.process is not None
    os.killpg(no_worker.process.pid, signal.SIGCONT)
    bench.candidates()
    expect(page.locator("[data-message]")).to_be_hidden()


def test_a_queue_that_is_away_is_reported_until_it_is_back(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, no_worker: Running
) -> None:
    page = signs_in(ann, **ROUTED)
    bench = Bench.open(page, anns_assignment)

    def answer_without_queue(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), "queue_reachable": False})

    page.route("**/api/v1/candidate-requests/**", answer_without_queue)
    bench.type(OPENING).submit().stored(1)
    message = page.locator("[data-message]")
    expect(message).to_contain_text("The queue cannot be reached, so candidates have to wait.")
    expect(message).to_contain_text("What you have sent is saved.")
    page.unroute("**/api/v1/candidate-requests/**")
    assert no_worker.process is not None
    os.killpg(no_worker.process.pid, signal.SIGCONT)
    bench.candidates()
    expect(message).to_be_hidden()


def test_failed_candidates_name_cause_and_remedy_and_can_be_tried_again(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, scripted_generator: Generator
) -> None:
    scripted_generator.options = {"unavailable": True}
    scripted_generator.save()
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    bench.type(OPENING).submit().stored(1)
    message = page.locator("[data-message]")
    expect(message).to_contain_text("The script says that the model fails.")
    expect(message).to_contain_text("Try again.")
    scripted_generator.options = {}
    scripted_generator.save()
    bench.press("Alt+r")
    bench.candidates()
    expect(message).to_be_hidden()


def test_a_missing_candidate_does_not_cost_the_others(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, scripted_generator: Generator
) -> None:
    scripted_generator.options = {"fail_replies": 2}
    scripted_generator.save()
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    bench.type(OPENING).submit().stored(1)
    bench.candidates(5)
    expect(page.locator("[data-status]")).to_contain_text("5 of 7 candidates.")
    expect(page.locator("[data-status]")).to_contain_text("The script says that this reply fails.")


def test_slow_candidates_show_seven_lines_and_their_state(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, scripted_generator: Generator
) -> None:
    scripted_generator.options = {"delay": 8}
    scripted_generator.save()
    anns_assignment.project.authoring.generate_ahead = False
    anns_assignment.project.authoring.save()
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    bench.type(OPENING).submit()
    expect(page.locator("#candidates .skeleton i")).to_have_count(7)
    expect(page.locator("[data-status]")).to_contain_text("Being generated")
    bench.candidates()
    expect(page.locator("[data-live]")).to_have_text("7 candidates are here.")


def test_a_new_set_is_waited_for_without_saying_that_the_first_is_here(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, scripted_generator: Generator
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    bench.says_and_waits(OPENING)
    live = page.locator("[data-live]")
    expect(live).to_have_text("7 candidates are here.")
    scripted_generator.options = {"delay": 8}
    scripted_generator.save()
    bench.press("Alt+r")
    expect(page.locator("#candidates .skeleton")).to_be_visible()
    expect(live).to_be_empty()


def test_a_long_wait_says_what_is_known(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, no_worker: Running
) -> None:
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    lost = Worker.objects.create(
        name="lost a moment ago", queues=["gpu"], seen_at=timezone.now() + timedelta(hours=1)
    )
    cache.clear()
    bench.type(OPENING).submit().stored(1)
    status = page.locator("[data-status]")
    expect(status).to_contain_text("Waiting for the model")
    CandidateRequest.objects.update(wanted_at=timezone.now() - timedelta(seconds=8))
    expect(status).to_contain_text(
        "Taking longer than usual: 1 worker is running but has not started on them yet"
    )
    lost.delete()
    cache.clear()
    expect(page.locator("[data-message]")).to_contain_text("No worker is running")


def test_a_digit_before_the_candidates_waits_for_them(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn, scripted_generator: Generator
) -> None:
    scripted_generator.options = {"delay": 8}
    scripted_generator.save()
    bench = Bench.open(signs_in(ann), anns_assignment)
    bench.field.fill("My cat sheds everywhere.")
    bench.press("Control+Enter", "2")
    expect(bench.field).to_have_value("")
    expect(bench.field).not_to_have_value("")
    expect(bench.field).to_have_value(bench.shown_candidates()[1])


def test_no_more_new_sets_than_the_project_allows(
    anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    anns_assignment.project.authoring.new_sets_per_turn = 1
    anns_assignment.project.authoring.save()
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    bench.says_and_waits(OPENING)
    bench.press("Alt+r")
    expect(page.get_by_label("Sets of this turn")).to_have_value("1")
    bench.candidates()
    expect(page.locator("[data-more]")).to_have_attribute("aria-disabled", "true")
