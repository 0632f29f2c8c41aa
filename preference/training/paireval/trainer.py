"""The trainer of PairEval and DirectEval: the cross-entropy of the answer's token, by AdamW."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from preference.training.common.step_trainer import StepTrainer
from preference.training.paireval.recipe import PairRecipe
from preference.training.paireval.step_plan import PairPlan


class PairTrainer(StepTrainer):
    """Trains a LabelModel by a plan of optimiser steps."""

    totals = {"answers_in_step": "labels"}
    targets = ("answer_at", "labels")

    def __init__(self, *arguments: Any, recipe: PairRecipe, plan: PairPlan, **more: Any) -> None:
        """arguments, more: those of StepTrainer, without optimiser and rate, which the recipe decides."""
        adam = {
            "lr": recipe.peak_lr,
            "betas": (recipe.beta1, recipe.beta2),
            "eps": recipe.epsilon,
            "weight_decay": recipe.weight_decay,
        }
        super().__init__(
            *arguments,
            plan=plan,
            optimizer=(torch.optim.AdamW, adam),
            rate_factor=partial(recipe.rate_factor, steps=plan.steps),
            **more,
        )
