"""The trainer of joint training: its losses, and a learning rate of its own for the preference head.

QuadruplePlan.share → Layout.micro_batches → agree on totals → forward and backward of each → one Adam step
"""

from __future__ import annotations

from typing import Any

import torch

from preference.training.common.step_trainer import StepTrainer
from preference.training.joint.recipe import JointRecipe


class JointTrainer(StepTrainer):
    """Trains a JointModel by a plan of optimiser steps."""

    loss_names = ("loss", "nll", "ranking")
    totals = {"tokens_in_step": "targets", "pairs_in_step": "pairs"}
    targets = ("predict_at", "targets", "pairs")

    def __init__(self, *arguments: Any, recipe: JointRecipe, **more: Any) -> None:
        """arguments, more: those of StepTrainer, without optimiser and rate, which the recipe decides."""
        self.recipe = recipe
        # AdamW without weight decay is Adam.
        adam = {
            "lr": recipe.peak_lr,
            "betas": (recipe.beta1, recipe.beta2),
            "eps": recipe.epsilon,
            "weight_decay": recipe.weight_decay,
        }
        super().__init__(
            *arguments, optimizer=(torch.optim.AdamW, adam), rate_factor=recipe.rate_factor, **more
        )

    def create_optimizer(self, *given: Any) -> Any:
        """Adam; the head gets a learning rate of its own if the recipe has one."""
        adam: Any = super().create_optimizer(*given)
        if self.recipe.head_lr is not None:
            self._move_head_to_own_group(adam, self.recipe.head_lr)
        return adam

    def _move_head_to_own_group(self, adam: torch.optim.Optimizer, rate: float) -> None:
        """Take the head's weights out of Adam's groups and give them a group with a rate of its own."""
        model: Any = self.model
        head = {id(weight): weight for name, weight in model.named_parameters() if name.startswith("head.")}
        for group in adam.param_groups:
            group["params"] = [weight for weight in group["params"] if id(weight) not in head]
        adam.add_param_group({"params": list(head.values()), "lr": rate})
