"""Several trainings of a project on the same axes."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils.http import urlencode
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import User
from annotation.project_setup.services import create_project
from generation.models import Generator
from jobs.models import JobState
from preference.data.models.snapshots import Snapshot
from preference.runs.models import TrainingRun
from preference.runs.selectors import curves_of
from preference.runs.services.trainings import remove_run_files
from projects.models import Project, Role
from tests.conftest import Joins
from tests.frontend.data_pages import erics_browser, files_root, html
from tests.frontend.trained import learns
from tests.preference.learning import local, snapshot_of, training

__all__ = ["erics_browser", "files_root", "local"]
PAGE = "/p/chit-chat/trainings/compare/"


@pytest.fixture(autouse=True)
def models_root(settings: Settings, files_root: Any, local: Generator) -> None:
    settings.MODELS_ROOT = files_root / "models"


@pytest.fixture
def snapshot(project: Project) -> Snapshot:
    return snapshot_of(project)


@pytest.fixture
def runs(project: Project, snapshot: Snapshot) -> list[TrainingRun]:
    """Three trainings: of 120 steps, of 60 that learns faster, and of 30 without validation."""
    return [
        learns(training(project, None, snapshot), validate_every=20),
        learns(training(project, None, snapshot), steps=60, made=60, validate_every=15, ease=2.0),
        learns(training(project, None, snapshot, changes={"peak_lr": 0.001}), steps=30, made=30),
    ]


def of(*runs: TrainingRun) -> str:
    return "?" + urlencode([("run", str(run.pk)) for run in runs])


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html(response)))


def rows_of(browser: Client, name: str, query: str) -> list[list[str]]:
    table = html(browser.get(f"{PAGE}{name}.csv{query}"))
    return [row.split(",") for row in table.removeprefix("\ufeff").splitlines()]


def test_curves_share_their_axes_whatever_their_length(
    erics_browser: Client, runs: list[TrainingRun]
) -> None:
    page = html(erics_browser.get(PAGE + of(*runs)))
    loss = page[page.index('id="loss"') : page.index('id="held_out"')]
    assert (
        '<li class="c1">Training 1</li><li class="c2">Training 2</li><li class="c3">Training 3</li>' in loss
    )
    for number, steps in enumerate((120, 60, 30), start=1):
        assert loss.count(f'class="mark c{number}"') == 2 * steps / 3  # points are means over 3 steps
        assert loss.count(f'class="curve c{number}"') == 2
    rows = rows_of(erics_browser, "loss", of(*runs))
    assert rows[0] == ["step", "Training 1", "Training 2", "Training 3"]
    assert [row[0] for row in rows[1:]] == [str(step) for step in range(3, 121, 3)]
    assert rows[10][3]
    assert not rows[11][3]
    assert rows[20][2]
    assert not rows[21][2]


def test_what_was_validated_is_compared_too(erics_browser: Client, runs: list[TrainingRun]) -> None:
    rows = rows_of(erics_browser, "held_out", of(*runs))
    assert [row[0] for row in rows[1:] if row[1]] == ["21", "42", "60", "81", "102", "120"]
    assert [row[0] for row in rows[1:] if row[2]] == ["15", "30", "45", "60"]
    assert not any(row[3] for row in rows[1:])
    page = html(erics_browser.get(PAGE + of(runs[2])))
    assert 'id="held_out"' not in page
    assert 'id="p_at_1"' not in page


def test_the_table_has_the_final_and_the_best_values(erics_browser: Client, runs: list[TrainingRun]) -> None:
    first, second, third = rows_of(erics_browser, "results", of(*runs))[1:]
    assert first[:3] == ["Training 1", "quick", "120"]
    assert (first[5], first[6]) == ("3.4438", "80")  # rises again: the lowest is not the last
    assert float(first[4]) > float(first[5])
    assert (first[8], first[9]) == (first[7], "120")
    assert (second[2], second[9]) == ("60", "60")
    assert third[1] == "quick · Learning rate at its peak: 0.001"
    assert third[4:] == [""] * 6
    text = text_of(erics_browser.get(PAGE + of(*runs)))
    assert "How do they end?" in text
    assert "3.444" in text
    assert "3.4438" not in text


def test_every_point_stands_for_the_same_steps_of_all(runs: list[TrainingRun]) -> None:
    ends, (one, other) = curves_of(runs[:2], most=50)
    assert (ends[0], ends[-1], len(ends)) == (3, 120, 40)
    assert (other.points[60].first, other.points[60].step) == (58, 60)
    assert one.points[60].valid == one.validations[2].figures
    assert 63 not in other.points


def test_at_most_five_are_compared_and_the_others_named_as_left_out(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    runs = [learns(training(project, None, snapshot), steps=3, made=3) for _number in range(6)]
    text = text_of(erics_browser.get(PAGE + of(*runs)))
    assert "Up to 5 trainings of one kind are compared" in text
    assert len(rows_of(erics_browser, "results", of(*runs))) == 1 + 5
    assert "were left out" not in text_of(erics_browser.get(PAGE + of(*runs[:5])))


def test_what_cannot_be_compared_is_left_out(
    erics_browser: Client, project: Project, snapshot: Snapshot, runs: list[TrainingRun], joins: Joins
) -> None:
    """A training without a step, one without files, one of another kind, one of another project, and no training."""
    waiting = training(project, None, snapshot)
    failed = learns(training(project, None, snapshot), made=3, state=JobState.FAILED)
    remove_run_files(run=failed, actor=None)
    other_kind = learns(training(project, None, snapshot, kind="paireval"), made=3)
    other = create_project(slug="other", preset="diamante", actor=None)
    joins("eric", other, Role.ENGINEER)
    theirs = learns(training(other, None, snapshot_of(other), model="/models/plato"), made=3)
    query = of(runs[0], waiting, failed, other_kind, theirs) + f"&run=nonsense&run={uuid4()}"
    assert [row[0] for row in rows_of(erics_browser, "results", query)[1:]] == ["Training 1"]
    assert "were left out" in text_of(erics_browser.get(PAGE + query))
    assert f'value="{waiting.pk}"' not in html(erics_browser.get(PAGE))


def test_trainings_are_chosen_from_a_paged_list_that_keeps_the_choice(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    runs = [learns(training(project, None, snapshot), steps=2, made=2) for _number in range(23)]
    page = html(erics_browser.get(f"{PAGE}{of(runs[22])}&page=2"))
    assert f'value="{runs[22].pk}" id="run-{runs[22].pk}" checked' in page
    assert f'value="{runs[0].pk}"' in page
    assert f'value="{runs[20].pk}"' not in page
    assert page.count(" checked>") == 1


def test_without_a_training_the_page_says_what_to_do(erics_browser: Client, project: Project) -> None:
    assert "Nothing to compare yet" in text_of(erics_browser.get(PAGE))
    assert erics_browser.get(PAGE + "loss.csv").status_code == 404
    assert "Compare trainings" not in text_of(erics_browser.get("/p/chit-chat/trainings/"))


def test_the_list_leads_to_the_comparison(erics_browser: Client, runs: list[TrainingRun]) -> None:
    assert f'href="{PAGE}"' in html(erics_browser.get("/p/chit-chat/trainings/"))


def test_the_comparison_costs_the_same_however_many_are_compared(
    erics_browser: Client, runs: list[TrainingRun], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for chosen in (runs[:1], runs):
        with django_assert_max_num_queries(13):
            erics_browser.get(PAGE + of(*chosen))


def test_only_members_who_may_train_compare(
    client: Client, runs: list[TrainingRun], ann: User, carlos: User
) -> None:
    for person in (ann, carlos):
        client.force_login(person)
        assert client.get(PAGE + of(*runs)).status_code in (403, 404)
        assert client.get(f"{PAGE}loss.csv{of(*runs)}").status_code in (403, 404)
