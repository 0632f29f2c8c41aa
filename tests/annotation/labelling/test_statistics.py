"""The statistics of a labelling project: computing, storing and renewing them."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Submission
from annotation.labelling.models.statistics import LabelStatistics
from annotation.labelling.selectors import statistics as numbers_of
from annotation.labelling.selectors.question_statistics import question_statistics
from annotation.labelling.selectors.ratings import rated_questions, rating_table
from annotation.labelling.selectors.statistics import compute_numbers, latest_statistics
from annotation.labelling.services.statistics import current_statistics, start_statistics
from annotation.project_setup.services import create_project
from common.refusals import Refusal
from dialogues.models import Dialogue
from jobs.models import Job, JobState
from jobs.services import cancel_job, run_job
from projects.models import Project
from tests.annotation.labelling.test_agreement import helpdesk, labelled, labels, people, task_in

__all__ = ["helpdesk", "labelled", "people"]


def stored_form(project: Project) -> Any:
    """The statistics as the database stores them; NaN is an error."""
    return json.loads(json.dumps(compute_numbers(project), allow_nan=False))


def question(numbers: Any, name: str) -> Any:
    return next(row for row in numbers["questions"] if row["name"] == name)


def person(rows: list[dict[str, Any]], user: User) -> dict[str, Any]:
    return next(row for row in rows if row["id"] == user.pk)


def test_a_project_without_submissions_is_not_an_error(helpdesk: Project) -> None:
    numbers = stored_form(helpdesk)
    assert [question["ratings"] for question in numbers["questions"]] == [0] * 5
    assert numbers["people"] == []
    assert numbers["uch"]["dialogues"] == 0
    assert numbers["uch"]["auch"] is None


def test_a_single_rater_agrees_with_nobody(helpdesk: Project, people: list[User]) -> None:
    labels(task_in(helpdesk), people[0], {"A": 1}, "CNUG0 HNUG CNUG*")
    result = question(stored_form(helpdesk), "A")
    assert result["people"][0]["agrees"] is None
    assert result["people"][0]["bias"] == {"value": None, "low": None, "high": None, "n": 0}
    assert result["course"] == []


def test_people_who_share_no_dialogue_agree_with_nobody(helpdesk: Project, people: list[User]) -> None:
    for user in people:
        labels(task_in(helpdesk), user, {"A": 1})
    result = question(stored_form(helpdesk), "A")
    assert [row["pairs"] for row in result["people"]] == [0, 0, 0]
    assert result["measures"]["krippendorff_alpha"]["value"] is None


def test_raters_without_variance_have_no_z_scores(labelled: Project) -> None:
    result = question(stored_form(labelled), "S")
    assert result["scale"] == {
        "raw": {"value": None, "low": None, "high": None, "n": 2},
        "z": {"value": None, "low": None, "high": None, "n": 0},
        "excluded": 3,
        "left_out": 6,
    }


def test_bias_and_agreement_of_each_person_by_hand(labelled: Project, people: list[User]) -> None:
    """A: 1 1 1 and 1 0 0."""
    rows = question(stored_form(labelled), "A")["people"]
    ann, bob, _carla = (person(rows, user) for user in people)
    assert (ann["bias"]["value"], bob["bias"]["value"]) == (0.5, -0.25)
    assert (ann["agrees"], bob["agrees"]) == (2 / 4, 3 / 4)
    assert (ann["mean"], ann["sd"]) == (1.0, 0.0)


def test_the_course_has_a_week_for_every_gap(helpdesk: Project, people: list[User]) -> None:
    days = ["2026-01-05", "2026-03-11", "2026-03-16"]  # Monday, Wednesday, Monday
    for day in days:
        task = task_in(helpdesk)
        for user, answer in zip(people, (1, 1, 0), strict=True):
            labels(task, user, {"A": answer}, stored_at=f"{day}T12:00Z")
    result = question_statistics(rating_table(helpdesk, rated_questions(helpdesk)[0]))
    assert result["unit"] == "week"
    assert [week["n"] for week in result["course"]] == [1, *[0] * 8, 1, 1]
    assert [result["course"][n]["start"] for n in (0, 9, 10)] == ["2026-01-05", "2026-03-09", "2026-03-16"]
    assert result["course"][0]["value"] == pytest.approx(1 / 3)
    assert result["course"][1]["value"] is None


def test_an_item_counts_for_the_day_of_its_last_rating(helpdesk: Project, people: list[User]) -> None:
    task = task_in(helpdesk)
    labels(task, people[0], {"A": 1}, stored_at="2026-03-02T12:00Z")
    labels(task, people[1], {"A": 1}, stored_at="2026-03-05T12:00Z")
    [only] = question_statistics(rating_table(helpdesk, rated_questions(helpdesk)[0]))["course"]
    assert (only["start"], only["n"]) == ("2026-03-05", 1)


def test_final_labels_are_counted_by_origin(labelled: Project, people: list[User]) -> None:
    finalize(labelled, "d1", LabelOrigin.UNANIMOUS, {"A": 1})
    finals = stored_form(labelled)["finals"]
    assert finals["origins"] == {
        "single": 0, "unanimous": 1, "confirmed": 0, "decided": 0, "majority": 0, "collected": 0,
        "machine": 0,
    }  # fmt: skip


def finalize(project: Project, name: str, origin: str, dialogue: dict[str, Any], nuggets: str = "") -> None:
    row = Dialogue.objects.get(project=project, external_id=name)
    schema = project.labelling.schema
    assert schema
    utterances = {str(n): {"nugget": nugget} for n, nugget in enumerate(nuggets.split())}
    FinalLabel.objects.create(
        task=row.tasks.get(), project=project, dialogue=row, schema=schema,
        answers={"dialogue": dialogue, "utterances": utterances}, origin=origin,
    )  # fmt: skip


def test_everybody_is_compared_with_the_final_label(labelled: Project, people: list[User]) -> None:
    finalize(labelled, "d1", LabelOrigin.MAJORITY, {"A": 1, "S": 0, "E": 2}, "CNUG0 HNUG CNUG*")
    finalize(labelled, "d2", LabelOrigin.SINGLE, {"A": 1})
    rows = stored_form(labelled)["people"]
    assert [(row["compared"], row["equal"]) for row in (person(rows, user) for user in people)] == [
        (6, 6), (6, 6), (6, 4),
    ]  # fmt: skip


def test_work_is_counted_by_person(helpdesk: Project, people: list[User]) -> None:
    ann = people[0]
    for active_ms in (10_000, 30_000, 0):
        labels(task_in(helpdesk), ann, {"A": 1}, active_ms=active_ms)
    task = task_in(helpdesk)
    labels(task, ann, {"A": 1}, superseded_at="2026-03-02T09:00Z", active_ms=20_000)
    labels(task, ann, {"A": 0}, revision=2, active_ms=5_000)
    result = person(stored_form(helpdesk)["people"], ann)
    assert (result["dialogues"], result["revisions"]) == (4, 1)
    assert (result["active_s"], result["median_s"]) == (65.0, 20.0)


def test_uch_as_a_whole_by_hand(labelled: Project) -> None:
    """L = 33. AUCH as in test_agreement. No goal is spare, and every utterance has a majority label."""
    uch = stored_form(labelled)["uch"]
    with_goal, without = (1 + 2 * 12 / 33 + 24 / 33) / 2, (1 + 24 / 33) / 2
    first = (2 * with_goal + 0.5) / 3
    assert uch["L"] == 33
    assert uch["auch"] == pytest.approx((first + without) / 2)
    assert uch["cuch"] == pytest.approx((with_goal + without) / 2)
    assert sum(uch["bins"]["auch"]) == sum(uch["bins"]["cuch"]) == 2
    assert uch["ties"] == {"dialogues": 0, "utterances": 0}
    assert uch["spare"] == {"nuggets": 0, "labellings": 0, "dialogues": 0}


def test_spare_goals_and_ties_are_counted(helpdesk: Project, people: list[User]) -> None:
    task = task_in(helpdesk)
    labels(task, people[0], {}, "CNUG* HNUG CNUG*")
    labels(task, people[1], {}, "CNUG0 HNUG CNaN")
    uch = stored_form(helpdesk)["uch"]
    assert uch["spare"] == {"nuggets": 1, "labellings": 1, "dialogues": 1}
    assert uch["ties"] == {"dialogues": 1, "utterances": 2}


def test_tau_is_computed_for_every_patience_and_alpha(helpdesk: Project, people: list[User]) -> None:
    """Dialogues with more nuggets have higher ratings, so τ = 1 wherever both rankings have no ties."""
    for rating, nuggets in enumerate(("CNaN HNaN CNaN", "CNUG0 HNaN CNaN", "CNUG0 HNUG CNaN"), start=-1):
        task = task_in(helpdesk)
        for user in people[:2]:
            labels(task, user, {"A": rating, "S": 0}, nuggets)
    uch = stored_form(helpdesk)["uch"]
    assert uch["tau"]["A"]["auch"]["value"] == uch["tau"]["A"]["cuch"]["value"] == 1
    assert [point["x"] for point in uch["by_alpha"]["A"]] == [n / 10 for n in range(11)]
    assert [point["x"] for point in uch["by_patience"]["A"]] == [1, 2, 4, 8, 16, 33, 66, 132]
    assert uch["by_alpha"]["A"][5]["value"] == 1
    assert uch["tau"]["S"]["auch"] == {"value": None, "low": None, "high": None, "n": 0}


def test_a_project_without_nuggets_has_no_uch(mara: User, people: list[User]) -> None:
    assert stored_form(create_project(slug="quality", preset="diqad", actor=mara))["uch"] is None


def test_a_project_without_a_schema_has_no_questions(helpdesk: Project) -> None:
    helpdesk.labelling.schema = None
    helpdesk.labelling.save()
    assert stored_form(helpdesk)["questions"] == []


# ---- stored numbers ----------------------------------------------------------------------------------------------


def test_a_small_project_is_computed_again_after_a_change(labelled: Project, people: list[User]) -> None:
    first = current_statistics(project=labelled).row
    assert first
    assert first.numbers == stored_form(labelled)
    recomputed = current_statistics(project=labelled)
    assert recomputed.row
    assert recomputed.row.computed_at == first.computed_at
    labels(task_in(labelled), people[0], {"A": 1})
    later = current_statistics(project=labelled)
    assert later.row
    assert later.row.submissions == 7
    assert later.is_current


def test_a_large_project_is_left_to_a_job(labelled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers_of, "SMALL", 6)
    latest = current_statistics(project=labelled)
    assert latest.row is None
    assert latest.came_since == 6


def test_a_job_computes_and_stores(labelled: Project, mara: User) -> None:
    job = start_statistics(job_id=uuid4(), project=labelled, actor=mara)
    done = run_job(job_id=job.pk)
    assert (done.state, done.done, done.total) == (JobState.DONE, 28, 28)
    assert done.result["submissions"] == 6
    assert latest_statistics(labelled).is_current


def test_two_requests_get_one_job(labelled: Project, mara: User) -> None:
    first, second = (start_statistics(job_id=uuid4(), project=labelled, actor=mara) for _ in range(2))
    assert first == second
    assert Job.objects.count() == 1
    run_job(job_id=first.pk)
    assert start_statistics(job_id=uuid4(), project=labelled, actor=mara) != first
    assert start_statistics(job_id=first.pk, project=labelled, actor=mara) != first


def test_the_id_of_another_job_is_refused(labelled: Project, mara: User) -> None:
    taken = Job.objects.create(kind="import", project=labelled)
    with pytest.raises(Refusal) as refused:
        start_statistics(job_id=taken.pk, project=labelled, actor=mara)
    assert refused.value.code == "id_in_use"


def test_a_cancelled_job_keeps_the_earlier_numbers(labelled: Project, mara: User) -> None:
    before = current_statistics(project=labelled).row
    assert before
    job = start_statistics(job_id=uuid4(), project=labelled, actor=mara)
    cancel_job(job=job, actor=mara)
    assert run_job(job_id=job.pk).state == JobState.CANCELLED
    assert LabelStatistics.objects.get().computed_at == before.computed_at


def test_a_constant_number_of_queries(
    labelled: Project, people: list[User], django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for _more in range(5):
        task = task_in(labelled)
        for user in people:
            labels(task, user, {"A": 1, "S": 0}, "CNUG0 HNUG CNaN")
    with django_assert_max_num_queries(17):
        compute_numbers(Project.objects.get(pk=labelled.pk))


def test_submissions_since_the_computation_are_counted(
    labelled: Project, people: list[User], monkeypatch: Any
) -> None:
    current_statistics(project=labelled)
    monkeypatch.setattr(numbers_of, "SMALL", 1)
    labels(task_in(labelled), people[0], {"A": 1})
    latest = current_statistics(project=labelled)
    assert (latest.came_since, latest.is_current) == (1, False)
    assert Submission.objects.count() == 7
