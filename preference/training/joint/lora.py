"""Low-rank adapters in place of all the weights (Hu et al., 2021), through peft.

They are put into the layers of the backbone itself: its class, its attributes and its forward stay what they are.
"""

from __future__ import annotations

from typing import Any

from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from torch import nn
from transformers.pytorch_utils import Conv1D

from preference.training.joint.recipe import JointRecipe


def add_adapters(backbone: Any, recipe: JointRecipe) -> None:
    """On every linear layer but the output's; everything else is frozen. Initialised from torch's generator."""
    config = LoraConfig(
        r=recipe.lora_rank,
        lora_alpha=recipe.lora_alpha,
        lora_dropout=recipe.lora_dropout,
        target_modules="all-linear",
        fan_in_fan_out=any(isinstance(layer, Conv1D) for layer in backbone.modules()),  # GPT-2's way
    )
    inject_adapter_in_model(config, backbone)


def merge_adapters(backbone: nn.Module) -> None:
    """Add the adapters to the weights that they adapt, and take them out."""
    adapted = [(name, layer) for name, layer in backbone.named_modules() if isinstance(layer, LoraLayer)]
    for name, layer in adapted:
        layer.merge(safe_merge=True)
        parent, _, own = name.rpartition(".")
        setattr(backbone.get_submodule(parent), own, layer.get_base_layer())
