"""Which of two models' candidates people take, from turns with mixed candidate sets."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation.authoring.models import Turn
from annotation.authoring.selectors.model_comparison import ModelComparison, model_comparisons
from annotation.authoring.services.completion import finish_dialogue
from annotation.authoring.services.settings import update_authoring
from annotation.authoring.services.turns import TurnResult, undo_turn
from annotation.tasks.models.work import Assignment
from dialogues.models import CandidateSet
from generation.worker import drain
from projects.models import Project
from tests.candidate_requests import create_generator

Writes = Callable[..., TurnResult]
Turns = Callable[..., None]
OLD, NEW = [[f"{name} {number}" for number in range(14)] for name in ("old", "new")]


@pytest.fixture
def mixed(project: Project) -> Project:
    """A project with an old and a new model."""
    changes = {
        "generator": create_generator("old", replies=OLD),
        "second_generator": create_generator("new", replies=NEW),
    }
    update_authoring(project=project, actor=None, changes=changes)
    return project


@pytest.fixture
def turns(mixed: Project, anns_assignment: Assignment, writes: Writes) -> Turns:
    """turns("new", "old!", "") writes three turns: a new candidate, a revised old one, and an own text."""

    def write(*picked: str) -> None:
        assignment = anns_assignment
        if not assignment.dialogue.utterance_count:
            writes(assignment, "My cat sheds all over the sofa.", 0)
        for pick in picked:
            drain("w")
            assignment.dialogue.refresh_from_db()
            position = assignment.dialogue.utterance_count
            candidate_set = CandidateSet.objects.get(dialogue=assignment.dialogue, position=position)
            if not pick:
                writes(assignment, f"Words of my own {position}.", position, candidate_set=candidate_set.pk)
                continue
            texts = [candidate["text"] for candidate in candidate_set.candidates]
            place = next(at for at, text in enumerate(texts) if text.startswith(pick[:3]))
            text = texts[place] + " indeed" * pick.count("!")
            writes(assignment, text, position, candidate_set=candidate_set.pk, source=place)

    return write


def only(project: Project) -> ModelComparison:
    (comparison,) = model_comparisons(project)
    return comparison


def test_turns_are_won_by_the_model_that_wrote_the_source(mixed: Project, turns: Turns) -> None:
    turns("new", "new!", "old", "", "new")
    comparison = only(mixed)
    new, old = (create_generator(name).pk for name in ("new", "old"))
    assert new != old
    assert (comparison.turns, comparison.dialogues, comparison.paired_comparison.decided) == (5, 1, 4)
    assert comparison.paired_comparison.share.value == pytest.approx(3 / 4)
    newer, older = comparison.paired_comparison.newer, comparison.paired_comparison.older
    assert newer.shown + older.shown == 35
    assert newer.selected.value == pytest.approx(2 / newer.shown)
    assert newer.revised.value == pytest.approx(1 / newer.shown)
    assert older.selected.value == pytest.approx(1 / older.shown)
    assert older.revised.value == 0


def test_an_undone_turn_does_not_count(
    mixed: Project, turns: Turns, anns_assignment: Assignment, ann: User
) -> None:
    turns("new", "old")
    last = Turn.objects.order_by("-position")[0]
    undo_turn(annotator=ann, assignment_id=anns_assignment.pk, turn_id=last.pk)
    assert only(mixed).paired_comparison.decided == 1


def test_the_newer_model_is_the_one_that_came_later(mixed: Project, turns: Turns) -> None:
    """Of two that never wrote alone the second; else the one whose first own set is younger, or that has none."""
    turns("new")
    first, second = CandidateSet.objects.filter(sampling__has_key="models")[0].sampling["models"]
    assert (only(mixed).older, only(mixed).newer) == (first, second)
    some = CandidateSet.objects.all()[0]
    alone = {"dialogue": some.dialogue, "position": 99, "candidates": []}
    now = timezone.now()
    CandidateSet.objects.create(**alone, model_version=second, created_at=now)
    assert only(mixed).newer == first
    CandidateSet.objects.create(**alone, model_version=first, created_at=now - timedelta(days=1))
    assert only(mixed).newer == second


def test_sets_of_one_model_do_not_count(mixed: Project, turns: Turns) -> None:
    create_generator("new", unavailable=True)
    turns("old", "old")
    assert CandidateSet.objects.get(position=1).sampling["models"][1] == ""
    assert model_comparisons(mixed) == []


def test_the_api_returns_the_comparison(mixed: Project, turns: Turns, client: Client, eric: User) -> None:
    client.force_login(eric)
    assert client.get("/api/v1/projects/chit-chat/statistics/").json()["model_comparisons"] == []
    turns("new", "old", "new")
    (comparison,) = client.get("/api/v1/projects/chit-chat/statistics/").json()["model_comparisons"]
    assert comparison["paired_comparison"]["decided"] == 3
    assert comparison["paired_comparison"]["share"]["value"] == pytest.approx(2 / 3)
    assert (
        comparison["paired_comparison"]["newer"]["shown"] + comparison["paired_comparison"]["older"]["shown"]
        == 21
    )


def test_a_project_with_one_model_reads_how_two_are_compared(
    project: Project, anns_assignment: Assignment, writes: Writes, ann: User, client: Client, eric: User
) -> None:
    project.authoring.min_rounds = 1
    project.authoring.save()
    for position, text in enumerate(("My cat sheds all over the sofa.", "So does my dog.")):
        writes(anns_assignment, text, position)
    finish_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    client.force_login(eric)
    assert "can name a second model" in client.get("/p/chit-chat/statistics/").content.decode()


def test_the_page_shows_it_in_words_and_as_a_file(
    mixed: Project, turns: Turns, client: Client, eric: User
) -> None:
    client.force_login(eric)
    page = "/p/chit-chat/statistics/"
    assert "Nobody has written anything yet" in client.get(page).content.decode()
    turns("new", "new", "old", "new!")
    content = client.get(page).content.decode()
    assert "won 75.0\u00a0% of the 4 turns" in content
    assert "nobody saw which wrote what" in content
    file = client.get(f"{page}models.csv").content.decode("utf-8-sig").splitlines()
    assert len(file) == 3
    newer = file[1].split(",")
    assert newer[0] == only(mixed).newer
    assert client.get(f"{page}models.svg").status_code == 200


def test_the_number_of_queries_is_constant(
    mixed: Project, turns: Turns, django_assert_num_queries: Callable[..., object]
) -> None:
    turns("new", "old", "new")
    with django_assert_num_queries(2):  # type: ignore[attr-defined]
        model_comparisons(mixed)
