"""Reporting to MLflow and Weights & Biases: what they get, and what is said if one is missing. Nothing goes online."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerCallback
from transformers.integrations import integration_utils

from preference.training.common import trackers
from tests.preference.training.conftest import (
    Trains,
    dialogue,
    held_out,
    progress_of,
    state_of,
    write_dialogues,
)

SETTINGS = ("validate_every=3",)


@pytest.fixture(scope="session")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    learned = [dialogue(n) for n in range(8)]
    path = tmp_path_factory.mktemp("split") / "dialogues.jsonl"
    return write_dialogues(path, [*learned, held_out(20), held_out(21)])


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_missing_package_is_named_with_its_command_before_anything_is_read(
    trains: Trains,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
) -> None:
    monkeypatch.setattr(trackers, "find_spec", lambda module: None if module == name else object())
    assert trains(tmp_path / "run", "--report-to", "tensorboard", name) == 1
    assert capfd.readouterr().err == (
        f"The run is to be reported to {name}, but the package {name} is not installed.\n"
        f"Install it (pip install {name}), or leave out --report-to {name}.\n"
    )
    assert not (tmp_path / "run").exists()


def test_an_unknown_tracker_is_refused(
    trains: Trains, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        trains(tmp_path, "--report-to", "excel")
    assert "mlflow" in capfd.readouterr().err


def test_tensorboard_is_written_in_any_case(trains: Trains, tmp_path: Path) -> None:
    assert trains(tmp_path, "--report-to", "tensorboard", settings=("epochs=1",)) == 0
    assert len(list((tmp_path / "tensorboard").glob("events.*"))) == 1


class Recorder(TrainerCallback):
    """An integration that keeps what it gets."""

    parameters: dict[str, Any] = {}
    logs: list[tuple[int, dict[str, float]]] = []
    fails_at = 0

    def on_train_begin(self, args: Any, *_: Any, **__: Any) -> None:
        Recorder.parameters = args.to_dict()
        Recorder.logs = []

    def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if state.global_step == Recorder.fails_at:
            raise ConnectionError("the server is away")
        Recorder.logs.append((state.global_step, dict(more["logs"])))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> type[Recorder]:
    monkeypatch.setitem(integration_utils.INTEGRATION_TO_CALLBACK, "mlflow", Recorder)
    monkeypatch.setattr(trackers, "find_spec", lambda _module: object())
    return Recorder


def test_an_integration_gets_the_recipe_every_step_and_every_validation(
    trains: Trains, tmp_path: Path, split: Path, recorder: type[Recorder]
) -> None:
    assert trains(tmp_path, "--report-to", "mlflow", data=split, settings=SETTINGS) == 0
    assert (recorder.parameters["peak_lr"], recorder.parameters["batch"]) == (0.01, 8)
    assert len(recorder.parameters["data_sha256"]) == 64
    assert "learning_rate" not in recorder.parameters, "the Trainer's own would be wrong"
    steps = dict(recorder.logs[:6])
    for line in progress_of(tmp_path):
        logs = steps[line["step"]]
        assert (logs["loss"], logs["learning_rate"]) == (line["loss"], line["lr"])
        held_out = {name.removeprefix("eval_"): value for name, value in logs.items() if "eval_" in name}
        assert held_out == line.get("valid", {})
    assert "eval_p_at_1" in steps[3]


def test_a_tracker_that_fails_does_not_end_the_run(
    trains: Trains,
    tmp_path: Path,
    split: Path,
    recorder: type[Recorder],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(recorder, "fails_at", 2)
    assert trains(tmp_path, "--report-to", "mlflow", data=split) == 0
    assert "Step 2 could not be reported to mlflow: the server is away." in capfd.readouterr().err
    assert state_of(tmp_path)["state"] == "done"
    assert [step for step, _logs in recorder.logs[:5]] == [1, 3, 4, 5, 6]


def test_mlflow_stores_the_run(
    trains: Trains, tmp_path: Path, split: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path}/mlruns")
    assert trains(tmp_path / "run", "--report-to", "mlflow", data=split, settings=SETTINGS) == 0
    (stored,) = mlflow.search_runs(output_format="list")
    assert (stored.info.status, stored.info.run_name) == ("FINISHED", "run")
    assert stored.data.params["peak_lr"] == "0.01"
    assert stored.data.metrics["eval_loss"] == progress_of(tmp_path / "run")[-1]["valid"]["loss"]


def test_wandb_stores_the_run_offline(
    trains: Trains, tmp_path: Path, split: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    assert trains(tmp_path / "run", "--report-to", "wandb", data=split, settings=SETTINGS) == 0
    assert wandb.run is None, "it is finished"
    (stored,) = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    assert json.dumps("eval/loss").encode()[1:-1] in stored.read_bytes()
