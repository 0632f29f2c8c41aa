"""Weights in the layout that oneDNN multiplies fastest, for float32 on a CPU.

PyTorch multiplies float32 matrices with MKL, from their plain layout. Measured here (AMD EPYC, one thread, the
matrices of a 28 M-parameter model): 14.0 ms plain, 4.8 ms packed for 7 rows; 70 and 29 ms for 128 rows. These are
the operators that torch.compile uses for frozen weights; where they are missing or wrong, the model stays as it is.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

logger = logging.getLogger(__name__)

ROWS = 7  # number of rows that the layout is optimised for: the replies of one request


class PackedLinear(nn.Module):
    """`nn.Linear` for inference only: no gradient, no state."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.bias = None if bias is None else bias.detach()
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), ROWS)

    def forward(self, inputs: Tensor) -> Tensor:
        if not inputs.numel():
            return inputs.new_empty(*inputs.shape[:-1], self.out_features)
        product: Tensor = torch.ops.mkldnn._linear_pointwise(inputs, self._weight, self.bias, "none", [], "")
        return product


def pack(model: Any) -> bool:
    """Replace the linear layers of a model that is on a CPU in float32; False if the model is unchanged.

    One layer after another, so that a large model is never in memory twice. A model that accesses the `weight` of its
    layers fails afterwards: check its output before use.
    """
    if model.device.type != "cpu" or model.dtype != torch.float32:
        return False
    names = [name for name, module in model.named_modules() if type(module) in (nn.Linear, Conv1D)]
    for done, name in enumerate(names):
        packed = _packed(model.get_submodule(name))
        if packed is None:
            return done > 0
        parent, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(parent), attribute, packed)
    return bool(names)


@torch.inference_mode()
def _packed(module: Any) -> PackedLinear | None:
    weight = module.weight if isinstance(module, nn.Linear) else module.weight.t()
    try:
        packed = PackedLinear(weight, module.bias)
        probe = torch.linspace(-1, 1, 3 * weight.shape[1]).view(1, 3, -1)
        right = torch.allclose(packed(probe), module(probe), rtol=1e-3, atol=1e-3 * float(weight.abs().max()))
    except (RuntimeError, AttributeError) as error:
        logger.warning("Weights stay in their plain layout: %s", error)
        return None
    if not right:
        logger.warning("Weights stay in their plain layout: packed ones give other results.")
    return packed if right else None
