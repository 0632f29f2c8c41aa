"""Predictions of a judge in the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.preference.training.assessor.conftest import assess, json_of
from tests.preference.training.assessor.synthetic import dialogue_rows, write_rows


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


def test_a_name_is_used_once(few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--models", "majority", "--predictions", f"majority={few}")
    assert assess(few, tmp_path / "run", *options) == 1
    assert "majority is a model and the name of predictions, too." in capsys.readouterr().err
