"""transformers' Trainer where one of its batches is one optimiser step, made of micro-batches.

The loss of a step is the mean over its examples, however it is cut into micro-batches and divided over processes, so
that batch size, device memory and number of processes are independent of each other. Everything else the Trainer does
(accelerate, FSDP, DeepSpeed, bf16, clipping, states of optimiser and generators) is left as it is.

One optimiser step, in every process:

    plan.share → batching.micro_batches → agree on totals → forward and backward of each → one Adam step
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from transformers import PrinterCallback, TrainerCallback, TrainingArguments

from preference.training.common import checkpoints
from preference.training.common.checkpointing import CheckpointingTrainer, Saving
from preference.training.common.command import TrainingSession
from preference.training.common.errors import TrainingError
from preference.training.common.memory import is_out_of_memory
from preference.training.common.messages import gettext as _
from preference.training.common.messages import join_sentences
from preference.training.common.output import Explanation
from preference.training.common.progress import Step
from preference.training.common.shared_context.rows import MicroBatch
from preference.training.common.trackers import figures_of
from preference.training.common.validation import Figures

# How often the token budget is halved when memory runs out. A run that fails at an eighth of it needs another remedy.
HALVINGS = 3


class StepPlan(Protocol):
    """What every optimiser step learns from: a function of data, recipe and step number, the same in every process.

    A resumed run therefore needs no state of a data loader, and processes send each other no data. steps: of the whole
    run, counted from 0.
    """

    steps: int

    def epoch_of(self, step: int) -> int:
        """Counted from 0."""
        ...

    def step(self, step: int) -> list[Any]:
        """All examples of a step."""
        ...

    def share(self, step: int, process: int, processes: int) -> list[Any]:
        """What one of several processes takes of a step."""
        ...


class Batching(Protocol):
    """Makes the arguments of the model's forward."""

    def micro_batches(self, step: Any) -> list[MicroBatch]:
        """Micro-batches of examples. Their losses, shares of the totals of the step, add up to its loss."""
        ...


