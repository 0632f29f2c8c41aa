"""What leaves a study: ratings that can be imported again, judgements, and replies to train on."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import DjangoDbBlocker

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.report.selectors.run_report import project_reports
from assessment.report.serializers import serialize_report
from assessment.sessions.models.conversations import Session, SessionState
from assessment.systems.models import System
from dialogues.models import Dialogue, Split
from jobs.models import JobState
from measures.rated_dialogues import MAXIMUM
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.writing import export
from preference.data.models.exports import Export
from preference.data.selectors.selection import Filters
from preference.data.selectors.sources import preview_source, select_source
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
from tests.assessment.taken_part import create_study, fill_run
from tests.module_rows import shared_rows

Written = Callable[..., str]


@pytest.fixture(scope="module")
def _study(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with shared_rows(django_db_blocker):
        project = create_study(User.objects.create(username="mara", email="mara@example.org"))
        fill_run(project, "spring", careful=4, careless=1)
        yield


@pytest.fixture
def study(_study: None, db: None) -> Project:
    """A live run: four careful people, a careless one, one who is at it and one who has only come."""
    return Project.objects.get(slug="study")


@pytest.fixture
def copy(mara: User) -> Project:
    return create_project(actor=mara, slug="copy", title="Copy", preset="live-assessment")


def written(project: Project, format: str, **filters: Any) -> str:
    out = io.BytesIO()
    export(FORMATS[format], select_source(project, Filters(**filters)), out)
    return out.getvalue().decode()


def lines(project: Project, format: str, **filters: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written(project, format, **filters).splitlines()]


def report(project: Project) -> dict[str, Any]:
    """The newest run of the report, without what names a participant or the run in this installation."""
    run: dict[str, Any] = serialize_report(project_reports(project))["runs"][-1]
    reliability = [{**each, "participant": None} for each in run["reliability"]]
    return {**run, "run": None, "reliability": reliability}


def test_an_imported_export_gives_the_same_report(study: Project, copy: Project) -> None:
    job = import_ratings(copy, written(study, "assessment"))
    assert job.state == JobState.DONE, job.error
    assert report(copy) == report(study)
    assert report(copy)["topics"]["passed"]
    assert report(copy)["median_lengths"]["passed"]["conversations"] == 24


def test_an_import_survives_export_and_import(copy: Project, mara: User) -> None:
    talked = [with_texts(careful(f"a{n}", f"w{n}", shift=n)) for n in range(3)]
    twice = assignment("twice", "w1", result("good", 70), result("good", 61.5), result("qc", 5))
    empty = assignment("empty", "w2", feedback="Nothing loaded.")
    unrated = assignment("unrated", "w3", {"model": "fair"}, result("qc", 3))
    import_ratings(copy, rating_file(*talked, twice, empty, unrated, careless("bad", "w4")))
    first = written(copy, "assessment")
    again = create_project(actor=mara, slug="again", title="Again", preset="live-assessment")
    import_ratings(again, first)
    assert report(again) == report(copy)
    results = [json.loads(text)["data"][0]["result"] for text in (first, written(again, "assessment"))]
    assert results[0] == results[1]
    assert [each["score"] for each in results[0]] == [each["score"] for each in talked[0]["result"]]


def test_nobody_is_named_in_a_file(study: Project) -> None:
    text = written(study, "assessment") + written(study, "judgements")
    assert "spring-0" not in text
    data = json.loads(written(study, "assessment"))["data"]
    assert len({row["worker"] for row in data}) == 5
    assert {row["run"] for row in data} == {1}


def test_a_file_says_what_its_scores_and_systems_are(study: Project) -> None:
    metadata = json.loads(written(study, "assessment"))["metadata"]
    assert metadata["score"]["robotic"] == {"positive": False, "qc": False, "max": 100}
    assert metadata["model"] == ["aster", "briar", "clover", "daisy", "fern"]
    assert metadata["qc-model"] == "degraded"


def test_a_study_without_a_run_is_a_file_without_assignments(copy: Project) -> None:
    assert json.loads(written(copy, "assessment"))["data"] == []
    assert written(copy, "judgements") == ""


def test_voided_and_unfinished_conversations_stay(study: Project) -> None:
    Session.objects.filter(pk=Session.objects.filter(state=SessionState.RATED)[0].pk).update(
        state=SessionState.VOIDED
    )
    data = json.loads(written(study, "assessment"))["data"]
    assert (len(data), sum(len(row["result"]) for row in data)) == (5, 29)
    preview = preview_source(study, Filters(), "assessment")
    assert (preview.leaving, preview.abandoned, preview.withheld) == (29, 1, 0)
    assert preview.writing == Session.objects.filter(assignment__state="active").count()


def test_every_rating_and_answer_is_a_judgement(study: Project) -> None:
    rows = lines(study, "judgements")
    assert len(rows) == 30 * (7 + 3)
    first = rows[0]
    assert (first["question"], first["run"], first["status"]) == ("robotic", 1, "live")
    assert {row["question"] for row in rows[7:10]} == {"opinion", "bot_opinion", "topic_change"}
    assert {row["system"] for row in rows} == set(System.objects.values_list("name", flat=True))


def test_only_well_rated_conversations_of_reliable_people_are_trained_on(study: Project) -> None:
    rows = lines(study, "sft")
    scores = select_source(study, Filters()).mean_scores  # type: ignore[union-attr]
    good = [score for score in scores.values() if score >= 60]
    assert report(study)["participants"] == {"all": 5, "passed": 4}
    assert len(scores) == 4 * 5
    assert len(rows) == 3 * len(good) > 0
    assert [message["role"] for message in rows[0]["prompt"]] == ["user"]
    assert {row["model_version"] for row in rows} <= set(System.objects.values_list("name", flat=True))
    assert rows[0]["completion"] == [{"role": "assistant", "content": "I do, most of all in autumn."}]
    assert len(lines(study, "sft", least_score=0)) == 3 * 20
    assert lines(study, "sft", least_score=MAXIMUM) == []
    preview = preview_source(study, Filters(), "sft")
    assert (preview.leaving, preview.withheld) == (len(good), 30 - len(good))


def test_two_systems_that_answer_the_same_words_make_a_pair(copy: Project) -> None:
    def said(reply: str) -> dict[str, Any]:
        return {"dialogue": [{"user": "Do you like  cats?", "bot": reply}, {"user": "Bye.", "bot": "Bye."}]}

    talks = assignment(
        "a", "ann", result("good", 80, **said("I adore them.")), result("fair", 55, **said("Cats are 4.")),
        result("good", 78, **said("Very much.")), result("qc", 5, **said("Is it a bus?")),
    )  # fmt: skip
    import_ratings(copy, rating_file(talks))
    rows = lines(copy, "preference")
    assert [(row["chosen"][0]["content"], row["rejected"][0]["content"]) for row in rows] == [
        ("I adore them.", "Cats are 4."),
        ("Very much.", "Cats are 4."),
    ]
    assert rows[0]["prompt"] == [{"role": "user", "content": "Do you like  cats?"}]
    assert {(row["rejected_origin"], row["model_version"]) for row in rows} == {("lower-rated", "fair")}
    named = Dialogue.objects.filter(
        external_id=rows[0]["dialogue_id"], assessment_session__system__name="good"
    )
    assert (named.count(), rows[0]["turn"]) == (1, 1)
    assert lines(copy, "preference", least_score=95) == []


def test_training_takes_the_chosen_splits_only(study: Project) -> None:
    Dialogue.objects.filter(project=study).update(split=Split.TRAIN)
    one = Session.objects.filter(system__name="aster", dialogue__isnull=False).order_by("id")[0]
    Dialogue.objects.filter(assessment_session=one).update(split=Split.TEST)
    assert len(lines(study, "sft", splits=("test",), least_score=0)) == 3
    assert preview_source(study, Filters(splits=("test",))).leaving == 1


def test_a_file_holds_one_run(study: Project, tmp_path: Path) -> None:
    fill_run_again(study)
    arguments = ["export_dataset", "study", "--format", "assessment", "--output", str(tmp_path / "run.json")]
    with pytest.raises(CommandError, match=r"holds one run.*Choose one of: 1, 2"):
        call_command(*arguments, stderr=io.StringIO())
    with pytest.raises(CommandError, match="no run 7"):
        call_command(*arguments, "--run", "7", stderr=io.StringIO())
    err = io.StringIO()
    call_command(*arguments, "--run", "2", stderr=err)
    assert "2 rows, 12 dialogues" in err.getvalue()
    assert json.loads((tmp_path / "run.json.manifest.json").read_text())["filters"]["run"] == 2


def fill_run_again(project: Project) -> None:
    from assessment.sessions.models.runs import Run
    from assessment.sessions.services.runs import close_run

    close_run(run=Run.objects.get(project=project), actor=None)
    fill_run(project, "june", careful=2, careless=0)


def test_the_page_offers_the_formats_and_runs_of_a_study(client: Client, study: Project, mara: User) -> None:
    client.force_login(mara)
    page = client.get("/p/study/exports/").content.decode()
    assert all(f'value="{name}"' in page for name in ("assessment", "judgements", "sft", "preference"))
    assert 'value="diamante"' not in page
    assert "--run 1" in page
    assert "include_unreviewed" not in page
    preview = client.get("/p/study/exports/?part=preview&format=sft&least_score=100&run=1").content.decode()
    assert "no conversation is rated well enough to train on" in preview
    form = {
        "id": "8f2f9a3e-5d4a-4a6b-9a59-2f5f3c1f0001",
        "format": "assessment",
        "splits": Split.values,
        "run": 1,
    }
    assert client.post("/p/study/exports/", form).status_code == 302
    assert Export.objects.get().filters["run"] == 1


def test_the_api_exports_a_study(client: Client, study: Project, mara: User) -> None:
    client.force_login(mara)
    answer = client.get("/api/v1/projects/study/exports/preview/?format=judgements&run=1").json()
    assert answer["leaving"] == 30
    body = {"id": "8f2f9a3e-5d4a-4a6b-9a59-2f5f3c1f0002", "format": "assessment", "run": 9}
    refused = client.post("/api/v1/projects/study/exports/", body, content_type="application/json")
    assert (refused.status_code, "no run 9" in refused.content.decode()) == (400, True)
