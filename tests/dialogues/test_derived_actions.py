"""Actions of imported turns whose file does not name them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from annotation.authoring.selectors.statistics import Statistics
from dialogues.derived_actions import derive_action
from dialogues.models import Dialogue, Utterance
from projects.models import Project
from tests.preference.conftest import Rows
from tests.preference.conftest import imports as imports
from tests.preference.conftest import rows as rows
from tests.preference.data.test_diamante import Imports

DEMO_LOG = Path(__file__).parents[2] / "generation/demo_model/demo_log/demo_log.jsonl.gz"
SHOWN = ["I like tea.", "", "Do you drink coffee?", "It rains a lot here."]


@pytest.mark.parametrize(
    ("text", "action", "source", "distance"),
    [
        ("I like tea.", "select", 0, 0),
        (" I  like tea.\n", "select", 0, 0),
        ("I like green tea.", "revise", 0, 6),
        ("Do you ever drink coffee?", "revise", 2, 5),
        ("My sister plays the violin in an orchestra.", "rewrite", None, None),
    ],
)
def test_the_nearest_candidate_decides(
    text: str, action: str, source: int | None, distance: int | None
) -> None:
    derived = derive_action(text, SHOWN)
    assert (derived.action, derived.source, derived.edit_distance) == (action, source, distance)


def test_half_of_the_longer_text_is_near() -> None:
    assert derive_action("abcd", ["abxy"]).action == "revise"
    assert derive_action("abcd", ["axyz"]).action == "rewrite"
    assert derive_action("ab", ["xyz", ""]).action == "rewrite"


def test_of_equally_near_candidates_the_first_is_the_source() -> None:
    assert derive_action("tea!", ["tea?", "tea."]).source == 0


def test_a_source_that_the_file_names_was_revised_however_far_it_is() -> None:
    derived = derive_action("My own words", SHOWN, source=3)
    assert (derived.action, derived.source) == ("revise", 3)


def test_the_recorded_actions_of_the_demo_log_are_found_again() -> None:
    with gzip.open(DEMO_LOG, "rt", encoding="utf-8") as lines:
        turns = [turn for line in lines for turn in json.loads(line)["conversation"] if turn.get("action")]
    assert len(turns) > 5000
    found = [derive_action(turn["utterance"], turn["response_candidates"]) for turn in turns]
    same = [derived.action == turn["action"] for derived, turn in zip(found, turns, strict=True)]
    assert sum(same) / len(same) > 0.99


def talk(*replies: str, **about: Any) -> dict[str, Any]:
    said = [{"utterance": text, "response_candidates": SHOWN, **about} for text in replies]
    return {"id": "d1", "conversation": [{"utterance": "Hello"}, *said]}


def test_an_import_derives_and_marks_them(project: Project, imports: Imports, rows: Rows) -> None:
    imports([talk("I like tea.", "I like green tea.", "My sister plays the violin in an orchestra.")])
    stored = Utterance.objects.order_by("position").values_list(
        "action", "source", "edit_distance", "action_derived"
    )
    assert list(stored) == [
        ("", None, None, False),
        ("select", 0, 0, True),
        ("revise", 0, 6, True),
        ("rewrite", None, None, True),
    ]
    (row,) = rows("diamante")
    assert [turn.get("action_derived") for turn in row["conversation"]] == [None, True, True, True]
    statistics = Statistics(project)
    total = statistics.table_one()[-1]
    assert (total.actions.select, total.actions.revise, total.actions.rewrite) == (1, 1, 1)
    assert total.derived == 3
    assert sum(bar.count for bar in [*statistics.edit_distances(), *statistics.places_chosen()]) == 0


def test_a_named_action_is_kept_as_recorded(project: Project, imports: Imports) -> None:
    imports([talk("I like tea, too.", action="rewrite")])
    reply = Utterance.objects.get(position=1)
    assert (reply.action, reply.source, reply.action_derived) == ("rewrite", None, False)
    assert Statistics(project).table_one()[-1].derived == 0


def test_an_own_export_stays_marked(imports: Imports, rows: Rows) -> None:
    imports([talk("I like green tea.")])
    exported = rows("diamante")
    elsewhere = Project.objects.create(slug="elsewhere", title="E", protocol="authoring")
    imports(exported, into=elsewhere)
    assert rows("diamante", of=elsewhere) == exported
    assert Utterance.objects.filter(action_derived=True).count() == 2


def test_deriving_does_not_change_the_ids_of_dialogues_without_one(imports: Imports) -> None:
    """The id is the hash of what the file says; a file imported before is still there afterwards."""
    row = {key: value for key, value in talk("I like tea.").items() if key != "id"}
    imports([row])
    assert Dialogue.objects.get().external_id == "sha256:2f838ad5a094d39e121d3507ea5e98ac"
