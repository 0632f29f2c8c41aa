"""Predictions of a judge in the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from preference.training.assessor.judged import JudgeOptions, find_question
from preference.training.assessor.task import QUALITY
from tests.preference.training.assessor.conftest import assess, json_of
from tests.preference.training.assessor.synthetic import dialogue_rows, write_rows

PRESET = Path(__file__).parents[4] / "annotation" / "project_setup" / "presets" / "diqad.yaml"


def test_a_judge_is_compared_on_what_it_judged(few: Path, tmp_path: Path) -> None:
    rows: list[Any] = [{"id": row["id"], "prediction": row["label"]} for row in dialogue_rows(90)]
    rows[:45] = [{"id": row["id"], "prediction": None} for row in rows[:45]]
    judge = write_rows(tmp_path / "judge.jsonl", rows)
    output = tmp_path / "run"
    options = ("--models", "naive_bayes", "--predictions", f"judge={judge}", "--perturb")
    assert assess(few, output, *options, settings=("test_share=0.3",)) == 0
    figures = json_of(output / "metrics.json")
    assert figures["judge"]["accuracy"]["value"] == 1
    assert 0 < figures["judge"]["accuracy"]["n"] < figures["naive_bayes"]["accuracy"]["n"]
    assert figures["judge"]["ece"]["value"] is None
    assert figures["judge"]["ece"]["reason"] == "The predictions have no probabilities."
    report = json_of(output / "report.json")
    assert any(note.startswith("judge predicts ") for note in report["notes"])
    # Only what was trained here can be asked about other dialogues.
    assert report["experiments"]["model"] == "naive_bayes"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"id": "d1", "prediction": 7}, "`prediction` is not one of the classes"),
        ({"id": "d1", "prediction": 1, "probabilities": [0.5, 0.5]}, "a number from 0 to 1 for each class"),
        (
            {"id": "d1", "prediction": 1, "probabilities": [0.5, 0.9, 0.1]},
            "a number from 0 to 1 for each class",
        ),
        ({"id": "d1", "prediction": 1, "probabilities": [0.9, 0.1, 0]}, "is not the most probable class"),
        ({"prediction": 1}, "`id` must be text"),
        ({"id": "of another file", "prediction": 1}, "predicts no dialogue of the split test"),
    ],
)
def test_wrong_predictions_end_the_run(
    few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, Any], words: str
) -> None:
    judge = write_rows(tmp_path / "judge.jsonl", [row])
    options = ("--models", "majority", "--predictions", f"judge={judge}")
    assert assess(few, tmp_path / "run", *options) == 1
    assert words in capsys.readouterr().err


SCHEMA: dict[str, Any] = {
    "questions": [
        {"key": "verify", "scope": "dialogue", "kind": "choice", "text": "Look it up?", "options": []},
        {
            "key": "quality",
            "scope": "dialogue",
            "kind": "choice",
            "text": {"en": "How good?", "zh": "质量"},
            "options": [{"value": value, "text": str(value)} for value in (2, 1, 0, -1)],
        },
    ]
}


def judge_options(tmp_path: Path, address: str, schema: Any = SCHEMA) -> list[str]:
    questions = tmp_path / "schema.json"
    questions.write_text(json.dumps(schema))
    return ["--judge", address, "--judge-model", "m", "--judge-questions", str(questions)]


def test_a_judge_labels_the_test_dialogues_directly_and_in_steps(
    few: Path, tmp_path: Path, judge_server: str
) -> None:
    output = tmp_path / "run"
    options = ["--models", "majority", *judge_options(tmp_path, f"{judge_server}/quality/v1")]
    assert assess(few, output, *options, settings=("test_share=0.3",)) == 0
    models = json_of(output / "report.json")["models"]
    assert list(models) == ["majority", "judge", "judge_steps"]
    # It knows the word that shows the label in 80 % of the dialogues, but answers with prose about good ones in steps.
    assert models["judge"]["metrics"]["accuracy"]["value"] > 0.6
    assert models["judge_steps"]["tested"] < models["judge"]["tested"] == models["majority"]["tested"]
    (file,) = (output / "jobs").glob("judge_steps-*.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert all(row["tokens"]["prompt"] for row in rows)
    assert any("chose none of the options" in row.get("reason", "") for row in rows)
    # A resumed run asks only about dialogues without an answer.
    file.write_text("".join(json.dumps(row) + "\n" for row in rows[1:]))
    answers = models["judge_steps"]["confusion"]
    assert assess(few, output, *options, "--resume", settings=("test_share=0.3",)) == 0
    assert len(file.read_text().splitlines()) == len(rows)
    assert json_of(output / "report.json")["models"]["judge_steps"]["confusion"] == answers


@pytest.mark.parametrize(("mode", "words"), [("down", "internal error"), ("prose", "predicts no dialogue")])
def test_a_judge_that_fails_does_not_lose_the_models(
    few: Path, tmp_path: Path, judge_server: str, mode: str, words: str
) -> None:
    output = tmp_path / "run"
    options = ["--models", "majority", *judge_options(tmp_path, f"{judge_server}/{mode}/v1")]
    assert assess(few, output, *options) == 0
    report = json_of(output / "report.json")
    assert list(report["models"]) == ["majority"]
    assert words in report["failures"]["judge"]


def test_a_judge_needs_a_question_with_all_classes(
    few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "run"
    assert assess(few, output, "--models", "majority", "--judge", "http://localhost:1/v1") == 1
    assert "A judge needs a model and a question." in capsys.readouterr().err
    other = {"questions": [SCHEMA["questions"][1] | {"options": [{"value": 0, "text": "0"}]}]}
    options = judge_options(tmp_path, "http://localhost:1/v1", other)
    assert assess(few, output, "--models", "majority", *options) == 1
    assert "offers the classes 0, 1, 2" in capsys.readouterr().err


def test_the_preset_of_quality_labels_has_the_question() -> None:
    options = JudgeOptions("http://localhost:1/v1", "m", PRESET, "zh")
    question = find_question(options, QUALITY)
    assert (question.key, [option.value for option in question.options]) == ("quality", [2, 1, 0])


def test_a_name_is_used_once(few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--models", "majority", "--predictions", f"majority={few}")
    assert assess(few, tmp_path / "run", *options) == 1
    assert "majority is a model and the name of predictions, too." in capsys.readouterr().err
