"""A run that is killed, in a process of its own, and continued."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
import torch

from preference.training.common.checkpoints import newest
from tests.preference.training.conftest import Trains, command, progress_of, weights_of

LONG = ("epochs=12", "head_lr=0.02")  # 36 steps
EVERY = ("--checkpoint-steps", "3")


def start(data: Path, model: Path, output: Path) -> subprocess.Popen[bytes]:
    words = command(data, model, output, *EVERY, settings=LONG)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-m", "preference.training.joint", *words], env=environment)


def wait_for_step(process: subprocess.Popen[bytes], output: Path, step: int) -> None:
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if (output / "progress.jsonl").is_file() and len(progress_of_now(output)) >= step:
            return
        time.sleep(0.01)
    pytest.fail("The run ended, or did not get there in time.")


def progress_of_now(output: Path) -> list[str]:
    return (output / "progress.jsonl").read_text().splitlines()


@pytest.mark.faults
def test_a_run_killed_at_a_random_step_and_resumed_ends_at_the_same_weights(
    trains: Trains, dialogues: Path, tiny_model: Path, tmp_path: Path
) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = start(dialogues, tiny_model, killed)
    wait_for_step(process, killed, Random().randrange(4, 18))  # well before the last one
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    last = newest(killed / "checkpoints")
    assert last is not None
    # What a kill in the middle of writing leaves behind.
    (killed / "checkpoints" / ".partial-checkpoint-99").mkdir()

    assert trains(killed, "--resume", *EVERY, settings=LONG) == 0
    assert trains(whole, *EVERY, settings=LONG) == 0

    assert all(torch.equal(weight, weights_of(killed)[name]) for name, weight in weights_of(whole).items())
    assert [line["step"] for line in progress_of(killed)] == list(range(1, 37))
    assert [line["loss"] for line in progress_of(killed)] == [line["loss"] for line in progress_of(whole)]
    assert [path.name for path in sorted((killed / "checkpoints").iterdir())] == [
        "checkpoint-30",
        "checkpoint-33",
    ]
