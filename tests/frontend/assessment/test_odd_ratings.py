"""A report of ratings that are few, equal, partial or one-sided: no number that is not one, and words that say why."""

import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import User
from annotation.project_setup.services import create_project
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

NOT_A_NUMBER = re.compile(r"\b(nan|inf|infinity|none)\b", re.IGNORECASE)
EQUAL = {
    "score": dict.fromkeys(
        ("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic"), 50
    )
}


def equal(model: str) -> dict[str, Any]:
    return {"model": model, **EQUAL}


def partly(model: str, score: float) -> dict[str, Any]:
    """Only one statement is rated."""
    return {"model": model, "score": {"interesting": score}}


FILES: dict[str, list[Mapping[str, Any]]] = {
    "one_session": [assignment("a", "ann", result("good", 80))],
    "one_careful_participant": [careful("a", "ann")],
    "all_equal": [assignment("a", "ann", equal("good"), equal("fair"), equal("qc"))],
    "equal_but_one": [careful("a", "ann"), assignment("b", "bob", equal("good"), equal("fair"), equal("qc"))],
    "nobody_passes": [careless("a", "ann"), careless("b", "bob")],
    "no_scores": [assignment("a", "ann", {"model": "good"}, {"model": "qc"})],
    "some_without_scores": [careful("a", "ann"), assignment("b", "bob", {"model": "good"}, result("qc", 5))],
    "no_results": [careful("a", "ann"), assignment("b", "bob")],
    "system_twice": [
        assignment("a", "ann", result("good", 80), result("good", 60), result("fair", 50), result("qc", 5)),
        careful("b", "bob"),
    ],
    "degraded_only": [assignment("a", "ann", result("qc", 5))],
    "one_system": [assignment("a", "ann", result("good", 80), result("qc", 5))],
    "one_statement": [
        assignment(
            name, name, *(partly("good", 80 + n) for n in range(6)), *(partly("qc", n) for n in range(3))
        )
        for name in ("ann", "bob")
    ],
    "no_duration": [{**careful("a", "ann"), "duration in seconds": None}],
    "texts_of_some": [with_texts(careful("a", "ann")), careful("b", "bob")],
}


@pytest.fixture
def ratings(mara: User, client: Client, settings: Settings, tmp_path: Path) -> Project:
    """Mara's assessment project; she is signed in."""
    settings.FILES_ROOT = tmp_path
    client.force_login(mara)
    return create_project(actor=mara, slug="ratings", title="Ratings", preset="live-assessment")


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is not JSON")


def strict(content: bytes | str) -> Any:
    return json.loads(content, parse_constant=refuse)


def words_of(client: Client, query: str = "") -> str:
    """The page without its markup."""
    answer = client.get("/p/ratings/report/" + query)
    assert answer.status_code == 200
    main = answer.content.decode().split("<main")[1].split("</main>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", main))


def check_report(client: Client) -> dict[str, Any]:
    """Every form of the report is well-formed; returns the JSON."""
    assert not NOT_A_NUMBER.search(words_of(client))
    out = io.StringIO()
    call_command("assessment_report", "ratings", "--json", stdout=out)
    report: dict[str, Any] = strict(out.getvalue())
    assert strict(client.get("/p/ratings/report/report.json").content) == report
    assert strict(client.get("/api/v1/projects/ratings/assessment-report/").content) == report
    call_command("assessment_report", "ratings", stdout=out)
    for name in CHARTS:
        strict(client.get(reverse("assessment_report_download", args=["ratings", name, "json"])).content)
    return report


@pytest.mark.parametrize("name", FILES)
def test_every_form_of_the_report_is_sound(client: Client, ratings: Project, name: str) -> None:
    import_ratings(ratings, rating_file(*FILES[name]))
    check_report(client)
    assert not NOT_A_NUMBER.search(words_of(client, "?threshold=1"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("one_session", "Nobody could be tested"),
        ("all_equal", "Nobody passed the reliability test"),
        ("nobody_passes", "Nobody passed the reliability test"),
        ("no_scores", "There are no ratings"),
        ("degraded_only", "Nobody passed the reliability test"),
        ("one_system", "good is the only system with a score"),
    ],
)
def test_it_says_why_there_is_nothing_to_compare(
    client: Client, ratings: Project, name: str, words: str
) -> None:
    import_ratings(ratings, rating_file(*FILES[name]))
    assert words in words_of(client)


