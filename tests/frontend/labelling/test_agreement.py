"""The statistics page of a labelling project and its files."""

import csv
import io
import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.utils import translation
from django.utils.translation import gettext

from accounts.models import User
from annotation.labelling.selectors import statistics as numbers_of
from frontend.charts import helpdesk as helpdesk_charts
from frontend.charts.agreement import CHARTS, QUESTION_CHARTS
from jobs.models import Job
from projects.models import Project, Role
from tests.annotation.labelling.test_agreement import helpdesk, labelled, labels, people, task_in

__all__ = ["helpdesk", "labelled", "people"]
PAGE = "/p/helpdesk/statistics/"
TABLES = [*CHARTS, *QUESTION_CHARTS, *helpdesk_charts.CHARTS, "confusion"]


@pytest.fixture
def erics(client: Client, helpdesk: Project, joins: Callable[..., User]) -> Client:
    client.force_login(joins("eric", helpdesk, Role.ENGINEER))
    return client


def text_of(client: Client, address: str = PAGE) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def table(client: Client, name: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text_of(client, f"{PAGE}{name}").removeprefix("\ufeff"))))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_page_opens_in_both_languages(erics: Client, labelled: Project, language: str) -> None:
    User.objects.update(language=language)
    html = text_of(erics)
    with translation.override(language):
        assert gettext("How far do people agree?") in html
    assert ">66.7" in html
    assert not re.search(r"\bNaN\b", html)


def test_nothing_labelled_says_so(erics: Client) -> None:
    assert "Nobody has labelled anything yet" in text_of(erics)


def test_a_single_person_is_not_an_error(erics: Client, helpdesk: Project, people: list[User]) -> None:
    labels(task_in(helpdesk), people[0], {"A": 1}, "CNUG0 HNUG CNUG*")
    assert "Is somebody stricter than the others?" in text_of(erics)
    assert table(erics, "people.csv")[1][0] == "ann"


def test_the_agreement_is_a_file(erics: Client, labelled: Project) -> None:
    rows = table(erics, "reliability.csv")
    assert rows[0] == ["question", "measure", "value", "95 % from", "95 % to", "n"]
    assert rows[1][:3] == ["A", "agreement (%)", "0.6667"]


def test_numbers_that_rest_on_few_items_are_grey(erics: Client, labelled: Project) -> None:
    page = text_of(erics)
    assert '<tr class="muted">' in page
    for chart in ("agreement", "reliability", "people", "course", "tau"):
        assert "Grey: n is below 5" in page.partition(f'id="{chart}"')[2].partition("</figcaption>")[0], chart
    for chart in ("reliability", "people", "course"):
        figure = page.partition(f'id="{chart}"')[2].partition("</figure>")[0]
        assert figure.count('class="mark c1 faint"') == figure.count('class="mark') > 0, chart


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ["Task accomplishment", "completely solved"]), ("zh-hans", ["任务完成度（A）", "完全解决"])],
)
def test_questions_and_answers_are_in_words(
    erics: Client, labelled: Project, language: str, words: list[str]
) -> None:
    """Files for programs have the keys, which the page does not show."""
    User.objects.update(language=language)
    page = text_of(erics)
    rows = re.findall(r'<th scope="row" dir="auto">([^<]*)</th>', page)
    assert words[0] in rows
    assert any(words[1] in row for row in rows)
    assert not {"A", "S", "E", "nugget/customer", "2"} & set(rows)
    assert "nugget/customer" not in re.sub(r'value="[^"]*"|href="[^"]*"', "", page)


def test_the_answers_of_a_nugget_are_columns_in_words(erics: Client, labelled: Project) -> None:
    page = text_of(erics, f"{PAGE}?question=nugget/customer")
    assert '<th scope="col" class="num">goal · CNUG*</th>' in page
    assert table(erics, "confusion.csv?question=nugget/customer")[0][1:] == ["CNUG0", "CNUG", "CNUG*", "CNaN"]


