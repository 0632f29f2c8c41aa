"""What a training is planned to take, and what is said of a machine that has less."""

from __future__ import annotations

import dataclasses
import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from preference.training.common.errors import TrainingError
from preference.training.common.recipes import with_settings
from preference.training.joint.memory import assessment
from preference.training.joint.memory.assessment import OWN, assess, read_config
from preference.training.joint.memory.command import DOES_NOT_FIT, main
from preference.training.joint.memory.machine import GPU, Machine, visible_gpus
from preference.training.joint.memory.plan import MemoryPlan, plan_memory
from preference.training.joint.memory.sizes import sizes_of
from preference.training.joint.recipe import diamante, with_lora

GB = 10**9
QWEN_7B = {
    "model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4,
    "num_hidden_layers": 28, "intermediate_size": 18944, "vocab_size": 152064, "tie_word_embeddings": False,
}  # fmt: skip


def planned(*settings: str, processes: int = 1, lora: bool = True, device: str = "cuda") -> MemoryPlan:
    recipe = with_settings(with_lora(diamante()) if lora else diamante(), settings)
    return plan_memory(sizes_of(QWEN_7B), recipe, device=device, bf16=device == "cuda", processes=processes)


def test_a_model_of_7_billion_weights_with_adapters_in_bf16_takes_about_24_gigabytes() -> None:
    plan = planned("frozen_weights=bf16", "recompute=true", "token_budget=8192")
    assert plan.total_weights == pytest.approx(7.6e9, rel=0.01)  # as its card says
    assert plan.trained_weights == pytest.approx(40.4e6, rel=0.01)
    assert plan.weights == pytest.approx(2 * 7.6e9 + 4 * 40.4e6, rel=0.01)
    assert (plan.gradients, plan.moments) == (4 * plan.trained_weights, 8 * plan.trained_weights)
    assert plan.logits == 1024 * 152064 * 16
    assert 22 * GB < plan.peak < 27 * GB
    assert plan.main_memory == 2 * plan.total_weights


def test_what_saves_memory_saves_it() -> None:
    whole = planned("token_budget=8192")
    assert planned("token_budget=8192", "recompute=true").activations < whole.activations / 5
    assert planned("token_budget=8192", "frozen_weights=bf16").weights < 0.55 * whole.weights
    assert planned("token_budget=8192", "frozen_weights=4bit").weights < 0.25 * whole.weights
    assert planned("token_budget=4096").activations < 0.6 * whole.activations
    assert planned("token_budget=8192", "loss_chunk=128").logits == whole.logits / 8


def test_all_weights_take_16_bytes_each_and_what_processes_share_is_divided() -> None:
    alone = planned("precision=fp32", lora=False)
    kept = alone.weights + alone.gradients + alone.moments
    assert kept == pytest.approx((16 + 2) * alone.total_weights, rel=0.1)  # with a copy in bf16
    copied = planned(lora=False, processes=8)
    assert (copied.gradients, copied.moments) == (2 * alone.gradients, alone.moments)
    spread = planned("sharding=fsdp", lora=False, processes=8)
    assert (spread.gradients, spread.moments) == (alone.gradients // 8, alone.moments // 8)
    assert spread.weights < alone.weights / 2


def test_adams_step_is_the_peak_if_micro_batches_are_small() -> None:
    plan = planned("token_budget=64", "recompute=true", lora=False)
    assert plan.peak == plan.weights + plan.gradients + plan.moments + plan.moments // 2


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "qwen"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(QWEN_7B))
    return folder


