"""A join link names its participant; a signed one cannot be changed."""

from urllib.parse import parse_qsl

import pytest

from assessment.sessions.models.participants import Assignment, Participant
from assessment.sessions.models.runs import Run
from assessment.sessions.services.links import link_query, panel_query
from assessment.sessions.services.participants import consent, enter
from assessment.sessions.services.runs import close_run
from common.refusals import Refusal
from projects.models import Project
from tests.assessment.steps import complete, opened_run
from tests.assessment.steps import enter as enter_unsigned


def signed(run: Run, name: str = "ann") -> dict[str, str]:
    return dict(parse_qsl(link_query(run.project.assessment, run.number, {"participant": name})))


@pytest.fixture
def only_signed(study: Project) -> Project:
    study.assessment.signed_links = True
    study.assessment.save()
    return study


def refusal(project: Project, query: dict[str, str]) -> str:
    with pytest.raises(Refusal) as refused:
        enter(project=project, query=query, language="en")
    return refused.value.code


def test_the_same_link_finds_the_same_assignment(only_signed: Project, run: Run) -> None:
    first, second = [enter(project=only_signed, query=signed(run), language="en") for _ in range(2)]
    assert first == second
    assert first.participant.panel_id == "ann"
    assert Participant.objects.count() == Assignment.objects.count() == 1


@pytest.mark.parametrize(
    "change", [{"PROLIFIC_PID": "bob"}, {"run": "2"}, {"SESSION_ID": "other"}, {"key": "made-up"}]
)
def test_a_changed_link_is_refused(only_signed: Project, run: Run, change: dict[str, str]) -> None:
    opened_run(only_signed)
    assert refusal(only_signed, {**signed(run), **change}) == "link_changed"


def test_a_link_of_another_project_is_refused(only_signed: Project, run: Run, project: Project) -> None:
    query = signed(run)
    run.project.slug = "other"
    run.project.save()
    assert refusal(run.project, query) == "link_changed"


def test_an_unsigned_link_needs_the_setting(only_signed: Project, run: Run) -> None:
    assert refusal(only_signed, {"PROLIFIC_PID": "ann"}) == "link_unsigned"


def test_an_unsigned_link_enters_if_the_setting_says_so(study: Project, run: Run) -> None:
    entered = enter_unsigned(study, "ann", STUDY_ID="s1", SESSION_ID="x1")
    assert entered.participant.parameters == {"participant": "ann", "study": "s1", "session": "x1"}
    assert entered.run == run


def test_even_there_a_signature_must_fit(study: Project, run: Run) -> None:
    assert refusal(study, {**signed(run), "PROLIFIC_PID": "bob"}) == "link_changed"


@pytest.mark.parametrize("name", ["a" * 201, "a\0b", "a\nb"])
def test_an_impossible_name_is_refused(study: Project, run: Run, name: str) -> None:
    assert refusal(study, {"PROLIFIC_PID": name}) == "link_changed"


def test_a_link_without_a_participant_is_refused(study: Project, run: Run) -> None:
    assert refusal(study, {"STUDY_ID": "s1"}) == "link_incomplete"


def test_the_panels_parameters_can_have_other_names(study: Project, run: Run) -> None:
    study.assessment.parameter_names = {"participant": "workerId"}
    study.assessment.save()
    assert enter(project=study, query={"workerId": "w7"}, language="zh").participant.panel_id == "w7"
    assert "workerId={{%PROLIFIC_PID%}}" in panel_query(study.assessment, 1)


def test_a_closed_run_takes_nobody_new(study: Project, run: Run) -> None:
    known = enter_unsigned(study, "ann")
    close_run(run=run, actor=None)
    assert enter_unsigned(study, "ann") == known
    assert refusal(study, {"PROLIFIC_PID": "bob"}) == "run_closed"


def test_a_participant_of_a_completed_run_does_not_enter_another(study: Project, run: Run) -> None:
    done = enter_unsigned(study, "ann")
    complete(consent(assignment=done))
    opened_run(study)
    assert refusal(study, {"PROLIFIC_PID": "ann", "run": "2"}) == "took_part"
    assert enter_unsigned(study, "ann") == done
