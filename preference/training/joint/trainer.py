"""Hugging Face's Trainer for joint training: one of its batches is one optimiser step, made of micro-batches.

The loss of a step is the mean over its quadruples however it is cut into micro-batches and over processes, so that
batch size, device memory and number of processes are independent of each other. What the Trainer does otherwise
(accelerate, FSDP, DeepSpeed, bf16, clipping, optimiser and generator states) is left as it is.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.distributed.checkpoint.api import CheckpointException
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME

from preference.training.common import checkpoints
from preference.training.common.errors import TrainingError
from preference.training.common.memory import is_out_of_memory
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext, together
from preference.training.common.progress import Progress, Step, replace_json
from preference.training.common.stopping import StopRequest
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts import Layout, MicroBatch
from preference.training.joint.output import Explanation, Output
from preference.training.joint.recipe import JointRecipe
from preference.training.joint.schedule import Schedule

WEIGHTS = "weights.safetensors"
HALVINGS = 3  # of the token budget, when memory runs out
# Without a fixed distance: a minute apart, or as far as keeps the share of time for checkpoints below this.
SAVE_EVERY = 60.0  # seconds
SAVE_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Saving:
    """every: optimiser steps between checkpoints, None: by the clock; keep: how many of the newest."""

    every: int | None = None
    keep: int = 2


class JointTrainer(Trainer):
    """Trains a JointModel by a schedule of optimiser steps. `train` raises TrainingError and Stopped.

    lay_out: makes the layout for a token budget; not_saved: why the newest checkpoint is older than it should be.
    """

    def __init__(
        self,
        model: JointModel,
        args: TrainingArguments,
        *,
        recipe: JointRecipe,
        schedule: Schedule,
        lay_out: Callable[[int], Layout],
        token_budget: int,
        output: Output,
        progress: Progress,
        stop: StopRequest,
        explanation: Explanation,
        saving: Saving,
    ) -> None:
        self.recipe, self.schedule = recipe, schedule
        self._lay_out, self._budget, self._layout = lay_out, token_budget, lay_out(token_budget)
        self.output, self.progress, self.stop = output, progress, stop
        self.explanation, self.saving = explanation, saving
        self._halvings = 0
        self._saved_at, self._saving_took = time.monotonic(), 0.0
        self._save_due = False
        self.not_saved = ""
        self._losses = (0.0, 0.0, 0.0)
        adam = {"lr": recipe.peak_lr, "betas": (recipe.beta1, recipe.beta2), "eps": recipe.epsilon}
        super().__init__(model=model, args=args, optimizer_cls_and_kwargs=(torch.optim.Adam, adam))
        self.remove_callback(PrinterCallback)
        self.add_callback(_AfterStep(self))
        args._n_gpu = min(args._n_gpu, 1)  # several GPUs take one process each

    # What is trained on, and how fast

    def get_train_dataloader(self) -> DataLoader[int]:
        """Numbers of steps, for the Trainer to count; what is in them follows from `state.global_step`."""
        numbers: Any = range(self.schedule.steps)
        return DataLoader(numbers, batch_size=1, collate_fn=lambda steps: {"step": steps[0]})

    def create_optimizer(self, *given: Any) -> Any:
        adam: Any = super().create_optimizer(*given)
        if self.recipe.head_lr is not None:
            self._set_apart(adam, self.recipe.head_lr)
        return adam

    def _set_apart(self, adam: torch.optim.Optimizer, rate: float) -> None:
        """Give the head a rate of its own."""
        model: Any = self.model
        head = {id(weight): weight for name, weight in model.named_parameters() if name.startswith("head.")}
        for group in adam.param_groups:
            group["params"] = [weight for weight in group["params"] if id(weight) not in head]
        adam.add_param_group({"params": list(head.values()), "lr": rate})

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        adam: Any = optimizer or self.optimizer
        self.lr_scheduler = LambdaLR(adam, lambda done: self.recipe.rate_factor(done + 1))
        self._created_lr_scheduler = True
        return self.lr_scheduler

    def training_step(self, model: nn.Module, inputs: Any, num_items_in_batch: Any = None) -> Tensor:
        """All micro-batches of one optimiser step; where memory runs out, again with smaller ones."""
        self.stop.steps_run = True
        model.train()
        generators = _generators()
        while True:
            try:
                return self._all_micro_batches(model)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            except BaseException:
                # Stopped or failed halfway: the checkpoint shall be that of the last whole step.
                _set_generators(generators)
                raise
            # Outside of the handler, whose traceback keeps the tensors of the failed try.
            _set_generators(generators)
            self._make_room(model)

    def _all_micro_batches(self, model: nn.Module) -> Tensor:
        micro_batches = self._agree(self._micro_batches())
        losses = torch.zeros(3, device=self.args.device)
        for number, micro in enumerate(micro_batches, 1):
            last = number == len(micro_batches)
            # Tells DeepSpeed; DDP and FSDP are told by no_sync.
            self.accelerator.gradient_state._set_sync_gradients(last)
            with contextlib.nullcontext() if last else self.accelerator.no_sync(model):
                made = model(**self._prepare_inputs(micro))
                losses += torch.stack([made.loss, made.nll, made.ranking]).detach()
                if last:
                    # Before the backward pass, in which DeepSpeed makes the step.
                    self._check_losses(losses)
                # Processes average their gradients, and their losses are shares of a sum.
                self.accelerator.backward(made.loss * self.args.world_size)
            if self.args.world_size == 1:
                self.stop.check()
        return losses[0]

    def _micro_batches(self) -> list[MicroBatch]:
        step = self.state.global_step
        share = self.schedule.share(step, self.args.process_index, self.args.world_size)
        if share:
            return self._layout.micro_batches(share)
        return [_idle(micro) for micro in self._layout.micro_batches(self.schedule.step(step)[:1])]

    def _agree(self, mine: list[MicroBatch]) -> list[MicroBatch]:
        """With what all processes must know of each other before a step: totals, and whether to save or to stop."""
        tokens, pairs = (sum(len(micro[name]) for micro in mine) for name in ("targets", "pairs"))
        told = torch.tensor([[tokens, pairs, len(mine), self.stop.signum, self._due()]])
        heard = self.accelerator.gather(told.to(self.args.device)).cpu() if self.args.world_size > 1 else told
        if signum := int(heard[:, 3].max()):
            self.stop.ask(signum, _("Stopped by another process."))
        self.stop.check()
        self._save_due = bool(heard[0, 4])
        totals = {"tokens_in_step": heard[:, 0].sum(), "pairs_in_step": heard[:, 1].sum()}
        # FSDP gathers weights in every forward, so all processes make equally many.
        missing = int(heard[:, 2].max()) - len(mine)
        return [micro | totals for micro in [*(_idle(mine[-1]) for _ in range(missing)), *mine]]

    def _check_losses(self, losses: Tensor) -> None:
        """Of the whole step, over all processes. Raises TrainingError where they are no numbers."""
        found = self.accelerator.reduce(losses.clone(), "sum").tolist()
        if not all(map(math.isfinite, found)):
            said = _("The loss of step %(step)s is %(value)s, so the step was not made.")
            raise self._not_a_number(said, found[0])
        self._losses = found[0], found[1], found[2]

    def _get_grad_norm(self, model: nn.Module, grad_norm: Any = None) -> Any:
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)  # type: ignore[no-untyped-call]
        if norm is not None and not math.isfinite(float(norm)):
            said = _("The gradient of step %(step)s is %(value)s, so the step was not made.")
            raise self._not_a_number(said, float(norm))
        return norm

    def _not_a_number(self, said: str, value: float) -> TrainingError:
        cause = said % {"step": self.state.global_step + 1, "value": value}
        if last := self.output.last_checkpoint():
            kept = _("The checkpoint of step %(step)s is usable.") % {"step": checkpoints.step_of(last)}
            cause = together(cause, kept)
        return TrainingError(
            cause,
            _(
                "Resume in fp32 (--resume --set precision=fp32) if it was bf16; else start anew with a lower "
                "peak_lr or clip=1. At step 1, the weights of the base model are damaged."
            ),
        )

    def _make_room(self, model: nn.Module) -> None:
        """Halve the micro-batches. Raises TrainingError where that was done before, or would leave others waiting."""
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
        self._layout = self._lay_out(self._budget)
        said = _("Memory ran out; going on with micro-batches of %(budget)s tokens.")
        self.progress.warn(said % {"budget": self._budget})

    # Checkpoints

    def made_step(self) -> None:
        """After an optimiser step: tell of it, and say whether it is to be saved."""
        step = self.state.global_step
        loss, nll, ranking = self._losses
        lr = self.recipe.peak_lr * self.recipe.rate_factor(step)
        self.progress.step(Step(step, self.schedule.epoch_of(step - 1) + 1, loss, nll, ranking, lr))
        self.control.should_save = self._save_due and step < self.schedule.steps

    def _due(self) -> bool:
        """Whether the next step is to be followed by a checkpoint."""
        if self.saving.every:
            return (self.state.global_step + 1) % self.saving.every == 0
        return time.monotonic() - self._saved_at > max(SAVE_EVERY, self._saving_took / SAVE_SHARE)

    def save_now(self) -> None:
        """A checkpoint of the last whole step, unless there is one."""
        last = self.output.last_checkpoint()
        if last is None or checkpoints.step_of(last) != self.state.global_step:
            self._save_checkpoint(self.model_wrapped, None)

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        """Whole or not at all. A full disk does not end the run: the former checkpoint stays until a later one."""
        started = time.monotonic()
        final = checkpoints.checkpoint_folder(self.output.checkpoints, self.state.global_step)
        problem = ""
        try:
            self._write_checkpoint(checkpoints.partial_of(final))
        except (*checkpoints.WRITE_ERRORS, CheckpointException) as error:  # the last of FSDP, no Exception
            problem = checkpoints.reason(error)
        failed = self._anywhere(bool(problem))
        if not failed and self.args.should_save:
            try:
                checkpoints.publish(final)
                checkpoints.keep_newest(self.output.checkpoints, self.saving.keep)
            except OSError as error:
                problem = checkpoints.reason(error)
        self.not_saved = self._give_up(final, problem) if self._anywhere(bool(problem)) else ""
        self.progress.warn(self.not_saved)
        self._saved_at = time.monotonic()
        self._saving_took = self._saved_at - started

    def _write_checkpoint(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if not (self.is_fsdp_enabled or self.is_deepspeed_enabled) and self.args.should_save:
            save_file(_own_weights(self.accelerator.unwrap_model(self.model)), folder / WEIGHTS)
        self._save_optimizer_and_scheduler(str(folder))
        self._save_scaler(str(folder))
        self._save_rng_state(str(folder))
        if self.args.should_save:
            self.state.save_to_json(str(folder / TRAINER_STATE_NAME))
            replace_json(folder / "training.json", self.explanation | {"step": self.state.global_step})

    def _give_up(self, final: Path, problem: str) -> str:
        """What to tell of a checkpoint that could not be written."""
        if self.args.should_save:
            shutil.rmtree(checkpoints.partial_of(final), ignore_errors=True)
        last = self.output.last_checkpoint()
        said = _("The checkpoint of step %(step)s could not be written (%(why)s); there is none before it.")
        if last:
            said = _(
                "The checkpoint of step %(step)s could not be written (%(why)s); that of step %(kept)s is kept."
            )
        why = problem or _("another process could not write its part")
        kept = checkpoints.step_of(last) if last else None
        return said % {"step": checkpoints.step_of(final), "why": why, "kept": kept}

    def _anywhere(self, here: bool) -> bool:
        if self.args.world_size == 1:
            return here
        told = torch.tensor([here], dtype=torch.long, device=self.args.device)
        return bool(self.accelerator.gather(told).any())

    def finished_model(self, build: Callable[[], JointModel]) -> JointModel | None:
        """With the trained weights; None in a process that does not save it.

        build: makes the model anew, where its weights are spread over processes. Raises TrainingError.
        """
        if not (self.is_fsdp_enabled or self.is_deepspeed_enabled):
            trained: JointModel = self.accelerator.unwrap_model(self.model_wrapped)
            return trained if self.args.should_save else None
        weights = self.accelerator.get_state_dict(self.model_wrapped)
        if not self.args.should_save:
            return None
        model = build()
        # A tied weight may come under one of its names only.
        missing = model.load_state_dict(weights, strict=False).missing_keys
        if lost := sorted(dict(model.named_parameters()).keys() & set(missing)):
            raise TrainingError(
                ngettext(
                    "One of the trained weights did not come back from all processes: %(name)s.",
                    "%(count)s of the trained weights did not come back from all processes, for example %(name)s.",
                    len(lost),
                )
                % {"count": len(lost), "name": lost[0]},
                _("Train with another setting of FSDP or DeepSpeed, or without."),
            )
        return model

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        spread, weights = (
            self.is_fsdp_enabled or self.is_deepspeed_enabled,
            Path(resume_from_checkpoint) / WEIGHTS,
        )
        if spread == weights.is_file():
            said = _("%(checkpoint)s was written by FSDP or DeepSpeed.")
            if spread:
                said = _("%(checkpoint)s was written without FSDP or DeepSpeed.")
            raise TrainingError(
                said % {"checkpoint": resume_from_checkpoint},
                _("Resume with the launcher and the configuration that it was written with."),
            )
        if spread:
            super()._load_from_checkpoint(resume_from_checkpoint, model)
            return
        mine = _own_weights(self.accelerator.unwrap_model(self.model))
        saved = load_file(weights)
        if saved.keys() != mine.keys():
            raise TrainingError(
                _("The weights in %(checkpoint)s are not those of this model.")
                % {"checkpoint": resume_from_checkpoint},
                _("Start anew."),
            )
        with torch.no_grad():
            for name, weight in mine.items():
                weight.copy_(saved[name])


class _AfterStep(TrainerCallback):
    def __init__(self, trainer: JointTrainer) -> None:
        self._trainer = trainer

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self._trainer.made_step()


def _generators() -> tuple[Tensor, list[Tensor]]:
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


def _set_generators(states: tuple[Tensor, list[Tensor]]) -> None:
    torch.set_rng_state(states[0])
    if states[1]:
        torch.cuda.set_rng_state_all(states[1])


def _own_weights(model: nn.Module) -> dict[str, Tensor]:
    """The weights that are trained, by name; one that has several names (tied ones) once."""
    return {name: weight.data for name, weight in model.named_parameters() if weight.requires_grad}


def _idle(micro: MicroBatch) -> MicroBatch:
    """The same rows without anything to learn: a process with less to do takes part in what all do together."""
    nothing = {name: micro[name][:0] for name in ("predict_at", "targets", "pairs")}
    return micro | nothing
