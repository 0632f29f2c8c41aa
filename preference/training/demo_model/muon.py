"""Muon (Jordan et al., 2024) in fp32, for processors that cannot multiply in bf16.

PyTorch's own Muon always multiplies in bf16. Where a processor has no instructions for it, these products take 15
times as long as the rest of a step.
"""

from collections.abc import Callable
from typing import Any

import torch

EPS = 1e-7
# Of the polynomial a·X + b·(XXᵀ)X + c·(XXᵀ)²X, whose slope at zero is as steep as convergence allows.
A, B, C = 3.4445, -4.7750, 2.0315


def orthogonalize(matrix: torch.Tensor, steps: int) -> torch.Tensor:
    """The matrix with all its singular values near 1, by `steps` iterations of Newton and Schulz. (rows, columns)."""
    is_tall = matrix.size(0) > matrix.size(1)
    x = matrix.T if is_tall else matrix
    x = x / x.norm().clamp(min=EPS)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=B, alpha=C), x, beta=A)
    return x.T if is_tall else x


class Fp32Muon(torch.optim.Muon):
    """torch.optim.Muon with `match_rms_adamw` and Nesterov momentum, multiplying in the precision of the weights."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """One step. closure: computes the loss again; returns it, or None without one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            momentum = group["momentum"]
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros_like(weight.grad)
                mean = state["momentum_buffer"].lerp_(weight.grad, 1 - momentum)
                update = orthogonalize(weight.grad.lerp(mean, momentum), group["ns_steps"])
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.add_(update, alpha=-0.2 * max(weight.shape) ** 0.5 * group["lr"])
        return loss
