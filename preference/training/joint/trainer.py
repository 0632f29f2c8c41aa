"""The trainer of joint training: its losses, its validation, and a learning rate of its own for the preference head.

QuadruplePlan.share → Layout.micro_batches → agree on totals → forward and backward of each → one Adam step
"""

from __future__ import annotations

from typing import Any

import torch

from preference.training.common.validating_trainer import ValidatingTrainer
from preference.training.common.validation import Figures, ValidationRules
from preference.training.joint.evaluation.scoring import Scores, scores_of_replies, scoring_inputs
from preference.training.joint.recipe import JointRecipe
from preference.training.joint.validation import HeldOutTurns, validation_figures


class JointTrainer(ValidatingTrainer):
    """Trains a JointModel by a plan of optimiser steps."""

    loss_names = ("loss", "nll", "ranking")
    totals = {"tokens_in_step": "targets", "pairs_in_step": "pairs"}
    targets = ("predict_at", "targets", "pairs")

    def __init__(
        self, *arguments: Any, recipe: JointRecipe, held_out: HeldOutTurns | None = None, **more: Any
    ) -> None:
        """arguments, more: those of StepTrainer, without optimiser and rate, which the recipe decides.

        held_out: what to validate on, None: the run is never validated.
        """
        self.recipe, self.held_out = recipe, held_out
        every = recipe.validate_every if held_out else None
        rules = ValidationRules(every, recipe.patience, recipe.best_by)
        # AdamW without weight decay is Adam.
        adam = {
            "lr": recipe.peak_lr,
            "betas": (recipe.beta1, recipe.beta2),
            "eps": recipe.epsilon,
            "weight_decay": recipe.weight_decay,
        }
        super().__init__(
            *arguments,
            rules=rules,
            optimizer=(torch.optim.AdamW, adam),
            rate_factor=recipe.rate_factor,
            **more,
        )

    @torch.no_grad()
    def held_out_figures(self) -> Figures:
        """Joint loss, P@1 and ordered pairs of the held-out turns; without dropout, and without random numbers.

        Every process makes as many forward passes as the busiest, because FSDP gathers weights in each of all
        processes.
        """
        if self.held_out is None:
            raise TypeError("A run without held-out turns is never validated.")
        model: Any = self.model_wrapped
        args = self.args
        batches = self.held_out.batches(args.process_index, args.world_size, self._budget)
        passes = int(self._from_all_processes(torch.tensor([len(batches)])).max())
        scores: Scores[Any] = {}
        model.eval()
        try:
            for batch in batches:
                output = model(**self._prepare_inputs(scoring_inputs(batch)))
                scores |= scores_of_replies(output, batch)
            for _missing in range(passes - len(batches)):
                model(**self._prepare_inputs(scoring_inputs(self.held_out.idle_batch)))
        finally:
            model.train()
        totals = self._from_all_processes(self.held_out.totals(scores)[None]).sum(0)
        return validation_figures(totals.tolist(), (self.recipe.nll_weight, self.recipe.ranking_weight))

    def _from_all_processes(self, row: torch.Tensor) -> torch.Tensor:
        """The rows of all processes, on the CPU, the same in each of them."""
        if self.args.world_size == 1:
            return row
        gathered: torch.Tensor = self.accelerator.gather(row.to(self.args.device)).cpu()
        return gathered

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
