"""Two processes of torchrun, which average their gradients over gloo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.preference.training.conftest import (
    Trains,
    command,
    dialogue,
    progress_of,
    state_of,
    weights_of,
    write_dialogues,
)


@pytest.mark.slow
def test_two_processes_give_the_loss_curve_of_one(
    trains: Trains, dialogues: Path, tiny_model: Path, tmp_path: Path
) -> None:
    # 27 quadruples an epoch: the last step has one only, so that one process has nothing to learn from.
    data = write_dialogues(tmp_path / "data.jsonl", [dialogue(n, turns=4 + n % 3) for n in range(7)])
    one, two = tmp_path / "one", tmp_path / "two"
    settings = ("batch=13",)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    words = [*launch, "-m", "preference.training.joint", *command(data, tiny_model, two, settings=settings)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr

    assert trains(one, data=data, settings=settings) == 0
    for name in ("loss", "nll", "ranking"):
        expected = [line[name] for line in progress_of(one)]
        assert [line[name] for line in progress_of(two)] == pytest.approx(expected, abs=1e-5)
    assert state_of(two)["state"] == "done"
    mine, theirs = weights_of(one), weights_of(two)
    assert max(float((mine[name] - theirs[name]).abs().max()) for name in mine) < 1e-4


@pytest.mark.slow
def test_every_process_has_the_weights_whole_whatever_the_launcher_asks_for(
    trains: Trains, dialogues: Path, tiny_model: Path, tmp_path: Path
) -> None:
    """`accelerate config` for FSDP lets one process load them; the others could not find out what the model can do."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    words = [*launch, "-m", "preference.training.joint", *command(dialogues, tiny_model, tmp_path)]
    asked = {
        "OMP_NUM_THREADS": "1",
        "ACCELERATE_USE_FSDP": "true",
        "FSDP_CPU_RAM_EFFICIENT_LOADING": "true",
        "ACCELERATE_MIXED_PRECISION": "bf16",
    }
    done = subprocess.run(
        words, env=os.environ | asked, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    about = json.loads((tmp_path / "model" / "training.json").read_text())
    assert (about["layout"]["name"], about["precision"]) == ("trees", "fp32")
