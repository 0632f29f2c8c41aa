"""The commands, in a process of their own and in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from preference.training.paireval.command import main, parser
from tests.preference.training.conftest import save_tiny


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("base") / "llama", "llama")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [{"id": str(n), "history": [f"tea {n}"], "response": f"rain {n}", "human": n} for n in range(5)]
    return write(tmp_path / "corpus.jsonl", *rows)


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_file_is_scored_by_a_command(model: Path, corpus: Path, tmp_path: Path) -> None:
    assert main(["draw", "--data", str(corpus), "--output", str(tmp_path / "c.jsonl")]) == 0
    data = write(
        tmp_path / "data.jsonl",
        {"id": "a", "history": ["Hi!"], "response": "Hello."},
        {"id": "b", "history": ["Hi!"], "response": ""},
    )
    output = tmp_path / "scores.jsonl"
    command = [
        sys.executable, "-m", "preference.training.paireval", "score", "--model", str(model),
        "--comparisons", str(tmp_path / "c.jsonl"), "--data", str(data), "--output", str(output),
        "--template", "inst", "--k", "2", "--device", "cpu",
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    first, second = rows_of(output)
    assert len(first["orders"]) == 2
    assert first["score"] == pytest.approx(sum(map(sum, first["orders"])) / 4)
    assert second == {"id": "b", "score": None, "reason": "The response is empty."}


def test_the_seed_decides_about_the_examples(corpus: Path, tmp_path: Path) -> None:
    for name, seed in (("one", "1"), ("again", "1"), ("two", "2")):
        output = str(tmp_path / f"{name}.jsonl")
        assert main(["draw", "--data", str(corpus), "--output", output, "--count", "4", "--seed", seed]) == 0
    one, again, two = ((tmp_path / f"{name}.jsonl").read_text() for name in ("one", "again", "two"))
    assert one == again != two
    assert all(row["human"] == int(row["id"]) for row in rows_of(tmp_path / "one.jsonl"))


def test_examples_are_not_overwritten(
    corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["draw", "--data", str(corpus), "--output", str(corpus)]) == 1
    assert "exists already" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ([], "comes without comparison examples"),
        (["--comparisons", "nowhere.jsonl"], "cannot be read"),
        (["--question", "direct", "--template", "chat"], "has no chat template"),
        (["--question", "direct", "--model", "/nowhere"], "does not exist"),
    ],
)
def test_a_missing_file_is_named(
    model: Path,
    corpus: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    more: list[str],
    cause: str,
) -> None:
    named = ["--model", str(model), "--data", str(corpus), "--output", str(tmp_path / "out.jsonl")]
    assert main(["score", *named, *more]) == 1
    said = capfd.readouterr().err
    assert cause in said
    assert not (tmp_path / "out.jsonl").exists()


def test_scoring_goes_on_where_it_stopped(model: Path, corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    words = [
        "score", "--model", str(model), "--data", str(corpus), "--output", str(output), "--question", "direct",
    ]  # fmt: skip
    assert main(words) == 0
    whole = output.read_text()
    output.write_text("\n".join(whole.splitlines()[:3]) + "\n")
    assert main([*words, "--resume"]) == 0
    assert [row["id"] for row in rows_of(output)] == ["0", "1", "2", "3", "4"]
    assert main([*words, "--resume", "--question", "pair", "--comparisons", str(corpus)]) == 1


def test_help_names_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["train", "--help"])
    text = capsys.readouterr().out
    assert "lora_rank" in text
    assert "reversed_lora" in text