class StepTrainer(CheckpointingTrainer):
    """Trains a model by a plan of optimiser steps. `train` raises TrainingError and Stopped.

    A subclass names what its model takes and gives. loss_names: attributes of the model's output, the total first.
    totals: arguments of forward, each with the tensor whose entries it counts over the whole step. targets: tensors
    that are empty where a process has nothing to learn.
    """

    loss_names: ClassVar[tuple[str, ...]] = ("loss",)
    totals: ClassVar[Mapping[str, str]]
    targets: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        model: nn.Module,
        args: TrainingArguments,
        *,
        plan: StepPlan,
        batching_for: Callable[[int], Batching],
        token_budget: int,
        optimizer: tuple[type[torch.optim.Optimizer], dict[str, Any]],
        rate_factor: Callable[[int], float],
        session: TrainingSession,
        explanation: Explanation,
        saving: Saving,
    ) -> None:
        """batching_for: makes the batching for a token budget. token_budget: the first one, in tokens.

        optimizer: its class and arguments, among them the peak rate `lr`; a `weight_decay` spares biases and norms.
        rate_factor: share of that rate at a step, counted from 1.
        """
        # The Trainer gives every group of weights the decay of its own arguments, which wins over the optimiser's.
        args.weight_decay = optimizer[1].get("weight_decay", 0.0)
        self.plan = plan
        self._batching_for, self._budget, self._batching = (
            batching_for,
            token_budget,
            batching_for(token_budget),
        )
        self._peak_lr, self._rate_factor = optimizer[1]["lr"], rate_factor
        self._halvings = 0
        self._save_due = False
        self._losses = [0.0] * len(self.loss_names)  # of the last step
        super().__init__(
            session=session,
            explanation=explanation,
            saving=saving,
            model=model,
            args=args,
            optimizer_cls_and_kwargs=optimizer,
        )
        self.remove_callback(PrinterCallback)
        self.add_callback(_AfterStep(self))
        args._n_gpu = min(args._n_gpu, 1)  # several GPUs take one process each

    # Data and learning rate

    def get_train_dataloader(self) -> DataLoader[int]:
        """Step numbers for the Trainer to count; the content of a step follows from `state.global_step`."""
        numbers: Any = range(self.plan.steps)
        return DataLoader(numbers, batch_size=1, collate_fn=lambda steps: {"step": steps[0]})

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """The factor on the rate of every group. LambdaLR counts finished steps, a recipe counts from 1."""
        chosen: Any = optimizer or self.optimizer
        self.lr_scheduler = LambdaLR(chosen, lambda done: self._rate_factor(done + 1))
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

        The losses are shares of one mean, so gradients are added and not averaged. Only the last backward
        pass exchanges gradients with other processes.
        """
        micro_batches = self._agree(self._micro_batches())
        losses = torch.zeros(len(self.loss_names), device=self.args.device)
        for number, micro_batch in enumerate(micro_batches, 1):
            is_last = number == len(micro_batches)
            # For DeepSpeed; DDP and FSDP learn it from no_sync.
            self.accelerator.gradient_state._set_sync_gradients(is_last)
            with contextlib.nullcontext() if is_last else self.accelerator.no_sync(model):
                output = model(**self._prepare_inputs(micro_batch))
                losses += torch.stack([getattr(output, name) for name in self.loss_names]).detach()
                if is_last:
                    # Before the backward pass, in which DeepSpeed updates the weights.
                    self._check_losses(losses)
                # Processes average their gradients, but their losses are shares of a sum: undo the division.
                self.accelerator.backward(output.loss * self.args.world_size)
            if self.args.world_size == 1:
                self.stop.check()
        return losses[0]

    def _micro_batches(self) -> list[MicroBatch]:
        """This process's micro-batches of the step; idle ones if there is less to divide than processes."""
        step = self.state.global_step
        share = self.plan.share(step, self.args.process_index, self.args.world_size)
        if share:
            return self._batching.micro_batches(share)
        return [self._idle(batch) for batch in self._batching.micro_batches(self.plan.step(step)[:1])]

    def _agree(self, mine: list[MicroBatch]) -> list[MicroBatch]:
        """Exchange what all processes must know before a step: totals, and whether to save or to stop.

        Every process sends one row (micro-batches, signal, whether a checkpoint is due, its part of every total).
        Processes with fewer micro-batches get idle ones, because FSDP gathers weights in every forward pass of all
        processes.
        """
        counts = [sum(len(batch[name]) for batch in mine) for name in self.totals.values()]
        row = torch.tensor([[len(mine), self.stop.signum, self.checkpoint_is_due(), *counts]])
        table = self.accelerator.gather(row.to(self.args.device)).cpu() if self.args.world_size > 1 else row
        if signum := int(table[:, 1].max()):
            self.stop.ask(signum, _("Stopped by another process."))
        self.stop.check()
        self._save_due = bool(table[0, 2])  # the clock of the main process decides
        totals = dict(zip(self.totals, table[:, 3:].sum(0), strict=True))
        missing = int(table[:, 0].max()) - len(mine)
        return [batch | totals for batch in [*(self._idle(mine[-1]) for _ in range(missing)), *mine]]

    def _idle(self, micro_batch: MicroBatch) -> MicroBatch:
        """The same rows with nothing to learn, so that an idle process takes part in collective operations."""
        return micro_batch | {name: micro_batch[name][:0] for name in self.targets}

    def _check_losses(self, losses: Tensor) -> None:
        """Raise TrainingError if one of the losses of the whole step, summed over processes, is not finite."""
        values = self.accelerator.reduce(losses.clone(), "sum").tolist()
        if not all(map(math.isfinite, values)):
            raise self._not_finite(
                _("The loss of step %(step)s is %(value)s, so the step was not made."), values[0]
            )
        self._losses = values

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
                "Resume in fp32 (--resume --set precision=fp32) if it was bf16; else start again with a lower "
                "peak_lr or clip=1. At step 1, the weights of the base model are damaged."
            ),
        )

    def _halve_micro_batches(self, model: nn.Module) -> None:
        """Continue with half the token budget; what the step computes stays the same.

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
        self._batching = self._batching_for(self._budget)
        template = _("Memory ran out; continuing with micro-batches of %(budget)s tokens.")
        self.progress.warn(template % {"budget": self._budget})

    def validate(self) -> Figures:
        """Figures of held-out data after this step; {}: none were measured."""
        return {}

    def result(self) -> dict[str, Any]:
        """What training.json of the model says beside its steps."""
        return {}

    def outcome(self) -> str:
        """What a finished run tells, in sentences; "" for nothing."""
        return ""

    def report_step(self) -> None:
        """After an optimiser step: report it, and decide whether a checkpoint follows."""
        step = self.state.global_step
        lr = self._peak_lr * self._rate_factor(step)
        losses = dict(zip(self.loss_names, self._losses, strict=True))
        finished = Step(step, self.plan.epoch_of(step - 1) + 1, lr, losses, self.validate())
        self.progress.step(finished)
        self._track(finished)
        self.control.should_save = self._save_due and step < self.plan.steps

    def _track(self, step: Step) -> None:
        """Report a step to the integrations, if there are any; one that fails does not end hours of training."""
        if not self.args.report_to:
            return
        try:
            # Not self.log, which keeps every step in the state of the Trainer, and so in every checkpoint.
            self.control = self.callback_handler.on_log(self.args, self.state, self.control, figures_of(step))
        except Exception as error:
            template = _("Step %(step)s could not be reported to %(names)s: %(reason)s.")
            names = ", ".join(self.args.report_to)
            self.progress.warn(template % {"step": step.step, "names": names, "reason": error})


class _AfterStep(TrainerCallback):
    """Calls report_step after every optimiser step: the Trainer offers no method to override at that point."""

    def __init__(self, trainer: StepTrainer) -> None:
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
