"""Evaluators beside people: which questions can be compared, with whom, and what comes of it."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Submission
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from assessment.report.selectors.run_report import project_reports
from common.refusals import Invalid
from dialogues.models import Dialogue
from jobs.models import JobState
from jobs.services import run_job
from preference.data.formats.judgements import pseudonym
from preference.evaluators.models import MetaEvaluation, ScoringRun
from preference.evaluators.selectors.judgements import judged_questions, judged_rows
from preference.evaluators.selectors.meta_evaluations import comparable_runs, titles_of
from preference.evaluators.services.meta_evaluations import start_meta_evaluation
from projects.models import Project
from tests.annotation.conftest import anna as anna
from tests.annotation.conftest import bela as bela
from tests.api.conftest import program as program
from tests.assessment.taken_part import create_opened_run, create_study, take_part
from tests.preference.conftest import Written, refused
from tests.preference.evaluators.conftest import imported
from tests.preference.evaluators.test_scoring import scored, waiting

pytestmark = pytest.mark.django_db


def label(task: Task, value: int | str, *people: tuple[User, int | str]) -> None:
    """A final label of a dialogue and the answers that it comes from."""
    project, schema, dialogue = task.project, task.project.labelling.schema, task.dialogue
    assert schema
    assert dialogue
    for person, answer in people:
        assignment = Assignment.objects.create(
            task=task, project=project, annotator=person, state=AssignmentState.SUBMITTED, claim_id=uuid4(),
            lease_until="2026-03-02T09:00Z", dialogue=dialogue,
        )  # fmt: skip
        Submission.objects.create(
            assignment=assignment, task=task, project=project, annotator=person, schema=schema,
            answers={"dialogue": {"quality": answer}, "utterances": {}},
        )  # fmt: skip
    FinalLabel.objects.create(
        task=task, project=project, dialogue=dialogue, schema=schema, origin=LabelOrigin.UNANIMOUS,
        answers={"dialogue": {"quality": value}, "utterances": {}},
    )  # fmt: skip
    Task.objects.filter(pk=task.pk).update(state=TaskState.FINAL)


@pytest.fixture
def labelled(quality: Project, anna: User, bela: User) -> Project:
    """Twelve dialogues whose last utterances get longer; so does the label, though people differ now and then."""
    for number in range(12):
        (dialogue,) = imported(quality, 1)
        dialogue.utterances.filter(position=1).update(text="word " * (1 + number))
        task = Task.objects.create(project=quality, dialogue=dialogue)
        value = number // 4
        label(task, value, (anna, value), (bela, max(0, value - (number % 5 == 0))))
    return quality


def compared(project: Project, **request: Any) -> MetaEvaluation:
    row = start_meta_evaluation(
        evaluation_id=uuid4(), project=project, actor=None, enqueue=False, **{"question": "", **request}
    )
    job = run_job(job_id=row.job_id)
    assert job.state == JobState.DONE, (job.error, job.remedy)
    return MetaEvaluation.objects.get(pk=row.pk)


def figures_of(evaluation: MetaEvaluation, run: ScoringRun) -> dict[str, Any]:
    (found,) = [each for each in evaluation.report["evaluators"] if each["name"] == str(run.pk)]
    return dict(found)


# ---- what people said ------------------------------------------------------------------------------------------------


def test_final_labels_and_independent_answers_become_rows(labelled: Project, anna: User, bela: User) -> None:
    rows = list(judged_rows(labelled, "quality"))
    assert [row["human"] for row in rows] == [0] * 4 + [1] * 4 + [2] * 4
    ann, bel = pseudonym(labelled.pk, anna.pk), pseudonym(labelled.pk, bela.pk)
    assert rows[5]["humans"] == rows[5]["labels"] == {ann: 1, bel: 0}
    assert all(row["label"] == row["human"] for row in rows)


def test_private_and_abandoned_dialogues_are_left_out(labelled: Project, anna: User) -> None:
    for value in (-1, -2, "phone"):
        (dialogue,) = imported(labelled, 1)
        label(Task.objects.create(project=labelled, dialogue=dialogue), value, (anna, value))
    assert len(list(judged_rows(labelled, "quality"))) == 12


def test_questions_with_several_answers_are_not_offered(quality: Project, project: Project) -> None:
    assert "quality" in judged_questions(quality)
    assert not any("=" in name for name in judged_questions(quality))
    assert judged_questions(project) == []


# ---- the comparison --------------------------------------------------------------------------------------------------


def test_evaluators_are_ranked_beside_people(labelled: Project) -> None:
    length, chance = scored(labelled), scored(labelled, "random")
    evaluation = compared(labelled, question="quality")
    report = evaluation.report
    assert report["ranking"] == [str(length.pk), str(chance.pk)]
    assert (report["n_rows"], report["n_judged"]) == (12, 12)
    spearman = figures_of(evaluation, length)["spearman"]
    assert 0.9 < spearman["value"] <= 1
    assert spearman["low"] <= spearman["value"] <= spearman["high"]
    assert {row["measure"] for row in report["differences"]} == {"pearson", "spearman", "kendall"}
    assert report["people"]["spearman"]["mean"]["value"] > 0.8
    assert len(evaluation.points[str(length.pk)]) == 12
    assert titles_of(evaluation) == {str(length.pk): "Length", str(chance.pk): "Random number"}


def test_the_newest_scores_of_each_evaluator_are_compared(labelled: Project) -> None:
    scored(labelled)
    newest, words = scored(labelled), scored(labelled, settings={"unit": "words"})
    waiting(labelled, None, "random")
    assert comparable_runs(labelled) == [words, newest]
    assert set(compared(labelled).runs.all()) == {words, newest}


def test_equal_titles_are_numbered(labelled: Project) -> None:
    first, second = scored(labelled), scored(labelled)
    evaluation = compared(labelled, runs=[first.pk, second.pk])
    assert titles_of(evaluation) == {str(first.pk): "Length (1)", str(second.pk): "Length (2)"}


def test_the_same_request_again_returns_the_first_one(labelled: Project) -> None:
    run, evaluation_id = scored(labelled), uuid4()
    request: dict[str, Any] = {"evaluation_id": evaluation_id, "project": labelled, "actor": None}
    first = start_meta_evaluation(**request, runs=[run.pk], enqueue=False)
    assert start_meta_evaluation(**request, runs=[run.pk], enqueue=False) == first
    with refused("id_in_use"):
        start_meta_evaluation(**request, question="quality", enqueue=False)


def test_without_judgements_there_is_nothing_to_compare(
    quality: Project, project: Project, written: Written
) -> None:
    written()
    scored(project)
    for unjudged in (project, quality):
        with refused("no_judgements"):
            compared(unjudged)


def test_without_scores_there_is_nothing_to_compare(labelled: Project) -> None:
    with refused("no_scores"):
        compared(labelled)


def test_a_wrong_question_or_run_names_its_field(
    labelled: Project, project: Project, written: Written
) -> None:
    written()
    elsewhere, unfinished = scored(project), waiting(labelled)
    for field, request in (
        ("question", {"question": "mood"}),
        ("runs", {"runs": [elsewhere.pk]}),
        ("runs", {"runs": [unfinished.pk]}),
    ):
        with pytest.raises(Invalid) as refusal:
            compared(labelled, **request)
        assert refusal.value.details["field"] == field or field == "question"


def test_running_it_again_replaces_the_report(labelled: Project) -> None:
    scored(labelled)
    evaluation = compared(labelled)
    type(evaluation.job).objects.filter(pk=evaluation.pk).update(state=JobState.QUEUED)
    run_job(job_id=evaluation.job_id)
    again = MetaEvaluation.objects.get(pk=evaluation.pk)
    assert (again.job.state, again.report) == (JobState.DONE, evaluation.report)


# ---- systems of an assessment ----------------------------------------------------------------------------------------


def test_systems_are_ranked_by_an_assessment(mara: User) -> None:
    study = create_study(mara)
    create_opened_run(study, 6)
    for name in ("ann", "bob", "carla", "dan"):
        take_part(study, name)
    run = scored(study)
    evaluation = compared(study)
    systems = figures_of(evaluation, run)["systems"]
    (report,) = project_reports(study)
    assert evaluation.question == "overall"
    assert {each["system"]: pytest.approx(each["human"]) for each in systems["means"]} == {
        each.system: each.overall.value for each in report.scores
    }
    assert Dialogue.objects.filter(scores__run=run).distinct().count() >= 20


# ---- command and API -------------------------------------------------------------------------------------------------


def test_the_command_prints_tables_or_json(labelled: Project) -> None:
    scored(labelled)
    out = StringIO()
    call_command("meta_evaluate", "quality", stdout=out)
    assert "Length" in out.getvalue()
    out = StringIO()
    call_command("meta_evaluate", "quality", "--question", "quality", "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert (report["project"], report["question"], report["ranking"]) == ("quality", "quality", ["Length"])


def test_the_command_says_what_is_missing(quality: Project) -> None:
    for arguments in (["nowhere"], ["quality"], ["quality", "--question", "mood"]):
        with pytest.raises(CommandError):
            call_command("meta_evaluate", *arguments, stdout=StringIO())


def test_start_and_read_over_the_api(
    program: Callable[..., APIClient], labelled: Project, mara: User, anna: User
) -> None:
    run = scored(labelled)
    address = "/api/v1/projects/quality/meta-evaluations/"
    client = program(mara)
    body = {"id": str(uuid4()), "question": "quality", "runs": [str(run.pk)]}
    answers: list[Any] = [client.post(address, body, format="json") for _twice in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    run_job(job_id=MetaEvaluation.objects.get().job_id)
    read: Any = client.get(f"/api/v1/meta-evaluations/{body['id']}/").json()
    assert (read["state"], read["evaluators"]) == ("done", {str(run.pk): "Length"})
    assert read["report"]["ranking"] == [str(run.pk)]
    assert len(client.get(address).json()["results"]) == 1
    assert client.post(address, {"id": str(uuid4()), "question": "mood"}, format="json").status_code == 400
    annotator = program(anna)
    assert annotator.get(address).status_code == 403
    assert annotator.get(f"/api/v1/meta-evaluations/{body['id']}/").status_code == 404
