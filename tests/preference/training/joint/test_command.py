"""What the training command refuses, and with which words."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from preference.training.common.stopping import StopRequest
from preference.training.joint.command import main, parser
from preference.training.joint.trainer import JointTrainer
from tests.preference.training.conftest import (
    Trains,
    dialogue,
    handlers_kept,
    save_tiny,
    state_of,
    write_dialogues,
)


def test_help_names_every_setting_with_the_value_of_each_recipe() -> None:
    text = parser().format_help()
    assert "  batch                    168          32" in text
    assert "torchrun" in text
    assert "linear warm-up" in text


def test_the_paper_is_the_default() -> None:
    options = parser().parse_args(["--data", "d", "--model", "m", "--output", "o"])
    assert (options.recipe, options.resume, options.keep, options.device) == ("diamante", False, 2, "auto")


def test_no_checkpoint_at_all_cannot_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--data", "d", "--model", "m", "--output", "o", "--keep", "0"])
    assert "'0' must be a whole number of at least 1" in capsys.readouterr().err


def test_a_wrong_setting_touches_no_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    named = ["--data", "d", "--model", "m", "--output", str(tmp_path / "run")]
    assert main([*named, "--set", "batch=0"]) == 1
    assert capfd.readouterr().err == "batch is 0, and must be at least 1.\nCorrect it: --set batch=…\n"
    assert not (tmp_path / "run").exists()


def test_an_unknown_model_is_reported_in_the_state_too(
    trains: Trains, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert trains(tmp_path / "run", model=tmp_path / "nowhere") == 1
    told = state_of(tmp_path / "run")
    assert (told["state"], told["step"]) == ("failed", 0)
    assert told["message"] == f"The model folder {tmp_path / 'nowhere'} does not exist."
    assert told["remedy"]
    assert told["message"] in capfd.readouterr().err


def test_a_failed_start_leaves_the_folder_free_for_the_next(trains: Trains, tmp_path: Path) -> None:
    assert trains(tmp_path / "run", model=tmp_path / "nowhere") == 1
    assert trains(tmp_path / "run") == 0


def test_a_tokenizer_without_an_end_of_utterance_is_refused(trains: Trains, tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "model", "llama", ends=False)
    assert trains(tmp_path / "run", model=model) == 1
    assert "no eos_token" in state_of(tmp_path / "run")["message"]


def test_data_that_ranks_nothing_are_refused(trains: Trains, tmp_path: Path) -> None:
    data = write_dialogues(tmp_path / "plain.jsonl", [dialogue(n, candidates=0) for n in range(3)])
    assert trains(tmp_path / "run", data=data) == 1
    assert "nothing to rank" in state_of(tmp_path / "run")["message"]


def test_a_gpu_that_is_not_there_is_refused(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert trains(tmp_path, "--device", "cuda") == 1
    assert state_of(tmp_path)["message"] == "A GPU is requested, but PyTorch sees none."


def test_a_folder_with_other_files_is_refused_and_left_alone(
    trains: Trains, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    assert trains(tmp_path) == 1
    assert f"{tmp_path} holds other files (thesis.tex)." in capfd.readouterr().err
    assert not (tmp_path / "state.json").exists()


def test_a_folder_that_another_process_trains_in_is_refused(
    trains: Trains, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert trains(tmp_path, "--resume") == 1
    assert "Another process is training" in capfd.readouterr().err


def test_a_finished_run_is_not_trained_over(
    trains: Trains, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert trains(tmp_path, settings=("epochs=1",)) == 0
    assert trains(tmp_path) == 1
    assert "holds another run" in capfd.readouterr().err
    assert state_of(tmp_path)["state"] == "done"
    assert trains(tmp_path, "--resume") == 0


def test_resuming_with_other_data_or_another_recipe_is_refused(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(
            "preference.training.joint.joint_model.JointModel.save_pretrained", lambda *_, **__: 1 / 0
        )
        assert trains(run, "--checkpoint-steps", "2", settings=("epochs=1",)) == 1
    capfd.readouterr()

    other = write_dialogues(tmp_path / "other.jsonl", [dialogue(n) for n in range(3)])
    assert trains(run, "--resume", data=other, settings=("epochs=1", "batch=4")) == 1
    said = capfd.readouterr().err
    assert "checkpoint-2 is of another run: batch: 8 → 4; data (SHA-256): " in said
    assert "Resume with the same data, model and recipe" in said
    assert json.loads((run / "training.json").read_text())["recipe"]["batch"] == 8


def test_a_run_stops_with_a_checkpoint_when_its_parent_has_ended(trains: Trains, tmp_path: Path) -> None:
    gone = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(gone, 0)
    assert trains(tmp_path, "--parent", str(gone)) == 128 + signal.SIGTERM
    told = state_of(tmp_path)
    assert told["state"] == "stopped"
    assert f"process {gone}, which started it, has ended" in told["message"]


ONE_RUN_AND_MORE = """
import os, signal, sys, time
from preference.training.common import stopping
from preference.training.joint.command import main

stopping.PARENT_POLL = stopping.LAST_WAIT = 0.05
pid, folder = int(sys.argv[1]), sys.argv[2]
status = main(["--data", "missing", "--model", "missing", "--output", folder, "--parent", str(pid)])
os.kill(pid, signal.SIGKILL)
time.sleep(1)
print(status, "and on")
"""


def test_a_process_is_not_ended_after_its_run(tmp_path: Path) -> None:
    """Whoever runs a training within a process of their own keeps it, although the run's parent ends."""
    with subprocess.Popen(["sleep", "600"]) as parent:
        ended = subprocess.run(
            [sys.executable, "-c", ONE_RUN_AND_MORE, str(parent.pid), str(tmp_path)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert ended.stdout == "1 and on\n", ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_writes_a_checkpoint_and_ends_with_its_number(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    made = JointTrainer.report_step

    def interrupted(self: JointTrainer) -> None:
        made(self)
        if self.state.global_step == 2:
            signal.raise_signal(number)

    monkeypatch.setattr(JointTrainer, "report_step", interrupted)
    assert trains(tmp_path) == 128 + number
    assert state_of(tmp_path) == {
        "state": "stopped", "step": 2, "steps": 6, "message": f"Stopped by {number.name}.", "remedy": "",
    }  # fmt: skip
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["checkpoint-2"]


def test_a_second_ctrl_c_does_not_wait_for_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = StopRequest()
    stop.steps_run = True
    monkeypatch.setattr("preference.training.common.stopping.ECHO", 0.0)
    with handlers_kept():
        stop.listen()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
