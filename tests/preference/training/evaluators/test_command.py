"""Scoring a file from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from preference.training.evaluators import command
from preference.training.evaluators.command import main, summary


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "replies.jsonl"
    rows = [{"id": number, "history": ["Hi!"], "response": "a" * number} for number in range(5)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def score(data: Path, output: Path, *more: str, evaluator: str = "length") -> int:
    return main(["score", "--evaluator", evaluator, "--data", str(data), "--output", str(output), *more])


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_row_has_a_score_or_a_reason(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out" / "scores.jsonl"
    assert score(data, output) == 0
    assert rows(output)[0] == {"id": "0", "score": None, "reason": "The response is empty."}
    assert [row["score"] for row in rows(output)[1:]] == [1, 2, 3, 4]
    assert "4 of 5 rows have a result." in capsys.readouterr().err


def test_resuming(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "scores.jsonl"
    assert score(data, output) == 0
    whole = output.read_text()
    assert score(data, output) == 1
    output.write_text("".join(line + "\n" for line in whole.splitlines()[:2]))
    assert score(data, output, "--resume") == 0
    assert output.read_text() == whole
    assert score(data, output, "--resume", evaluator="random") == 1
    cause, remedy = capsys.readouterr().err.splitlines()[-2:]
    assert "written by another evaluator" in cause
    assert remedy


def test_knowledge_can_be_left_out(judge_server: str, tmp_path: Path) -> None:
    """This judge is slow if it reads "wait"."""
    data = tmp_path / "replies.jsonl"
    data.write_text(
        json.dumps({"id": 1, "history": ["Hi!"], "response": "one two", "knowledge": "wait"}) + "\n"
    )
    judge = f"judge={judge_server}/slow_for_some/v1,model=m,retries=0,timeout=1"
    output = tmp_path / "scores.jsonl"
    assert score(data, output, evaluator=judge) == 1
    assert score(data, output, "--resume", "--no-knowledge", evaluator=judge) == 1  # other data
    patient = judge.replace("timeout=1", "timeout=60")
    assert score(data, tmp_path / "without.jsonl", "--no-knowledge", evaluator=patient) == 0
    assert rows(tmp_path / "without.jsonl")[0]["score"] == 2


def test_what_a_judge_costs_is_summed_up() -> None:
    row = {"id": "1", "score": 3, "tokens": {"prompt": 100, "completion": 7}, "requests": 2}
    failed = {"id": "2", "score": None, "reason": "The judge answered nothing."}
    assert summary([row, row, failed]) == [
        "2 of 3 rows have a result.",
        "  1 × The judge answered nothing.",
        "The judge read 200 tokens and wrote 14 in 4 answers.",
    ]


def test_failures_end_with_a_cause_and_a_remedy(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert score(tmp_path / "absent.jsonl", tmp_path / "a") == 1
    assert score(data, tmp_path / "a", evaluator="magic") == 1
    assert "no evaluator magic" in capsys.readouterr().err

    def broken(text: str) -> None:
        raise RuntimeError("Something\nelse.")

    monkeypatch.setattr(command, "build_evaluator", broken)
    assert score(data, tmp_path / "a") == 1
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "RuntimeError: Something else.",
        "See the log above.",
    ]
