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
from preference.training.common.progress import read_lines
from tests.preference.training.conftest import Trains, command, progress_of, weights_of
from tests.preference.training.paused import PAUSE_AT

SETTINGS = ("epochs=4", "head_lr=0.02")  # 12 steps
STEPS = 12
# One thread, as in the process that is killed: sums over several round otherwise.
EVERY = ("--checkpoint-steps", "3", "--threads", "1")


@pytest.mark.faults
def test_a_run_killed_at_a_random_step_and_resumed_ends_at_the_same_weights(
    trains: Trains, dialogues: Path, tiny_model: Path, tmp_path: Path
) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    kill_after_step(Random().randrange(4, STEPS), dialogues, tiny_model, killed)
    assert newest(killed / "checkpoints") is not None
    # What a kill in the middle of writing leaves behind.
    (killed / "checkpoints" / ".partial-checkpoint-99").mkdir()

    assert trains(killed, "--resume", *EVERY, settings=SETTINGS) == 0
    assert trains(whole, *EVERY, settings=SETTINGS) == 0

    assert all(torch.equal(weight, weights_of(killed)[name]) for name, weight in weights_of(whole).items())
    assert [line["step"] for line in progress_of(killed)] == list(range(1, STEPS + 1))
    assert [line["loss"] for line in progress_of(killed)] == [line["loss"] for line in progress_of(whole)]
    assert {path.name for path in (killed / "checkpoints").iterdir()} == {"checkpoint-6", "checkpoint-9"}


def kill_after_step(step: int, data: Path, model: Path, output: Path) -> None:
    """Run the command in a process that pauses after `step`, and kill it there."""
    words = command(data, model, output, *EVERY, settings=SETTINGS)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", PAUSE_AT: str(step)}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.preference.training.paused", *words], env=environment
    )
    deadline = time.monotonic() + 300
    try:
        while len(read_lines(output / "progress.jsonl")) < step:
            assert process.poll() is None, "the run ended before the step"
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