def test_a_participant_whose_ratings_are_equal_counts_for_no_score(client: Client, ratings: Project) -> None:
    import_ratings(ratings, rating_file(*FILES["equal_but_one"]))
    (run,) = check_report(client)["runs"]
    assert run["participants"] == {"all": 2, "passed": 1}
    assert {each["system"]: each["n"] for each in run["systems"]} == {"good": 7, "fair": 7}
    assert [each["p"] is None for each in run["reliability"]] == [False, True]


def test_a_system_twice_in_one_hit_counts_twice(client: Client, ratings: Project) -> None:
    import_ratings(ratings, rating_file(*FILES["system_twice"]))
    (run,) = check_report(client)["runs"]
    assert run["dialogues"] == {"all": 5, "passed": 5}
    assert {each["system"]: each["n"] for each in run["systems"]} == {"good": 21, "fair": 14}


def test_a_statement_without_ratings_leaves_no_overall_score(client: Client, ratings: Project) -> None:
    import_ratings(ratings, rating_file(*FILES["one_statement"]))
    (run,) = check_report(client)["runs"]
    (system,) = run["systems"]
    assert system["overall"] is None
    assert system["scores"]["interesting"] is not None
    assert "no overall score" in words_of(client)


def test_runs_with_other_systems_cannot_be_compared(client: Client, ratings: Project) -> None:
    import_ratings(ratings, rating_file(careful("a", "ann"), careful("b", "bob")), run=1)
    others = [
        assignment(name, name, result("new", 70 + n), result("newer", 40 - n), result("qc", 5))
        for n, name in enumerate(("ann", "carlos"))
    ]
    import_ratings(ratings, rating_file(*others), run=2)
    (pair,) = check_report(client)["replication"]
    assert pair["same_conclusions"] == {"0.05": None, "0.1": None}
    assert set(pair["scores"]["overall"].values()) == {None}
    assert "Runs 1 and 2 have no system in common." in words_of(client)


def test_runs_with_one_common_system_have_no_correlation(client: Client, ratings: Project) -> None:
    import_ratings(ratings, rating_file(careful("a", "ann")), run=1)
    other = assignment("a", "ann", result("good", 70), result("newer", 40), result("qc", 5))
    import_ratings(ratings, rating_file(other), run=2)
    (pair,) = check_report(client)["replication"]
    assert set(pair["scores"]["overall"].values()) == {None}
    assert "Runs 1 and 2 have one system in common; a comparison needs two." in words_of(client)


def test_a_run_without_scores_leaves_the_other_alone(client: Client, ratings: Project) -> None:
    import_ratings(ratings, rating_file(careful("a", "ann")), run=1)
    import_ratings(ratings, rating_file(careless("a", "bob")), run=2)
    check_report(client)
    assert "Runs 1 and 2: one of them has no scores." in words_of(client)


def test_statements_that_were_changed_after_the_run_are_said_to_lack_ratings(
    client: Client, ratings: Project
) -> None:
    import_ratings(ratings, rating_file(careful("a", "ann"), careful("b", "bob")))
    settings = ratings.assessment
    settings.statements = [{**each, "name": f"new-{each['name']}"} for each in settings.statements]
    settings.save()
    check_report(client)
    assert "There are no ratings" in words_of(client)


@pytest.mark.parametrize(
    "query", ["threshold=nan", "threshold=inf", "threshold=0", "threshold=2", "run=0", "run=x"]
)
def test_odd_queries_are_refused_by_the_api_and_ignored_by_the_page(
    client: Client, ratings: Project, query: str
) -> None:
    import_ratings(ratings, rating_file(careful("a", "ann")))
    assert client.get(f"/api/v1/projects/ratings/assessment-report/?{query}").status_code == 400
    assert "1 of 1 participants passed" in words_of(client, f"?{query}")
    for name in ("report.json", "scores.csv"):
        assert client.get(f"/p/ratings/report/{name}?{query}").status_code == 200


def test_a_huge_run_number_is_a_run_that_is_not_there(client: Client, ratings: Project) -> None:
    import_ratings(ratings, rating_file(careful("a", "ann")))
    number = 10**30
    assert client.get(f"/p/ratings/report/?run={number}").status_code == 404
    assert client.get(f"/api/v1/projects/ratings/assessment-report/?run={number}").json()["runs"] == []
    preview = client.get(f"/api/v1/projects/ratings/exports/preview/?format=assessment&run={number}")
    assert preview.json()["leaving"] == 0
    assert client.get("/api/v1/projects/ratings/exports/preview/?least_score=nan").status_code == 400