@pytest.fixture
def has(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """has(gpus=[80], memory=256): what the machine has, in GB."""

    def has(*, gpus: list[int], memory: int) -> None:
        found = Machine(memory * GB, tuple(GPU("H100", size * GB) for size in gpus))
        monkeypatch.setattr(assessment, "this_machine", lambda: found)

    return has


ROUNDED = with_settings(with_lora(diamante()), ["frozen_weights=bf16", "recompute=true", "token_budget=8192"])


def test_every_gpu_has_a_process_and_the_smallest_decides(model: Path, has: Callable[..., None]) -> None:
    has(gpus=[80, 24], memory=256)
    found = assess(str(model), ROUNDED)
    assert (found.plan.device, found.plan.processes, found.plan.bf16) == ("cuda", 2, True)
    assert (found.available, found.fits) == (24 * GB, False)
    assert found.needed == found.plan.peak + OWN
    one = assess(str(model), ROUNDED, processes=1)
    assert (one.available, one.fits) == (80 * GB, True)
    assert assess(str(model), ROUNDED, processes=3).available == 0


def test_main_memory_has_to_hold_what_all_processes_load(model: Path, has: Callable[..., None]) -> None:
    has(gpus=[80] * 4, memory=32)
    found = assess(str(model), ROUNDED)
    assert found.needed < found.available
    assert not found.loads
    assert not found.fits


def test_without_a_gpu_the_processes_divide_main_memory(model: Path, has: Callable[..., None]) -> None:
    has(gpus=[], memory=64)
    found = assess(str(model), dataclasses.replace(ROUNDED, frozen_weights="fp32"), processes=2)
    assert (found.plan.device, found.plan.bf16, found.available) == ("cpu", False, 32 * GB)
    assert found.plan.main_memory == 2 * found.plan.peak


@pytest.mark.parametrize("source", ["/no/such/folder", "nobody/no-such-model", "not a name"])
def test_a_model_that_is_not_here_is_not_looked_up_elsewhere(source: str) -> None:
    with pytest.raises(TrainingError, match="cannot be read here") as refused:
        read_config(source, may_download=False)
    assert refused.value.remedy


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """nvidia_smi("echo …") puts a program of that name and body into PATH."""
    visible_gpus.cache_clear()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def write(body: str) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    yield write
    visible_gpus.cache_clear()


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["H100, PCIe", "T4"]),
        ("1", ["T4"]),
        ("", []),
        ("GPU-8f1", ["H100, PCIe"]),
        ("1,7", ["T4"]),
        ("-1", []),
        ("7,1", []),
    ],
)
def test_visible_gpus_are_counted(
    nvidia_smi: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, visible: str | None, names: list[str]
) -> None:
    nvidia_smi("echo 'H100, PCIe, 81559'; echo 'T4, 15360'; echo 'GB10, [N/A]'")
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [gpu.name for gpu in visible_gpus()] == names
    assert all(gpu.memory in (81559 << 20, 15360 << 20) for gpu in visible_gpus())


def test_a_driver_that_fails_counts_as_no_gpu(nvidia_smi: Callable[[str], None]) -> None:
    nvidia_smi("echo 'NVIDIA-SMI has failed'; exit 9")
    assert visible_gpus() == ()


def test_the_command_says_what_takes_the_memory_and_whether_it_fits(
    model: Path, has: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    has(gpus=[40], memory=64)
    arguments = [
        "--model",
        str(model),
        "--lora",
        "--set",
        "frozen_weights=bf16",
        "--set",
        "token_budget=8192",
    ]
    assert main([*arguments, "--set", "recompute=true"]) == 0
    said = capsys.readouterr().out
    assert "7,615.5 M weights, 40.4 M trained, in bf16 on 1 × cuda, 8192 tokens at once" in said
    assert said.splitlines()[-1] == "It fits."
    assert main([*arguments, "--json"]) == DOES_NOT_FIT
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["fits"] is False
    assert found["peak"] > found["available"] == 40 * GB
    assert found["gpus"] == [{"name": "H100", "memory": 40 * GB}]


def test_the_command_names_a_wrong_setting(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", str(model), "--set", "frozen_weights=bf16"]) == 1
    assert "all weights are trained" in capsys.readouterr().err
