"""Adapters beside weights in half precision or 4 bits: what is learned is added to the base model's own weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from preference.training.common import frozen_weights, sharding
from preference.training.common.errors import TrainingError
from preference.training.common.frozen_weights import check_frozen_weights
from preference.training.common.sharding import sharding_environment
from tests.preference.training.conftest import Trains, progress_of, state_of, weights_of

RANK = 4
ROUNDED = ("frozen_weights=bf16", "precision=bf16", f"lora_rank={RANK}")


def test_adapters_that_learned_beside_rounded_weights_are_added_to_the_exact_ones(
    trains: Trains, tiny_model: Path, tmp_path: Path
) -> None:
    output = tmp_path / "run"
    assert (
        trains(output, "--checkpoint-steps", "2", settings=(*ROUNDED, "loss_chunk=8", "recompute=true")) == 0
    )
    losses = [line["loss"] for line in progress_of(output)]
    assert losses[-1] < losses[0]
    base, trained = load_file(tiny_model / "model.safetensors"), weights_of(output)
    moved = {name: trained[name] - weight for name, weight in base.items()}
    assert all(weight.dtype == torch.float32 for weight in trained.values())
    adapted = {name for name in base if name.endswith("_proj.weight")}
    for name, difference in moved.items():
        if name in adapted:
            singular = torch.linalg.svdvals(difference)
            assert singular[0] > 1e-4
            assert singular[RANK] < 1e-5 * max(1.0, float(singular[0]))  # no trace of rounding
        else:
            assert not difference.any(), name


def test_half_precision_has_to_be_asked_for_on_a_cpu(
    trains: Trains, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert trains(tmp_path / "run", settings=("lora_rank=4", "frozen_weights=bf16")) == 1
    assert "this device computes in fp32" in capfd.readouterr().err
    assert state_of(tmp_path / "run")["remedy"].startswith("Set precision=bf16")


def test_4_bits_need_a_gpu_and_bitsandbytes(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TrainingError, match="4bit, which needs a GPU"):
        check_frozen_weights("4bit", device="cpu", bf16=True)
    monkeypatch.setattr(frozen_weights, "find_spec", lambda _name: None)
    with pytest.raises(TrainingError, match="bitsandbytes is not installed") as refused:
        check_frozen_weights("4bit", device="cuda", bf16=True)
    assert refused.value.remedy == "Install it (pip install bitsandbytes), or set frozen_weights=bf16."
    check_frozen_weights("bf16", device="cuda", bf16=True)


def test_weights_are_spread_over_several_gpus_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert sharding_environment("fsdp", "cpu") == {}
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert sharding_environment("auto", "cpu") == {}
    assert sharding_environment("fsdp", "cuda")["ACCELERATE_USE_FSDP"] == "true"
    with pytest.raises(TrainingError, match="spreads weights over GPUs"):
        sharding_environment("fsdp", "cpu")
    monkeypatch.setattr(sharding, "find_spec", lambda _name: None)
    with pytest.raises(TrainingError, match="deepspeed is not installed"):
        sharding_environment("deepspeed", "cuda")
