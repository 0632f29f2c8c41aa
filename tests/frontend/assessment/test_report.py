"""The report page: what it says, its files, its empty states, and what it costs."""

import csv
import json
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.translation import override
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.management.commands.assessment_report import _p_text
from assessment.setup.models import AssessmentSettings
from frontend.charts.chart import Cell, Chart
from frontend.pages.assessment.report import CHARTS
from projects.models import Project
from tests.assessment.rating_files import (
    assignment,
    careful,
    careless,
    import_ratings,
    rating_file,
    result,
    with_texts,
)

PAGE = "/p/ratings/report/"


@pytest.fixture
def ratings(mara: User, client: Client, settings: Settings, tmp_path: Path) -> Project:
    """Mara's assessment project; she is signed in."""
    settings.FILES_ROOT = tmp_path
    client.force_login(mara)
    return create_project(actor=mara, slug="ratings", title="Ratings", preset="live-assessment")


def rated(project: Project, run: int = 1, people: int = 3, **options: Any) -> None:
    good = [with_texts(careful(f"a{n}", f"w{n}", shift=n)) for n in range(people)]
    import_ratings(project, rating_file(*good, careless("bad", "w-bad")), run=run, **options)


def html(client: Client, query: str = "") -> str:
    answer = client.get(PAGE + query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_first_line_gives_the_answer(client: Client, ratings: Project) -> None:
    rated(ratings)
    page = html(client)
    assert "Run 1: 3 of 4 participants passed the reliability test." in page
    assert "good is rated best, but not significantly better (p &lt; 0.05) than another system." in page
    assert "About 12 more participants would halve every interval." in page
    assert not re.search(r"\bnan\b", page, re.IGNORECASE)


def test_the_first_line_counts_the_systems_that_the_best_one_beats(client: Client, ratings: Project) -> None:
    rated(ratings, people=6)
    assert "significantly better (p &lt; 0.05) than 1 of 1 other system." in html(client)


def test_numbers_of_a_column_have_the_same_decimals() -> None:
    chart = Chart("x", "Title", "Note", ["name", "r", "n"], [["a", 1.0, 3], ["b", 0.982, None]])
    assert chart.shown_rows == [(["a", "1.000", "3"], ""), (["b", "0.982", None], "")]


def test_numbers_of_a_row_with_its_own_unit_have_the_same_decimals() -> None:
    rows: list[list[Cell]] = [["characters", 18.3, 20.25], ["share (%)", 56.7, None], ["turns", 3, 4]]
    chart = Chart("x", "Title", "Note", ["", "train", "test"], rows, has_units_by_row=True)
    assert [row for row, _link in chart.shown_rows] == [
        ["characters", "18.30", "20.25"],
        ["share (%)", "56.7", None],
        ["turns", "3", "4"],
    ]


def test_small_numbers_are_neither_zero_nor_negative_zero() -> None:
    chart = Chart("x", "Title", "Note", ["", "p", "r"], [["a", 0.0004, -0.0004]], decimals=3)
    assert chart.shown_rows == [(["a", "< 0.001", "0.000"], "")]


def test_only_columns_of_numbers_are_aligned_as_numbers() -> None:
    rows = [["a", "0.62 (0.51 to 0.74)", "passed", "1.5e-05", None, 3], ["b", None, "failed", "0.01", "x", 4]]
    assert Chart("x", "Title", "Note", list("abcdef"), rows).text_columns == {0, 2, 4}


def test_numbers_are_grouped_but_those_that_name_a_row_are_not() -> None:
    rows = [[2508, 2508, 1234.5], [1, 7, 0.5]]
    chart = Chart("x", "Title", "Note", ["no.", "n", "mean"], rows)
    for language in ("en", "zh-hans"):
        with override(language):
            assert chart.shown_rows[0][0] == [2508, "2,508", "1,234.5"]


def test_statements_are_in_the_readers_language_and_keep_their_names_in_files(
    client: Client, ratings: Project, mara: User
) -> None:
    rated(ratings)
    own = {"name": "warm", "text_en": "It was kind.", "text_zh": "它很友善。", "is_reversed": False}
    settings = AssessmentSettings.objects.get(project=ratings)
    settings.statements = [*settings.statements, own]
    settings.save()
    assert "<th" in html(client)
    User.objects.filter(pk=mara.pk).update(language="zh-hans")
    page = html(client)
    assert ">像机器人</th>" in page
    assert ">它很友善</th>" in page
    assert "robotic" not in page.partition("<main")[2]
    table = client.get(reverse("assessment_report_download", args=["ratings", "correlations", "csv"]))
    assert ",robotic," in table.content.decode()


def test_a_plot_has_no_bars_for_what_never_happened(client: Client, ratings: Project) -> None:
    rated(ratings)
    figure = html(client).partition('id="progress"')[2].partition("</figure>")[0]
    legend = figure.partition('class="legend"')[2].partition("</ul>")[0]
    assert "rated" in legend
    assert "voided" not in legend
    assert "voided" in figure, "the table has all of it"


@pytest.mark.parametrize(("p", "text"), [(0.00001, "p < 0.0001"), (0.0123, "p = 0.0123")])
def test_the_command_never_says_that_p_is_0(p: float, text: str) -> None:
    assert _p_text(p) == text


def test_a_new_study_leads_to_its_systems(client: Client, ratings: Project) -> None:
    form = {
        "id": str(uuid4()), "title": "Bots", "slug": "bots", "preset": "live-assessment", "language": "en",
    }  # fmt: skip
    page = client.post(reverse("new_project"), form, follow=True).content.decode()
    assert "The study is created" in page


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_can_be_downloaded(client: Client, ratings: Project, name: str) -> None:
    rated(ratings)
    rated(ratings, run=2)
    table = client.get(reverse("assessment_report_download", args=["ratings", name, "csv"]) + "?run=1")
    assert table.status_code == 200
    assert "nan" not in table.content.decode().lower()
    content = json.loads(
        client.get(reverse("assessment_report_download", args=["ratings", name, "json"])).content
    )
    assert content["columns"] == next(csv.reader(table.content.decode("utf-8-sig").splitlines()))
    has_plot = f'id="{name}"' in html(client) and table["Content-Type"].startswith("text/csv")
    assert has_plot
    plot = client.get(reverse("assessment_report_download", args=["ratings", name, "svg"]))
    tables_only = {"participation", "correlations", "participants", "lengths", "chatbot-opinions"}
    assert (plot.status_code == 200) == (name not in tables_only)


def test_another_threshold_shows_who_would_pass(client: Client, ratings: Project) -> None:
    rated(ratings)
    page = html(client, "?threshold=0.0000001")
    assert "Run 1: 3 of 4" in page  # too small a number is ignored
    page = html(client, "?threshold=0.0002")
    assert "Run 1: 0 of 4" in page
    assert "The project's own limit is 0.05." in page


def test_a_run_is_chosen_by_its_number(client: Client, ratings: Project) -> None:
    rated(ratings, run=1, people=2)
    rated(ratings, run=2, people=4)
    assert "Run 2: 4 of 5" in html(client)
    assert "Run 1: 2 of 3" in html(client, "?run=1")
    answer = client.get(PAGE + "?run=9")
    assert answer.status_code == 404
    assert "Choose a run from the list." in answer.content.decode()


def test_two_runs_are_compared(client: Client, ratings: Project) -> None:
    rated(ratings, run=1)
    rated(ratings, run=2, people=4)
    page = html(client)
    assert "Runs 1 and 2, same pairwise conclusions at p &lt; 0.05:" in page


def test_without_a_run_it_offers_to_open_or_import_one(client: Client, ratings: Project) -> None:
    page = html(client)
    assert "There is no run yet" in page
    assert '/p/ratings/runs/"' in page
    assert "/p/ratings/imports/" in page


def test_ratings_without_texts_lead_to_no_conversations(client: Client, ratings: Project) -> None:
    import_ratings(ratings, rating_file(careful("a", "ann")), run=1)
    assert "/p/ratings/dialogues/?run=1" not in html(client)
    import_ratings(ratings, rating_file(with_texts(careful("a", "ann"))), run=2)
    assert "/p/ratings/dialogues/?run=2" in html(client)


def test_an_import_leads_to_the_report_of_its_run(client: Client, ratings: Project) -> None:
    job = import_ratings(ratings, rating_file(careful("a", "ann")), run=4)
    page = client.get(f"/p/ratings/imports/{job.pk}/").content.decode()
    assert "/p/ratings/report/?run=4" in page
    assert "Report of run 4" in page


def test_it_says_why_there_are_no_scores(client: Client, ratings: Project) -> None:
    only_good = assignment("a", "ann", result("good", 80), result("fair", 50))
    import_ratings(ratings, rating_file(only_good), run=1)
    assert "Nobody could be tested" in html(client)
    import_ratings(ratings, rating_file(careless("a", "bob")), run=2)
    assert "Nobody passed the reliability test" in html(client)
    import_ratings(ratings, rating_file(assignment("a", "carlos", {"model": "good"})), run=3)
    assert "There are no ratings" in html(client)


def test_the_json_is_that_of_the_command(client: Client, ratings: Project) -> None:
    rated(ratings)
    report = json.loads(client.get(f"{PAGE}report.json").content)
    assert report["runs"][0]["participants"] == {"all": 4, "passed": 3}
    api = client.get("/api/v1/projects/ratings/assessment-report/").json()
    assert api == report
    assert client.get("/api/v1/projects/ratings/assessment-report/?run=7").json()["runs"] == []


def test_the_statistics_of_an_assessment_are_its_report(client: Client, ratings: Project) -> None:
    answer = client.get("/p/ratings/statistics/")
    assert (answer.status_code, answer["Location"]) == (302, PAGE)


def test_annotators_cannot_open_it(client: Client, ratings: Project, ann: User) -> None:
    client.force_login(ann)
    assert client.get(PAGE).status_code in (403, 404)
    assert client.get("/api/v1/projects/ratings/assessment-report/").status_code in (403, 404)


def test_other_projects_have_no_report(client: Client, project: Project, mara: User) -> None:
    client.force_login(mara)
    assert client.get(f"/p/{project.slug}/report/").status_code == 404


def test_queries_do_not_grow_with_participants(
    client: Client, ratings: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    rated(ratings, people=12)
    html(client)  # fills the cache of the reports and of the session
    with django_assert_max_num_queries(18):
        html(client)
    rated(ratings, run=2, people=2)
    with django_assert_max_num_queries(23):
        html(client)
