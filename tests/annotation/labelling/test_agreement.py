"""Agreement and UCH from stored answers, compared with small cases calculated by hand."""

import json
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from annotation.labelling.models.labels import Stage, Submission
from annotation.labelling.selectors.agreement import project_agreement
from annotation.labelling.selectors.ratings import rated_questions, rating_table
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from dialogues.models import Dialogue, Utterance
from projects.models import Project

TURNS = [("customer", "No sound."), ("helpdesk", "Is it muted?"), ("customer", "Yes, thanks!")]


@pytest.fixture
def helpdesk(mara: User) -> Project:
    return create_project(slug="helpdesk", preset="dialeval", actor=mara)


@pytest.fixture
def people(db: None) -> list[User]:
    return [User.objects.create(username=name) for name in ("ann", "bob", "carla")]


def task_in(project: Project, name: str = "") -> Task:
    dialogue = Dialogue.objects.create(project=project, external_id=name or f"d-{uuid4()}")
    for position, (speaker, text) in enumerate(TURNS):
        Utterance.objects.create(dialogue=dialogue, position=position, speaker=speaker, text=text)
    return Task.objects.create(project=project, dialogue=dialogue, state=TaskState.FINAL)


def labels(task: Task, person: User, dialogue: dict[str, Any], nuggets: str = "", **more: Any) -> Submission:
    """nuggets: one word per utterance."""
    schema = task.project.labelling.schema
    assert task.dialogue
    assert schema
    assignment, _made = Assignment.objects.get_or_create(
        task=task, project=task.project, annotator=person, state=AssignmentState.SUBMITTED,
        defaults={"claim_id": uuid4(), "lease_until": "2026-03-02T09:00Z", "dialogue": task.dialogue},
    )  # fmt: skip
    utterances = {str(n): {"nugget": nugget} for n, nugget in enumerate(nuggets.split())}
    return Submission.objects.create(
        assignment=assignment, task=task, project=task.project, annotator=person,
        schema=schema, answers={"dialogue": dialogue, "utterances": utterances}, **more,
    )  # fmt: skip


@pytest.fixture
def labelled(helpdesk: Project, people: list[User]) -> Project:
    """Two dialogues by three people. A: 1 1 1 and 1 0 0. All give the same first customer nugget, two the goal."""
    first, second = task_in(helpdesk, "d1"), task_in(helpdesk, "d2")
    for person, a, nuggets in zip(
        people,
        (1, 0, 0),
        ("CNUG0 HNUG CNUG*", "CNUG0 HNUG CNUG*", "CNUG0 HNaN CNaN"),
        strict=True,
    ):
        labels(first, person, {"A": 1, "S": 0, "E": 2}, nuggets)
        labels(second, person, {"A": a, "S": 0, "E": 2}, "CNUG0 HNUG CNaN")
    return helpdesk


def json_output(command: str, *arguments: str) -> Any:
    out = StringIO()
    call_command(command, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue(), parse_constant=pytest.fail)


def test_agreement_is_reported_for_every_question(labelled: Project) -> None:
    output = json_output("agreement", "helpdesk")
    assert list(output) == ["A", "S", "E", "nugget/customer", "nugget/helpdesk"]
    assert set(output["A"]) == {"percent", "fleiss_kappa", "randolph_kappa", "krippendorff_alpha"}
    assert set(output["A"]["percent"]) == {"value", "low", "high", "n"}


def test_agreement_by_hand(labelled: Project) -> None:
    output = json_output("agreement", "helpdesk")
    # Agreeing pairs: 3 of 3, and 1 of 3. Shares of 1 and 0 among the six ratings: 4/6 and 2/6.
    observed, chance = (1 + 1 / 3) / 2, (4 / 6) ** 2 + (2 / 6) ** 2
    assert output["A"]["percent"]["value"] == pytest.approx(observed)
    assert output["A"]["fleiss_kappa"]["value"] == pytest.approx((observed - chance) / (1 - chance))
    assert output["A"]["randolph_kappa"]["value"] == pytest.approx((observed - 1 / 5) / (1 - 1 / 5))
    assert output["A"]["percent"]["n"] == 2
    # Agreeing pairs of the four customer utterances: all, 1 of 3, all, all.
    assert output["nugget/customer"]["percent"]["value"] == pytest.approx((3 + 1 / 3) / 4)


def test_without_variance_a_measure_is_null(labelled: Project) -> None:
    output = json_output("agreement", "helpdesk")["S"]
    assert output["percent"]["value"] == 1
    assert output["fleiss_kappa"] == {"value": None, "low": None, "high": None, "n": 2}


