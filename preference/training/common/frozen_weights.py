"""How the weights that adapters leave alone are held: in fp32, or rounded, because they only have to be read.

bf16 takes half the memory; 4bit about an eighth: NF4 in blocks of 64 with quantised scales, computed in bf16 (QLoRA,
Dettmers et al., 2023, section 3), through bitsandbytes. Embeddings and the output layer stay in bf16. Adapters and the
preference head are fp32 in any case, because Adam's steps are smaller than bf16 can tell.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

FP32, BF16, FOUR_BIT = "fp32", "bf16", "4bit"


def check_frozen_weights(frozen: str, *, device: str, bf16: bool) -> None:
    """Raise TrainingError if rounded weights cannot be computed with here. bf16: whether the run computes in it.

    device: cpu or cuda. On a CPU a multiplication of bitsandbytes 0.50 has no gradient, which it does not say.
    """
    if frozen == FP32:
        return
    if frozen == FOUR_BIT and device == "cpu":
        raise TrainingError(
            _("frozen_weights is 4bit, which needs a GPU, but the run computes on the CPU."),
            _("Set frozen_weights to bf16 or fp32."),
        )
    if not bf16:
        raise TrainingError(
            _("frozen_weights is %(name)s, which is computed in bf16, but this device computes in fp32.")
            % {"name": frozen},
            _("Set precision=bf16, which is slow on most CPUs, or frozen_weights=fp32."),
        )
    if frozen == FOUR_BIT and find_spec("bitsandbytes") is None:
        raise TrainingError(
            _("frozen_weights is 4bit, but the package bitsandbytes is not installed."),
            _("Install it (pip install bitsandbytes), or set frozen_weights=bf16."),
        )


def loading_arguments(frozen: str) -> dict[str, Any]:
    """Arguments of transformers' from_pretrained, besides the number format."""
    if frozen != FOUR_BIT:
        return {}
    from transformers import BitsAndBytesConfig

    settings: Any = BitsAndBytesConfig
    quantised = settings(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    # Weights are quantised where they will be used; several processes have a GPU each.
    gpu = int(os.environ.get("LOCAL_RANK", "0"))
    return {"quantization_config": quantised, "device_map": {"": gpu}}


def dtype_of(frozen: str) -> str:
    """Of the weights that are not quantised, by torch's name."""
    return "float32" if frozen == FP32 else "bfloat16"


def widen_trained(model: nn.Module) -> None:
    """Hold the trained weights in fp32, in place."""
    for weight in model.parameters():
        if weight.requires_grad:
            weight.data = weight.data.float()


def has_rounded_weights(model: nn.Module) -> bool:
    """Whether frozen weights of the model are not those of the base model, but rounded ones."""
    return any(weight.dtype != torch.float32 for weight in model.parameters())
