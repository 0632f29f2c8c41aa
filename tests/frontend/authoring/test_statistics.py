"""The statistics page and its files."""

import csv
import io
import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree

import pytest
from django.test import Client

from accounts.models import User
from annotation.authoring.models import Turn
from annotation.tasks.models.work import Assignment, Task
from dialogues.models import CandidateSet, Dialogue, DialogueState, Origin, Split, Utterance
from projects.models import Project, Role

PAGE = "/p/chit-chat/statistics/"
PLOTS = ["actions-over-time", "actions-by-annotator", "edit-distance", "place", "pace"]


@pytest.fixture
def erics(client: Client, eric: User) -> Client:
    client.force_login(eric)
    return client


def writes_one(author: User, project: Project) -> Dialogue:
    """A finished dialogue of an opening, a selected and a revised utterance."""
    dialogue = Dialogue.objects.create(
        project=project, origin=Origin.AUTHORED, state=DialogueState.FINISHED, split=Split.TRAIN
    )
    assignment = Assignment.objects.create(
        task=Task.objects.create(project=project),
        project=project,
        annotator=author,
        dialogue=dialogue,
        claim_id=uuid4(),
        lease_until="2026-03-02T09:00Z",
    )
    candidate_set = CandidateSet.objects.create(dialogue=dialogue, position=1, candidates=[])
    provenance: list[dict[str, Any]] = [
        {"action": ""},
        {"action": "select", "source": 0, "edit_distance": 0, "candidate_set": candidate_set},
        {"action": "revise", "source": 4, "edit_distance": 3, "candidate_set": candidate_set},
    ]
    for position, fields in enumerate(provenance):
        place_and_text = {"dialogue": dialogue, "position": position, "text": "Hello"}
        utterance = Utterance.objects.create(speaker="A", **place_and_text, **fields)
        timed = {"active_ms": 8000, "stored_at": "2026-03-02T09:00Z"}
        Turn.objects.create(assignment=assignment, utterance=utterance, **place_and_text, **timed)
    return dialogue


@pytest.fixture
def written(project: Project, ann: User) -> Dialogue:
    return writes_one(ann, project)


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def table(client: Client, name: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text_of(client, f"{PAGE}{name}.csv").removeprefix("\ufeff"))))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_page_opens_in_both_languages(erics: Client, written: Dialogue, language: str) -> None:
    User.objects.update(language=language)
    assert text_of(erics, PAGE).count('<svg class="wide"') == len(PLOTS)


def test_an_empty_project_says_that_nothing_is_there_yet(erics: Client) -> None:
    html = text_of(erics, PAGE)
    assert "Nobody has written anything yet" in html
    assert "Nothing to show yet" not in html
    assert 'class="wide"' not in html


@pytest.mark.parametrize("role", [Role.TRAINER, Role.ENGINEER, Role.MANAGER])
def test_trainers_engineers_and_managers_read_it(
    client: Client, project: Project, joins: Callable[..., User], role: Role
) -> None:
    client.force_login(joins("tina", project, role))
    assert client.get(PAGE).status_code == 200


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.CONTROLLER])
@pytest.mark.parametrize("address", [PAGE, f"{PAGE}pace.csv", f"{PAGE}pace.svg"])
def test_others_do_not_see_their_colleagues_numbers(
    client: Client, project: Project, joins: Callable[..., User], role: Role, address: str
) -> None:
    client.force_login(joins("tina", project, role))
    assert client.get(address).status_code == 403


def test_table_one_is_a_file(erics: Client, written: Dialogue) -> None:
    head, dialogues, utterances, length, select, *_rest = table(erics, "table-1")
    assert head == ["", "Train", "Validation", "Test", "Total"]
    assert dialogues == ["Dialogues", "1", "0", "0", "1"]
    assert utterances == ["Utterances", "3", "0", "0", "3"]
    assert length[1:] == ["5.0", "", "", "5.0"]
    assert select[1:] == ["50.0", "", "", "50.0"]


def test_the_course_is_a_file_with_counts_and_shares(erics: Client, written: Dialogue) -> None:
    head, row = table(erics, "actions-over-time")
    assert row == ["2026-03-02", "1", "1", "0", "2", "50.0", "50.0", "0.0"]
    assert head[:5] == ["day", "Select", "Revise", "Rewrite", "n"]


def test_places_come_with_their_intervals(erics: Client, written: Dialogue) -> None:
    rows = table(erics, "place")
    assert [row[:3] for row in rows[1:6]] == [
        ["1", "1", "50.0"], ["2", "0", "0.0"], ["3", "0", "0.0"], ["4", "0", "0.0"], ["5", "1", "50.0"],
    ]  # fmt: skip
    assert rows[1][3:] == ["9.5", "90.5"]


def test_no_name_becomes_a_formula(erics: Client, ann: User, written: Dialogue) -> None:
    User.objects.filter(pk=ann.pk).update(display_name="=HYPERLINK(1)")
    assert table(erics, "pace")[1][0] == "'=HYPERLINK(1)"


def test_people_with_equal_names_are_distinguished(
    erics: Client, project: Project, ann: User, bob: User, written: Dialogue
) -> None:
    writes_one(bob, project)
    User.objects.filter(pk__in=[ann.pk, bob.pk]).update(display_name="Li Na")
    assert [row[0] for row in table(erics, "pace")[1:]] == ["Li Na (ann)", "Li Na (bob)"]


@pytest.mark.parametrize("name", PLOTS)
def test_every_plot_is_a_file_that_stands_alone(erics: Client, written: Dialogue, name: str) -> None:
    answer = erics.get(f"{PAGE}{name}.svg")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="chit-chat-{name}.svg"'
    drawing = ElementTree.fromstring(answer.content)
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in answer.content.decode()


@pytest.mark.parametrize("address", [f"{PAGE}none.csv", f"{PAGE}pace.png", f"{PAGE}waiting.svg"])
def test_an_unknown_file_is_not_found(erics: Client, address: str) -> None:
    assert erics.get(address).status_code == 404


def test_the_page_keeps_the_policy(erics: Client, written: Dialogue) -> None:
    assert not re.search(r"<style|\sstyle=|\son\w+=", text_of(erics, PAGE))


def test_names_are_shown_as_text(erics: Client, ann: User, written: Dialogue) -> None:
    User.objects.filter(pk=ann.pk).update(display_name="<b>Ann</b>")
    html = text_of(erics, PAGE)
    assert "&lt;b&gt;Ann&lt;/b&gt;" in html
    assert "<b>Ann" not in html


def test_the_number_of_queries_does_not_grow(
    erics: Client,
    project: Project,
    ann: User,
    bob: User,
    written: Dialogue,
    django_assert_max_num_queries: Callable[..., object],
) -> None:
    for author in (ann, bob, bob):
        writes_one(author, project)
    with django_assert_max_num_queries(22):  # type: ignore[attr-defined]
        text_of(erics, PAGE)
