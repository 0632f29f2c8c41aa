"""The demo data: what `make demo` creates."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command
from django.db.models import F, QuerySet
from django.test import override_settings
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from accounts.models import User
from annotation.authoring.models import Turn
from annotation.authoring.selectors.queue import vetoed_assignments
from annotation.demo.dialogue_scripts import LANGUAGES, load_candidates, load_scripts
from annotation.demo.dialogue_writer import VERSION
from annotation.demo.quality_dialogues import quality_dialogues
from annotation.expert_review.models import ExpertReview
from annotation.expert_review.selectors import review_counts
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Submission
from annotation.labelling.selectors.workbench import assignments_to_confirm
from annotation.tasks.models.rounds import Round
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from annotation.tasks.selectors.queue import open_assignments
from dialogues.models import CandidateSet, Dialogue, Origin, Utterance
from generation.models import CandidateRequest
from jobs.models import Job, JobState
from projects.models import Membership, Project, Role
from tests.module_rows import shared_rows


@pytest.fixture(scope="module")
def _seeded(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with shared_rows(django_db_blocker):
        call_command("seed_demo", verbosity=0)
        yield


@pytest.fixture
def demo(_seeded: None, db: None) -> Project:
    return Project.objects.get(slug="demo")


def row_counts() -> dict[str, int]:
    models: list[Any] = [
        User,
        Task,
        Assignment,
        Dialogue,
        Utterance,
        Turn,
        CandidateSet,
        CandidateRequest,
        ExpertReview,
        Submission,
        Job,
    ]
    return {model.__name__: model.objects.count() for model in models}


def test_a_second_run_adds_nothing(demo: Project) -> None:
    before = row_counts()
    call_command("seed_demo", verbosity=0)
    assert row_counts() == before


@override_settings(PRODUCTION=True)
def test_production_refuses_public_passwords(db: None) -> None:
    before = row_counts()
    with pytest.raises(CommandError, match="refused"):
        call_command("seed_demo")
    assert row_counts() == before


def test_every_role_has_a_person(demo: Project) -> None:
    roles = Membership.objects.filter(project=demo, user__imported=False).values_list("roles", flat=True)
    assert {role for person_roles in roles for role in person_roles} == set(Role.values)


def test_nobody_can_sign_in_as_a_robot(demo: Project) -> None:
    robots = User.objects.filter(imported=True)
    assert {robot.display_name.split()[0] for robot in robots} == {
        "demo",
        "演示机器人",
        "helpdesk",
        "quality",
    }
    for robot in robots:
        assert authenticate(username=robot.username, password="lapidary-demo") is None


def test_there_are_finished_dialogues_of_enough_rounds_in_every_review_state(demo: Project) -> None:
    counts = review_counts(demo)
    assert counts.total >= 20
    assert min(counts.passed, counts.vetoed, counts.unreviewed) >= 3
    authored = Dialogue.objects.filter(origin=Origin.AUTHORED, state="finished")
    assert min(authored.values_list("utterance_count", flat=True)) >= 14


def test_actions_match_the_scripts(demo: Project) -> None:
    written = Counter(Utterance.objects.filter(turn__position__gt=0).values_list("action", flat=True))
    expected = Counter(line.action for script in load_scripts() for line in script.lines[1:])
    assert written == expected
    shares = {action: round(100 * n / expected.total()) for action, n in expected.items()}
    assert shares["select"] == pytest.approx(18, abs=2)
    assert shares["revise"] == pytest.approx(41, abs=2)
    assert shares["rewrite"] == pytest.approx(41, abs=2)


def test_every_turn_had_seven_different_candidates(demo: Project) -> None:
    candidate_sets = CandidateSet.objects.filter(dialogue__project=demo)
    assert candidate_sets.count() >= Turn.objects.filter(position__gt=0).count() > 0
    for candidate_set in candidate_sets:
        assert len({candidate["text"] for candidate in candidate_set.candidates}) == 7
        assert candidate_set.model_version == VERSION


def test_ann_and_lina_have_something_to_look_at(demo: Project) -> None:
    for name, back in (("ann", 1), ("lina", 0)):
        person = User.objects.get(username=name)
        assert person.assignments.filter(state=AssignmentState.SUBMITTED).count() >= 2
        assert len(open_assignments(person, demo)) == 1
        assert len(vetoed_assignments(person, demo)) == back


def test_the_work_spans_two_weeks_and_ends_in_the_past(demo: Project) -> None:
    now = timezone.now()
    times = list(Turn.objects.order_by("stored_at").values_list("stored_at", flat=True))
    assert timedelta(days=12) < now - times[0] < timedelta(days=15)
    assert times[-1] < now
    assert len({time.date() for time in times}) >= 12
    assert not ExpertReview.objects.filter(decided_at__gt=now).exists()


def test_turns_are_in_order_and_candidates_precede_their_use(demo: Project) -> None:
    for assignment in Assignment.objects.filter(project=demo):
        times = list(assignment.turns.order_by("position").values_list("stored_at", flat=True))
        assert times == sorted(times)
        assert assignment.claimed_at < times[0]
    answered = Turn.objects.exclude(utterance__candidate_set=None)
    assert answered.exists()
    assert not answered.filter(utterance__candidate_set__created_at__gte=F("stored_at")).exists()


def test_finished_dialogues_have_no_waiting_requests(demo: Project) -> None:
    waiting = CandidateRequest.objects.filter(state="queued")
    assert {request.dialogue.state for request in waiting.select_related("dialogue")} == {"writing"}


def test_the_planned_tasks_are_left_for_people(demo: Project) -> None:
    assert Task.objects.filter(project=demo, open_slots__gt=0).count() == 60


def test_an_import_with_refused_rows_is_there(demo: Project) -> None:
    job = Job.objects.get(kind="import", project=demo)
    assert (job.state, job.result["stored"], job.result["refused"]) == (JobState.DONE, 8, 2)


def test_descriptions_in_both_languages_say_that_the_data_is_made_up(demo: Project) -> None:
    for project in Project.objects.all():
        assert "Demo data" in project.description
        assert "演示数据" in project.description


def test_some_helpdesk_dialogues_are_labelled(demo: Project) -> None:
    tasks = Task.objects.filter(project__slug="helpdesk")
    assert Counter(tasks.values_list("state", flat=True)) == {TaskState.FINAL: 14, TaskState.OPEN: 6}
    assert Submission.objects.filter(project__slug="helpdesk").count() == 3 * 14


def tasks_for_people() -> QuerySet[Task]:
    """Those of the quality project that people label; scripts labelled the others."""
    return Task.objects.filter(project__slug="quality", round__batch__number__gt=1)


def test_quality_labels_exist_in_every_state(demo: Project) -> None:
    tasks = tasks_for_people()
    assert Counter(tasks.values_list("state", flat=True)) == {
        TaskState.FINAL: 11, TaskState.DISPUTED: 2, TaskState.CONFIRMING: 1, TaskState.OPEN: 16,
    }  # fmt: skip
    live = FinalLabel.objects.filter(task__in=tasks, superseded_at=None)
    origins = Counter(live.values_list("origin", flat=True))
    assert origins == {LabelOrigin.UNANIMOUS: 9, LabelOrigin.CONFIRMED: 2}


def test_labels_that_people_agree_on_fit_what_the_dialogue_says(demo: Project) -> None:
    labels = FinalLabel.objects.filter(task__in=tasks_for_people(), superseded_at=None)
    for dialogue, answers in labels.values_list("dialogue__external_id", "answers__dialogue"):
        assert answers == quality_dialogues()[dialogue].answers


def test_every_question_of_the_quality_project_has_an_answer() -> None:
    dialogues = quality_dialogues().values()
    assert Counter(dialogue.language for dialogue in dialogues) == {"en": 15, "zh": 15}
    assert {dialogue.answers["quality"] for dialogue in dialogues} == {0, 1, 2}
    assert all(len(dialogue.lines) % 2 == 0 for dialogue in dialogues)


def test_a_batch_waits_for_a_controller(demo: Project) -> None:
    rounds = Round.objects.filter(project__slug="quality").order_by("batch__number")
    states = list(rounds.values_list("state", flat=True))
    assert states == ["accepted", "sealed", "open", "open", "open"]


def test_an_accepted_batch_has_enough_labels_of_every_domain_to_learn_from(demo: Project) -> None:
    labels = FinalLabel.objects.filter(task__round__batch__number=1, project__slug="quality")
    by_domain = Counter(labels.values_list("dialogue__domain", "answers__dialogue__quality"))
    assert {domain for domain, _quality in by_domain} == {"bank", "travel", "kitchen", "computer", "garden"}
    assert labels.count() == 300
    assert min(by_domain.values()) >= 5
    assert 20 <= labels.filter(origin=LabelOrigin.DECIDED).count() <= 60  # where the two scripts differed


def test_ann_has_something_to_confirm(demo: Project) -> None:
    quality = Project.objects.get(slug="quality")
    assert assignments_to_confirm(User.objects.get(username="ann"), quality).count() == 1


def test_the_scripts_can_be_read_and_have_candidates() -> None:
    candidates = load_candidates()
    for script in load_scripts():
        assert script.language in LANGUAGES
        assert script.lines[0].action == ""
        assert len(candidates[script.key]) == len(script.lines) - 1
        assert all(
            line.source and line.source != line.text for line in script.lines if line.action == "revise"
        )
        assert bool(script.reason) == (script.state == "vetoed")
