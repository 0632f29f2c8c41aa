"""One finished run of every model on synthetic dialogues, and runs of the command in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.preference.training.assessor.synthetic import dialogue_rows, save_pretrained_model, write_rows
from tests.preference.training.conftest import handlers_kept
from tests.preference.training.evaluators.conftest import judge_server
from tests.sizes import ASSESSED_DIALOGUES

SMALL = (
    "hidden=64", "layers=2", "heads=4", "vocabulary=420", "max_length=48", "batch=16", "epochs=7",
    "scratch_rate=0.002", "rate=0.001", "curve_seeds=2", "dropout=0.0",
)  # fmt: skip
__all__ = ["judge_server"]  # a fixture that the evaluators' tests have, too


def arguments(data: Path, output: Path, *more: str, settings: tuple[str, ...] = ()) -> list[str]:
    chosen = [part for setting in (*SMALL, *settings) for part in ("--set", setting)]
    return [
        "--data", str(data), "--output", str(output), "--device", "cpu", "--threads", "1", "--quiet", *chosen, *more
    ]  # fmt: skip


def assess(data: Path, output: Path, *more: str, settings: tuple[str, ...] = ()) -> int:
    from preference.training.assessor.command import main

    with handlers_kept():
        return main(arguments(data, output, *more, settings=settings))


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_pretrained_model(tmp_path_factory.mktemp("encoder"), "bert")


@pytest.fixture(scope="session")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_pretrained_model(tmp_path_factory.mktemp("decoder"), "llama")


@pytest.fixture(scope="session")
def full_run(tmp_path_factory: pytest.TempPathFactory, encoder: Path, decoder: Path) -> Path:
    """The output folder of a run of every kind of model."""
    folder = tmp_path_factory.mktemp("assessor")
    data = write_rows(folder / "data.jsonl", dialogue_rows(ASSESSED_DIALOGUES))
    models = ["majority", "naive_bayes", "logistic_regression", "gradient_boosting", "gru", "transformer"]
    settings = ("test_share=0.3", "valid_share=0.1")
    status = assess(data, folder / "run", "--models", *models, str(encoder), str(decoder), settings=settings)
    assert status == 0
    return folder / "run"


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """90 dialogues: 30 of each label and domain."""
    return write_rows(tmp_path / "few.jsonl", dialogue_rows(90))


def json_of(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def predictions_of(output: Path) -> Iterator[dict[str, Any]]:
    for line in (output / "predictions.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