def test_one_persons_work_gives_no_agreement(helpdesk: Project, people: list[User]) -> None:
    labels(task_in(helpdesk), people[0], {"A": 1})
    assert json_output("agreement", "helpdesk")["A"]["percent"] == {
        "value": None,
        "low": None,
        "high": None,
        "n": 0,
    }


def test_a_project_without_labels_is_not_an_error(helpdesk: Project) -> None:
    assert json_output("agreement", "helpdesk")["A"]["percent"]["n"] == 0
    assert json_output("uch", "helpdesk")["dialogues"] == []


def test_only_the_last_independent_answer_counts(helpdesk: Project, people: list[User]) -> None:
    task = task_in(helpdesk)
    labels(task, people[0], {"A": -2}, superseded_at="2026-03-02T09:00Z")
    labels(task, people[0], {"A": 1}, revision=2, superseded_at="2026-03-02T09:00Z")
    labels(task, people[0], {"A": 2}, revision=3, stage=Stage.CONFIRMATION)
    table = rating_table(helpdesk, rated_questions(helpdesk)[0])
    assert [table.ratings.categories[code] for code in table.ratings.code] == [1]


def test_in_dch_the_options_two_and_one_are_merged(mara: User, people: list[User]) -> None:
    dch = create_project(slug="dch", preset="dch", actor=mara)
    task, other = task_in(dch), task_in(dch)
    for person, satisfied in zip(people, (2, 1, 1), strict=True):
        labels(task, person, {"CS": satisfied})
        labels(other, person, {"CS": -satisfied})
    table = rating_table(dch, rated_questions(dch)[2])
    assert table.ratings.categories == (-2, -1, 0, 1, 2)
    assert table.merged_ratings().categories == (-1, 0, 1)
    assert json_output("agreement", "dch")["CS"]["fleiss_kappa"]["value"] == 1


def test_answers_outside_the_options_are_left_out(helpdesk: Project, people: list[User]) -> None:
    task = task_in(helpdesk)
    labels(task, people[0], {"A": 9, "S": "1"}, "HNUG CNUG HNUG CNUG")
    assert all(question.ratings == 0 for question in project_agreement(helpdesk))


def test_one_query_per_question(labelled: Project, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(5 + 3):
        project_agreement(Project.objects.get(slug="helpdesk"))


def test_uch_by_hand(labelled: Project) -> None:
    """Lengths 9, 12, 12: L = 33. The customer's goal nugget at 21 gains 2; the trigger at 0 and HNUG at 9 gain 1."""
    output = json_output("uch", "helpdesk")
    assert (output["L"], output["alpha"], output["position"]) == (33, 0.5, "start")
    first = output["dialogues"][0]
    assert first["id"] == "d1"
    ann, bob, carla = first["annotators"]
    assert ann == {
        "annotator": "ann", "uc": pytest.approx(1 + 2 * 12 / 33), "uh": pytest.approx(24 / 33),
        "uch": pytest.approx((1 + 2 * 12 / 33 + 24 / 33) / 2),
    }  # fmt: skip
    assert (carla["uc"], carla["uh"]) == (1, 0)
    assert first["auch"] == pytest.approx((ann["uch"] + bob["uch"] + carla["uch"]) / 3)
    assert first["cuch"] == pytest.approx(ann["uch"])


def test_uch_takes_l_alpha_and_the_end(labelled: Project) -> None:
    output = json_output("uch", "helpdesk", "--patience", "66", "--alpha", "0", "--position", "end")
    [ann, *_others] = output["dialogues"][0]["annotators"]
    assert ann["uch"] == ann["uc"] == pytest.approx(57 / 66 + 2 * 33 / 66)


@pytest.mark.parametrize(
    "bad", [("--patience", "0"), ("--patience", "nan"), ("--alpha", "1.5"), ("--alpha", "nan")]
)
def test_uch_refuses_meaningless_parameters(labelled: Project, bad: tuple[str, str]) -> None:
    with pytest.raises(CommandError):
        call_command("uch", "helpdesk", *bad)


@pytest.mark.parametrize("command", ["agreement", "uch"])
def test_an_unknown_project_is_an_error(command: str, db: None) -> None:
    with pytest.raises(CommandError, match="no labelling project"):
        call_command(command, "nowhere")


def test_uch_needs_nuggets(mara: User) -> None:
    create_project(slug="quality", preset="diqad", actor=mara)
    with pytest.raises(CommandError, match="no nugget types"):
        call_command("uch", "quality")
