"""Low-rank adapters (LoRA) instead of training all weights, through peft.

A linear layer with weight W of shape (out, in) gets two small trained matrices, B (out, r) and A (r, in):

    h = W x + (alpha / r) · B A x          (Hu et al., 2021, section 4.1, equation 3)

W is frozen, A starts random and B at zero, so that training starts at the base model. After training B A is added to
W, and the saved model is an ordinary one.
"""

from __future__ import annotations

from typing import Any

from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from torch import nn
from transformers.pytorch_utils import Conv1D


def add_adapters(backbone: Any, *, rank: int, alpha: int, dropout: float = 0.0) -> None:
    """Put adapters on every linear layer but the output layer and freeze everything else, in place.

    rank: r above. alpha: the scale, as a multiple of 1 / rank. dropout: of the adapters' input, 0 to 1. The class,
    attributes and forward of the backbone stay the same. A is drawn from torch's global generator.
    """
    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules="all-linear",
        # GPT-2 stores its weights as (in, out).
        fan_in_fan_out=any(isinstance(layer, Conv1D) for layer in backbone.modules()),
    )
    inject_adapter_in_model(config, backbone)


def merge_adapters(backbone: nn.Module) -> None:
    """Add every adapter to the weight it adapts, and remove it, in place. Raises ValueError for NaN weights."""
    adapted = [(name, layer) for name, layer in backbone.named_modules() if isinstance(layer, LoraLayer)]
    for name, layer in adapted:
        layer.merge(safe_merge=True)
        parent, _, own_name = name.rpartition(".")
        setattr(backbone.get_submodule(parent), own_name, layer.get_base_layer())
