"""Two processes of torchrun, which average their gradients over gloo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from preference.training.common.checkpoints import newest
from tests.preference.training.conftest import (
    Trains,
    command,
    dialogue,
    held_out,
    progress_of,
    save_tiny,
    state_of,
    weights_of,
    write_dialogues,
)
from tests.processes import PATIENCE


@pytest.mark.slow
def test_two_processes_give_the_loss_curve_of_one_whatever_precision_the_launcher_has(
    trains: Trains, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 27 quadruples per epoch: the last step has only one, so that one process has nothing to learn from. Of the three
    # held-out dialogues one process takes two, so that the other has nothing to measure meanwhile.
    learned = [dialogue(n, turns=4 + n % 3) for n in range(7)]
    data = write_dialogues(tmp_path / "data.jsonl", [*learned, *map(held_out, range(20, 23))])
    one, two = tmp_path / "one", tmp_path / "two"
    settings = ("batch=13", "validate_every=2")
    assert trains(one, data=data, settings=settings) == 0
    # The launcher's precision must not count: the recipe says fp32.
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    torchrun("preference.training.joint", *command(data, tiny_model, two, settings=settings))
    for name in ("loss", "nll", "ranking"):
        expected = [line[name] for line in progress_of(one)]
        assert [line[name] for line in progress_of(two)] == pytest.approx(expected, abs=1e-5)
    assert state_of(two)["state"] == "done"
    assert validated(two) == [pytest.approx(figures, abs=1e-5) for figures in validated(one)]
    assert len(validated(two)) == 3
    assert (
        about(two)["validation"]["best_step"] == about(one)["validation"]["best_step"] == about(two)["step"]
    )
    mine, theirs = weights_of(one), weights_of(two)
    assert max(float((mine[name] - theirs[name]).abs().max()) for name in mine) < 1e-4


@pytest.mark.slow
def test_weights_spread_by_fsdp_learn_what_whole_ones_do(trains: Trains, tmp_path: Path) -> None:
    """Also if the launcher asks for loading in one process only, where the others could not try out the model."""
    rows = [*map(dialogue, range(8)), *map(held_out, range(20, 23))]
    dialogues = write_dialogues(tmp_path / "data.jsonl", rows)
    model = save_tiny(tmp_path / "model", "qwen3")  # with tied embeddings
    whole, spread = tmp_path / "whole", tmp_path / "spread"
    settings = ("validate_every=2", "peak_lr=0.1")
    arguments = command(dialogues, model, spread, "--checkpoint-steps", "2", settings=settings)
    torchrun("tests.preference.training.sharded", *arguments)
    assert (newest(spread / "checkpoints") or spread).joinpath("pytorch_model_fsdp_0").is_dir()

    assert trains(whole, data=dialogues, model=model, settings=settings) == 0
    losses = [[line["loss"] for line in progress_of(output)] for output in (whole, spread)]
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)
    assert validated(spread) == [pytest.approx(figures, abs=1e-4) for figures in validated(whole)]
    assert about(spread)["step"] == about(whole)["step"] == about(whole)["validation"]["best_step"]
    mine, theirs = weights_of(whole), weights_of(spread)
    assert max(float((mine[name] - theirs[name]).abs().max()) for name in mine) < 1e-4


def validated(output: Path) -> list[dict[str, float]]:
    return [line["valid"] for line in progress_of(output) if "valid" in line]


def about(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / "model" / "training.json").read_text())
    return found


def torchrun(module: str, *arguments: str) -> None:
    """Run a module in two processes."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [*launch, "-m", module, *arguments],
        env=environment, capture_output=True, text=True, timeout=180 * PATIENCE, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