def test_a_question_and_two_people_can_be_chosen(
    erics: Client, labelled: Project, people: list[User]
) -> None:
    ann, bob, _carla = (person.pk for person in people)
    every = table(erics, "confusion.csv?question=A")
    assert every[-1] == ["2", "0", "0", "0", "0", "0"]
    assert every[4] == ["1", "0", "0", "2", "6", "0"]
    pair = table(erics, f"confusion.csv?question=A&one={ann}&other={bob}")
    assert pair[4] == ["1", "0", "0", "1", "1", "0"]
    assert "ann ↓ · bob →" in text_of(erics, f"{PAGE}?question=A&one={ann}&other={bob}")


def test_people_without_variance_are_counted(erics: Client, labelled: Project) -> None:
    assert "No variance: left out of z-scores, n = 3 people (6 answers)." in text_of(
        erics, f"{PAGE}?question=S"
    )


@pytest.mark.parametrize("query", ["?question=none", "?one=x&other=y", "?one=99&other=98", "?before=zzz"])
def test_an_unknown_filter_shows_everything(erics: Client, labelled: Project, query: str) -> None:
    assert "ann ↓" not in text_of(erics, PAGE + query)
    assert table(erics, f"confusion.csv{query}") == table(erics, "confusion.csv")


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_a_file(erics: Client, labelled: Project, name: str) -> None:
    assert table(erics, f"{name}.csv")[0]


@pytest.mark.parametrize("name", ["reliability", "people", "course", "uch"])
def test_every_plot_is_a_file_that_stands_alone(erics: Client, labelled: Project, name: str) -> None:
    drawing = ElementTree.fromstring(text_of(erics, f"{PAGE}{name}.svg"))
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("name", ["none.csv", "agreement.svg", "agreement.png", "pace.csv"])
def test_an_unknown_file_is_not_found(erics: Client, labelled: Project, name: str) -> None:
    assert erics.get(PAGE + name).status_code == 404


def test_dialogues_name_people_as_the_other_tables_do(erics: Client, labelled: Project) -> None:
    for person in User.objects.all():
        User.objects.filter(pk=person.pk).update(display_name=f"Dr. {person.username.title()}")
    rows = text_of(erics).partition('id="dialogues"')[2]
    names = re.findall(r"<bdi>([^<]+)</bdi>", rows)
    assert names
    assert all(name.startswith("Dr. ") for name in names)


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER])
@pytest.mark.parametrize("address", [PAGE, f"{PAGE}work.csv"])
def test_others_do_not_see_their_colleagues_numbers(
    client: Client, labelled: Project, joins: Callable[..., User], role: Role, address: str
) -> None:
    client.force_login(joins("tina", labelled, role))
    assert client.get(address).status_code == 403


def test_a_large_project_is_computed_by_a_job(
    erics: Client, labelled: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbers_of, "SMALL", 6)
    assert "a worker computes them" in text_of(erics)
    sent = uuid4()
    for _twice in range(2):
        assert erics.post(f"{PAGE}compute/", {"id": sent}).status_code == 302
    assert [job.pk for job in Job.objects.filter(kind="agreement")] == [sent]
    assert "?part=job" in text_of(erics)


def test_the_page_is_reloaded_when_the_job_has_ended(erics: Client, labelled: Project) -> None:
    assert erics.get(f"{PAGE}?part=job").headers["HX-Refresh"] == "true"


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER])
def test_others_do_not_start_it(
    client: Client, labelled: Project, joins: Callable[..., User], role: Role
) -> None:
    client.force_login(joins("tina", labelled, role))
    assert client.post(f"{PAGE}compute/", {"id": uuid4()}).status_code == 403
    assert not Job.objects.filter(kind="agreement").exists()


def test_a_start_without_an_id_is_refused(erics: Client, labelled: Project) -> None:
    assert erics.post(f"{PAGE}compute/", {"id": "x"}).status_code == 400


def test_the_page_keeps_the_policy(erics: Client, labelled: Project) -> None:
    assert not re.search(r"<style|\sstyle=|\son\w+=", text_of(erics))


def test_a_constant_number_of_queries(
    erics: Client, labelled: Project, people: list[User], django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for _more in range(5):
        task = task_in(labelled)
        for person in people:
            labels(task, person, {"A": 1}, "CNUG0 HNUG CNaN")
    text_of(erics)
    with django_assert_max_num_queries(24):
        text_of(erics)
