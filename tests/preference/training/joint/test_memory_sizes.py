"""What a config.json says of the sizes of a model, beside what transformers builds from it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from peft import LoraConfig, inject_adapter_in_model
from transformers import AutoConfig, AutoModelForCausalLM

from preference.training.common.errors import TrainingError
from preference.training.joint.memory.sizes import sizes_of

COMMON = {
    "vocab_size": 3000, "hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 6,
    "num_key_value_heads": 2, "intermediate_size": 256, "head_dim": 32,
}  # fmt: skip
SHAPES: dict[str, dict[str, Any]] = {
    "llama": COMMON,
    "mistral": COMMON,
    "qwen2": COMMON,
    "qwen3": COMMON | {"tie_word_embeddings": True},
    "gemma": COMMON,
    "gemma3_text": COMMON,
    "granite": COMMON,
    "gpt2": {"vocab_size": 3000, "n_embd": 96, "n_layer": 3, "n_head": 6, "n_positions": 64},
}


@pytest.mark.parametrize("kind", SHAPES)
def test_weights_and_adapters_are_those_of_the_model(kind: str) -> None:
    changed = dict(SHAPES[kind])
    if kind == "qwen2":
        del changed["head_dim"]
    config = AutoConfig.for_model(kind, **changed)
    build: Any = AutoModelForCausalLM.from_config
    with torch.device("meta"):
        model = build(config)
    sizes = sizes_of(config.to_dict())
    assert sizes.weights == pytest.approx(sum(weight.numel() for weight in model.parameters()), rel=0.003)
    with torch.device("meta"):
        inject_adapter_in_model(
            LoraConfig(r=4, target_modules="all-linear", fan_in_fan_out=kind == "gpt2"), model
        )
    adapters = sum(weight.numel() for name, weight in model.named_parameters() if "lora_" in name)
    output_layer = 4 * (
        96 + 3000
    )  # peft knows the classes of transformers only; training leaves this layer out
    assert sizes.adapter_weights(4) in (adapters, adapters - output_layer)


def test_an_unknown_architecture_is_named() -> None:
    with pytest.raises(TrainingError, match="architecture mamba cannot be planned") as refused:
        sizes_of({"model_type": "mamba"})
    assert "token_budget" in refused.value.remedy


@pytest.mark.parametrize("heads", [None, 0, -1, "four", 2.5, True, [4]])
def test_a_missing_or_impossible_size_is_named(heads: object) -> None:
    config = {"model_type": "llama", "hidden_size": 8, "num_attention_heads": heads, "text_config": "none"}
    with pytest.raises(TrainingError, match="does not say num_attention_heads"):
        sizes_of(config)
