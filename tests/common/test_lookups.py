"""The lookup any_of."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dialogues.models import Dialogue, DialogueState, Origin, Utterance
from projects.models import Project


@pytest.fixture
def dialogues(project: Project) -> list[Dialogue]:
    kind = {"project": project, "origin": Origin.IMPORTED, "state": DialogueState.FINISHED}
    made = [Dialogue.objects.create(**kind) for _ in range(3)]
    for one in made:
        Utterance.objects.create(dialogue=one, position=0, speaker="a", text=f"of {one.pk}")
    return made


def test_any_of_finds_what_in_finds_with_one_parameter(dialogues: list[Dialogue]) -> None:
    wanted = [one.pk for one in dialogues[1:]]
    rows = Utterance.objects.filter(dialogue__id__any_of=wanted).order_by("id")
    assert list(rows.query.sql_with_params()[1]) == [wanted]
    with CaptureQueriesContext(connection) as asked:
        assert [one.dialogue_id for one in rows] == wanted
    assert "JOIN" not in asked.captured_queries[0]["sql"]


def test_any_of_nothing_is_nothing(dialogues: list[Dialogue]) -> None:
    assert not Dialogue.objects.filter(id__any_of=[]).exists()
