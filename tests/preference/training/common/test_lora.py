"""Adapters: what is trained, and that the result is an ordinary model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from preference.training.common.lora import add_adapters, merge_adapters
from preference.training.joint.joint_model import JointModel
from tests.preference.training.conftest import Trains, progress_of, save_tiny, weights_of

LORA = ("lora_rank=4", "peak_lr=0.01", "lora_dropout=0.1")


@pytest.mark.parametrize("shape", ["llama", "gpt2"])
def test_only_adapters_are_trainable_in_the_backbone_and_merging_keeps_what_it_computes(
    shape: str, tmp_path: Path
) -> None:
    model = JointModel.from_pretrained(save_tiny(tmp_path, shape))
    add_adapters(model.backbone, rank=2, alpha=32)
    trainable = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert {name.split(".")[0] for name in trainable} == {"backbone", "head"}
    assert all("lora_" in name for name in trainable if name.startswith("backbone"))

    with torch.no_grad():
        for name in trainable:
            model.get_parameter(name).normal_(std=0.05)
    tokens = torch.tensor([[5, 6, 7, 8]])
    before = model.backbone(input_ids=tokens).logits
    merge_adapters(model.backbone)
    assert not any("lora" in name for name, _ in model.named_parameters())
    torch.testing.assert_close(model.backbone(input_ids=tokens).logits, before, atol=1e-4, rtol=1e-4)


def test_a_run_with_adapters_saves_an_ordinary_merged_model(
    trains: Trains, tmp_path: Path, tiny_model: Path
) -> None:
    assert trains(tmp_path, "--lora", settings=LORA) == 0
    losses = [line["loss"] for line in progress_of(tmp_path)]
    assert losses[-1] < losses[0]
    loaded: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "model", output_loading_info=True)
    plain, report = loaded
    assert (report["missing_keys"], report["unexpected_keys"]) == (set(), set())
    base = AutoModelForCausalLM.from_pretrained(tiny_model).state_dict()
    changed = {name for name, weight in plain.state_dict().items() if not torch.equal(weight, base[name])}
    assert "model.layers.0.self_attn.q_proj.weight" in changed
    assert "model.embed_tokens.weight" not in changed


def test_a_run_with_adapters_goes_on_where_it_was_stopped(
    trains: Trains, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from preference.training.joint.trainer import JointTrainer

    assert trains(tmp_path / "whole", "--lora", settings=LORA) == 0
    made = JointTrainer.report_step

    def stop_after_three(self: JointTrainer) -> None:
        made(self)
        if self.state.global_step == 3:
            self.stop.ask(15, "Enough.")

    with monkeypatch.context() as patched:
        patched.setattr(JointTrainer, "report_step", stop_after_three)
        assert trains(tmp_path / "halved", "--lora", settings=LORA) == 128 + 15
    assert (tmp_path / "halved" / "checkpoints" / "checkpoint-3" / "weights.safetensors").is_file()
    assert trains(tmp_path / "halved", "--lora", "--resume", settings=LORA) == 0
    whole, halved = weights_of(tmp_path / "whole"), weights_of(tmp_path / "halved")
    assert all(torch.equal(weight, halved[name]) for name, weight in whole.items())
