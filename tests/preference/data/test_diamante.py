"""Format `diamante`, and the way of a file in and out."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from dialogues.models import Dialogue
from jobs.models import Job
from projects.models import Project
from tests.preference.conftest import PASS, Row, Rows, Written, as_lines, diamante_file

Imports = Callable[..., Job]


def conversations(rows: list[Row]) -> list[Any]:
    return [
        [(turn["utterance"], turn["response_candidates"]) for turn in row["conversation"]] for row in rows
    ]


@pytest.mark.django_db
def test_the_three_commands_bring_a_file_back_as_it_was(tmp_path: Path) -> None:
    rows = diamante_file(dialogues=250, turns=6)
    file, back = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_text(as_lines(rows))
    quiet: dict[str, Any] = {"stdout": io.StringIO(), "stderr": io.StringIO(), "skip_checks": True}
    call_command("create_project", "trip", "--preset", "diamante", **quiet)
    call_command("import_dialogues", "trip", str(file), "--format", "diamante", **quiet)
    command = [
        "export_dataset",
        "trip",
        "--format",
        "diamante",
        "--include-unreviewed",
        "--output",
        str(back),
    ]
    call_command(*command, **quiet)
    assert conversations(
        [json.loads(line) for line in back.read_text().split("\n") if line]
    ) == conversations(rows)


def test_extra_fields_of_an_import_go_back_to_their_place(imports: Imports, rows: Rows) -> None:
    row: Row = {
        "id": "d1",
        "language": "zh",
        "domain": "film",
        "site": {"name": "x", "pages": [1, 2]},
        "conversation": [
            {
                "utterance": "你好",
                "response_candidates": [],
                "speaker": "甲",
                "time": "10:00",
                "mood": "glad",
            },
            {
                "utterance": "你好啊",
                "response_candidates": ["你好", "", "在吗"],
                "speaker": "乙",
                "action": "revise",
                "source": 0,
                "edit_distance": 1,
                "model_version": "m@1",
            },
        ],
    }
    imports([row])
    (back,) = rows("diamante")
    assert {key: back[key] for key in row} == row
    assert set(back) - set(row) == {"dialogue_id", "split", "review"}
    assert back["dialogue_id"] == back["id"]


def test_an_export_can_be_imported_elsewhere_and_exported_again(
    imports: Imports, rows: Rows, project: Project, written: Written
) -> None:
    imports(diamante_file())
    written(PASS)
    elsewhere = Project.objects.create(slug="elsewhere", title="E", protocol="authoring")
    first = rows("diamante")
    imports(first, into=elsewhere)
    again = rows("diamante", of=elsewhere)
    assert [row | {"review": ""} for row in again] == [row | {"review": ""} for row in first]


def test_an_authored_dialogue_carries_candidates_action_and_model(rows: Rows, written: Written) -> None:
    dialogue = written(PASS)
    (row,) = rows("diamante")
    opening, selected, revised, rewritten = row["conversation"]
    assert row["id"] == dialogue.external_id
    assert (row["review"], row["split"]) == ("passed", dialogue.split)
    assert opening["response_candidates"] == []
    assert selected["response_candidates"] == [f"candidate {place} of 1" for place in range(7)]
    assert (selected["action"], selected["source"], selected["edit_distance"]) == ("select", 2, 0)
    assert (revised["action"], revised["source"], revised["edit_distance"]) == ("revise", 3, 2)
    assert (rewritten["action"], rewritten["source"]) == ("rewrite", None)
    assert rewritten["model_version"] == "scripted@1"
    assert "candidate_sampling" not in opening
    assert selected["candidate_sampling"] == [
        {"seed": place, "tokens": 4, "logprob": -1.5, "score": None, "warmth": None} for place in range(7)
    ]
    assert [turn["speaker"] for turn in row["conversation"]] == ["A", "B", "A", "B"]


def test_the_ids_of_two_installations_do_not_collide(written: Written) -> None:
    ids = {written().external_id for _ in range(3)}
    assert len(ids) == 3
    assert all(len(one) == 36 for one in ids)


def test_importing_an_own_export_changes_nothing(imports: Imports, rows: Rows, written: Written) -> None:
    written(PASS)
    job = imports(rows("diamante"))
    assert (job.result["stored"], job.result["already_there"], Dialogue.objects.count()) == (0, 1, 1)
