"""Lists sorted by a column and read page by page."""

import pytest
from django.http import QueryDict

from dialogues.models import Dialogue, DialogueState, Origin
from frontend.ui.sorting import Column, Sorting, chosen_sorting, sorted_page
from projects.models import Project

pytestmark = pytest.mark.django_db
COLUMNS = {"added": Column("pk", falls_first=True), "length": Column("utterance_count", falls_first=True)}


@pytest.fixture
def lengths(project: Project) -> list[int]:
    """Dialogues of seven lengths, each several times."""
    lengths = [number % 7 for number in range(40)]
    Dialogue.objects.bulk_create(
        Dialogue(project=project, origin=Origin.IMPORTED, state=DialogueState.FINISHED, utterance_count=n)
        for n in lengths
    )
    return lengths


def sorting(chosen: str) -> Sorting:
    return chosen_sorting(QueryDict(f"sort={chosen}"), COLUMNS, "-added")


def read_all(chosen: str) -> list[tuple[int, int]]:
    """Length and key of every row, page after page."""
    found, before = [], ""
    while True:
        page = sorted_page(Dialogue.objects.all(), sorting(chosen), before, 9)
        assert page.is_first == (before == "")
        found += [(row.utterance_count, row.pk) for row in page.rows]
        if not page.before:
            return found
        before = page.before


@pytest.mark.parametrize("chosen", ["length", "-length"])
def test_pages_of_a_sorted_list_hold_every_row_once(lengths: list[int], chosen: str) -> None:
    rows = read_all(chosen)
    assert rows == sorted(rows, reverse=chosen.startswith("-"))
    assert len(rows) == len(lengths)


@pytest.mark.parametrize(
    ("chosen", "falls"), [("added", False), ("-added", True), ("nonsense", True), ("", True)]
)
def test_by_age_in_both_directions(lengths: list[int], chosen: str, falls: bool) -> None:
    keys = [key for _length, key in read_all(chosen)]
    assert keys == sorted(keys, reverse=falls)
    assert len(keys) == len(lengths)


def test_a_row_added_meanwhile_moves_no_other(lengths: list[int], project: Project) -> None:
    first = sorted_page(Dialogue.objects.all(), sorting("length"), "", 9)
    Dialogue.objects.create(project=project, origin=Origin.IMPORTED, state=DialogueState.FINISHED)
    second = sorted_page(Dialogue.objects.all(), sorting("length"), first.before, 9)
    assert not {row.pk for row in first.rows} & {row.pk for row in second.rows}


def test_after_a_row_that_is_gone_the_list_starts_again(lengths: list[int]) -> None:
    first = sorted_page(Dialogue.objects.all(), sorting("length"), "", 9)
    Dialogue.objects.filter(pk=first.before).delete()
    assert sorted_page(Dialogue.objects.all(), sorting("length"), first.before, 9).is_first


def test_the_first_click_shows_the_largest_and_the_next_one_turns_it_round() -> None:
    assert sorting("-added").next_for("length") == "-length"
    assert sorting("-length").next_for("length") == "length"
    assert sorting("length").next_for("added") == "-added"
