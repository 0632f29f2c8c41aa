"""transformers' Trainer for joint training: one of its batches is one optimiser step, made of micro-batches.

The loss of a step is the mean over its quadruples, however it is cut into micro-batches and divided over processes, so
that batch size, device memory and number of processes are independent of each other. Everything else the Trainer does
(accelerate, FSDP, DeepSpeed, bf16, clipping, states of optimiser and generators) is left as it is.

One optimiser step, in every process:

    StepPlan.share → Layout.micro_batches → agree on totals → forward and backward of each → one Adam step
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from transformers import PrinterCallback, TrainerCallback, TrainingArguments

from preference.training.common import checkpoints
from preference.training.common.checkpointing import CheckpointingTrainer, Saving
from preference.training.common.command import Session
from preference.training.common.errors import TrainingError
from preference.training.common.memory import is_out_of_memory
from preference.training.common.messages import gettext as _
from preference.training.common.messages import join_sentences
from preference.training.common.output import Explanation
from preference.training.common.progress import Step
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.collate import MicroBatch
from preference.training.joint.layouts.micro_batches import Layout
from preference.training.joint.recipe import JointRecipe
from preference.training.joint.step_plan import StepPlan

# How often the token budget is halved when memory runs out. A run that fails at an eighth of it needs another remedy.
HALVINGS = 3


class JointTrainer(CheckpointingTrainer):
    """Trains a JointModel by a plan of optimiser steps. `train` raises TrainingError and Stopped."""

    def __init__(
        self,
        model: JointModel,
        args: TrainingArguments,
        *,
        recipe: JointRecipe,
        plan: StepPlan,
        layout_for: Callable[[int], Layout],
        token_budget: int,
        session: Session,
        explanation: Explanation,
        saving: Saving,
    ) -> None:
        """layout_for: makes the layout for a token budget. token_budget: the first one, in tokens."""
        self.recipe, self.plan = recipe, plan
        self._layout_for, self._budget, self._layout = layout_for, token_budget, layout_for(token_budget)
        self._halvings = 0
        self._save_due = False
        self._losses = (0.0, 0.0, 0.0)  # of the last step: total, nll, ranking
        adam = {"lr": recipe.peak_lr, "betas": (recipe.beta1, recipe.beta2), "eps": recipe.epsilon}
        super().__init__(
            session=session,
            explanation=explanation,
            saving=saving,
            model=model,
            args=args,
            optimizer_cls_and_kwargs=(torch.optim.Adam, adam),
        )
        self.remove_callback(PrinterCallback)
        self.add_callback(_AfterStep(self))
        args._n_gpu = min(args._n_gpu, 1)  # several GPUs take one process each

    # Data, optimiser, learning rate

    def get_train_dataloader(self) -> DataLoader[int]:
        """Step numbers for the Trainer to count; the content of a step follows from `state.global_step`."""
        numbers: Any = range(self.plan.steps)
        return DataLoader(numbers, batch_size=1, collate_fn=lambda steps: {"step": steps[0]})

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

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """The recipe's factor on the rate of every group. LambdaLR counts finished steps, the recipe counts from 1."""
        adam: Any = optimizer or self.optimizer
        self.lr_scheduler = LambdaLR(adam, lambda done: self.recipe.rate_factor(done + 1))
        self._created_lr_scheduler = True
        return self.lr_scheduler

    # One optimiser step

    def training_step(self, model: nn.Module, inputs: Any, num_items_in_batch: Any = None) -> Tensor:
        """Forward and backward of all micro-batches of the step; again with smaller ones if memory runs out.

        Returns this process's share of the loss, a scalar in nats.
        """
        self.stop.steps_run = True
        model.train()
        generators = _generator_states()
        while True:
            try:
                return self._run_micro_batches(model)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            except BaseException:
                # Stopped or failed in the middle: a checkpoint must hold the states after the last complete step.
                _restore_generators(generators)
                raise
            # Outside the handler, because the traceback keeps the tensors of the failed attempt alive.
            _restore_generators(generators)
            self._halve_micro_batches(model)

    def _run_micro_batches(self, model: nn.Module) -> Tensor:
        """Forward and backward of every micro-batch, adding up gradients; this process's share of the loss, a scalar.

        The losses are shares of one mean (see `loss`), so gradients are added and not averaged. Only the last backward
        pass exchanges gradients with other processes.
        """
        micro_batches = self._agree(self._micro_batches())
        losses = torch.zeros(3, device=self.args.device)
        for number, micro_batch in enumerate(micro_batches, 1):
            is_last = number == len(micro_batches)
            # For DeepSpeed; DDP and FSDP learn it from no_sync.
            self.accelerator.gradient_state._set_sync_gradients(is_last)
            with contextlib.nullcontext() if is_last else self.accelerator.no_sync(model):
                output = model(**self._prepare_inputs(micro_batch))
                losses += torch.stack([output.loss, output.nll, output.ranking]).detach()
                if is_last:
                    # Before the backward pass, in which DeepSpeed updates the weights.
                    self._check_losses(losses)
                # Processes average their gradients, but their losses are shares of a sum: undo the division.
                self.accelerator.backward(output.loss * self.args.world_size)
            if self.args.world_size == 1:
                self.stop.check()
        return losses[0]

    def _micro_batches(self) -> list[MicroBatch]:
        """This process's micro-batches of the step; idle ones if there are fewer dialogues than processes."""
        step = self.state.global_step
        share = self.plan.share(step, self.args.process_index, self.args.world_size)
        if share:
            return self._layout.micro_batches(share)
        return [_without_targets(batch) for batch in self._layout.micro_batches(self.plan.step(step)[:1])]

    def _agree(self, mine: list[MicroBatch]) -> list[MicroBatch]:
        """Exchange what all processes must know before a step: totals, and whether to save or to stop.

        Every process sends one row (tokens, pairs, micro-batches, signal, whether a checkpoint is due). Processes with
        fewer micro-batches get idle ones, because FSDP gathers weights in every forward pass of all processes.
        """
        tokens, pairs = (sum(len(batch[name]) for batch in mine) for name in ("targets", "pairs"))
        row = torch.tensor([[tokens, pairs, len(mine), self.stop.signum, self.checkpoint_is_due()]])
        table = self.accelerator.gather(row.to(self.args.device)).cpu() if self.args.world_size > 1 else row
        if signum := int(table[:, 3].max()):
            self.stop.ask(signum, _("Stopped by another process."))
        self.stop.check()
        self._save_due = bool(table[0, 4])  # the clock of the main process decides
        totals = {"tokens_in_step": table[:, 0].sum(), "pairs_in_step": table[:, 1].sum()}
        missing = int(table[:, 2].max()) - len(mine)
        return [batch | totals for batch in [*(_without_targets(mine[-1]) for _ in range(missing)), *mine]]

    def _check_losses(self, losses: Tensor) -> None:
        """Raise TrainingError if a loss of the whole step, (3,) summed over processes, is not finite."""
        values = self.accelerator.reduce(losses.clone(), "sum").tolist()
        if not all(map(math.isfinite, values)):
            raise self._not_finite(
                _("The loss of step %(step)s is %(value)s, so the step was not made."), values[0]
            )
        self._losses = values[0], values[1], values[2]

    def _get_grad_norm(self, model: nn.Module, grad_norm: Any = None) -> Any:
        """The norm before clipping. Raises TrainingError if it is not finite: Adam would spread it to every weight."""
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)  # type: ignore[no-untyped-call]
        if norm is not None and not math.isfinite(float(norm)):
            raise self._not_finite(
                _("The gradient of step %(step)s is %(value)s, so the step was not made."), float(norm)
            )
        return norm

    def _not_finite(self, template: str, value: float) -> TrainingError:
        cause = template % {"step": self.state.global_step + 1, "value": value}
        if last := self.output.last_checkpoint():
            usable = _("The checkpoint of step %(step)s is usable.") % {"step": checkpoints.step_of(last)}
            cause = join_sentences(cause, usable)
        return TrainingError(
            cause,
            _(
                "Resume in fp32 (--resume --set precision=fp32) if it was bf16; else start anew with a lower "
                "peak_lr or clip=1. At step 1, the weights of the base model are damaged."
            ),
        )

    def _halve_micro_batches(self, model: nn.Module) -> None:
        """Continue with a layout of half the token budget; what the step computes stays the same.

        Raises TrainingError after HALVINGS times, and in a distributed run at once: the other processes already wait
        in a collective operation that this one did not reach.
        """
        if self.args.world_size > 1 or self._halvings == HALVINGS:
            raise TrainingError(
                _("Memory ran out at step %(step)s with micro-batches of %(budget)s tokens.")
                % {"step": self.state.global_step + 1, "budget": self._budget},
                _(
                    "Try --set token_budget=%(half)s, --set recompute=true, --lora, a shorter context and "
                    "reply, or a smaller model."
                )
                % {"half": self._budget // 2},
            )
        self._halvings += 1
        model.zero_grad()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self._budget //= 2
        self._layout = self._layout_for(self._budget)
        template = _("Memory ran out; going on with micro-batches of %(budget)s tokens.")
        self.progress.warn(template % {"budget": self._budget})

    def report_step(self) -> None:
        """After an optimiser step: report it, and decide whether a checkpoint follows."""
        step = self.state.global_step
        lr = self.recipe.peak_lr * self.recipe.rate_factor(step)
        losses = dict(zip(("loss", "nll", "ranking"), self._losses, strict=True))
        self.progress.step(Step(step, self.plan.epoch_of(step - 1) + 1, lr, losses))
        self.control.should_save = self._save_due and step < self.plan.steps


class _AfterStep(TrainerCallback):
    """Calls report_step after every optimiser step: the Trainer offers no method to override at that point."""

    def __init__(self, trainer: JointTrainer) -> None:
        self._trainer = trainer

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self._trainer.report_step()


def _generator_states() -> tuple[Tensor, list[Tensor]]:
    """States of the random generators of CPU and GPUs; dropout of adapters draws from them."""
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


def _restore_generators(states: tuple[Tensor, list[Tensor]]) -> None:
    torch.set_rng_state(states[0])
    if states[1]:
        torch.cuda.set_rng_state_all(states[1])


def _without_targets(micro_batch: MicroBatch) -> MicroBatch:
    """The same rows with nothing to learn, so that an idle process takes part in collective operations."""
    nothing = {name: micro_batch[name][:0] for name in ("predict_at", "targets", "pairs")}
    return micro_batch | nothing
