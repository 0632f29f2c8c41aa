"""A transformers Trainer whose checkpoints are complete or absent, and do not end the run when the disk is full.

checkpoint-STEP/
    weights.safetensors    the trained weights only; absent under FSDP and DeepSpeed, which write shards instead
    optimizer.pt           Adam's two moments of every trained weight
    scheduler.pt           the step that the learning rate follows
    rng_state*.pth         random generators, one file per process
    trainer_state.json     the Trainer's own counters
    training.json          the explanation of the run, with `step`

With adapters (LoRA) the frozen weights are not in it: they are those of the base model, which the run loads anyway.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.distributed.checkpoint.api import CheckpointException
from transformers import Trainer
from transformers.trainer import TRAINER_STATE_NAME

from preference.training.common import checkpoints
from preference.training.common.command import TrainingSession
from preference.training.common.disk import WRITE_ERRORS, write_failure_reason
from preference.training.common.errors import TrainingError
from preference.training.common.frozen_weights import has_rounded_weights
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext
from preference.training.common.output import Explanation
from preference.training.common.progress import replace_json

WEIGHTS = "weights.safetensors"
# Without a fixed interval checkpoints are a minute apart, or further, so that they take at most this share of the
# time: a small model loses at most a minute of work, a large one does not spend its time writing.
SAVE_EVERY = 60.0  # seconds
SAVE_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Saving:
    """every: optimiser steps between checkpoints, None: by the clock. keep: how many of the newest stay."""

    every: int | None = None
    keep: int = 2


class CheckpointingTrainer(Trainer):
    """Saves and loads checkpoints; a subclass says what is trained.

    A checkpoint holds the trained weights (or the shards of FSDP or DeepSpeed), the states of optimiser, scheduler and
    random generators, and the explanation of the run. A run resumed from it ends at the same weights as a run that was
    never stopped.

    checkpoint_problem: why the newest checkpoint is older than it should be; "" if it is not.
    """

    def __init__(
        self, *, session: TrainingSession, explanation: Explanation, saving: Saving, **trainer: Any
    ) -> None:
        """explanation: goes into every checkpoint as training.json. trainer: arguments of transformers' Trainer."""
        self.output, self.progress, self.stop = session.output, session.progress, session.stop
        self.explanation, self.saving = explanation, saving
        self.checkpoint_problem = ""
        self._saved_at, self._saving_took = time.monotonic(), 0.0  # seconds
        super().__init__(**trainer)

    @property
    def _is_sharded(self) -> bool:
        """Whether the weights are spread over processes."""
        return bool(self.is_fsdp_enabled or self.is_deepspeed_enabled)

    @property
    def best_step(self) -> int | None:
        """The step whose checkpoint is kept whatever its age, because the run may end with its weights."""
        return None

    def best_checkpoint(self) -> Path | None:
        """The checkpoint whose weights the run ends with; None: those of its last step."""
        if self.best_step is None or self.best_step == self.state.global_step:
            return None
        best = checkpoints.checkpoint_folder(self.output.checkpoints, self.best_step)
        if best.is_dir():
            return best
        template = _("The checkpoint of step %(step)s, the best one, is gone; the last weights are saved.")
        self.progress.warn(template % {"step": self.best_step})
        return None

    def checkpoint_is_due(self) -> bool:
        """Whether the next optimiser step is to be followed by a checkpoint.

        Asked before that step, because all processes must agree on the answer and exchange it together with other
        numbers of the step.
        """
        if self.saving.every:
            return (self.state.global_step + 1) % self.saving.every == 0
        return time.monotonic() - self._saved_at > max(SAVE_EVERY, self._saving_took / SAVE_SHARE)

    def save_now(self) -> None:
        """Write a checkpoint of the last complete step, unless there is one."""
        last = self.output.last_checkpoint()
        if last is None or checkpoints.step_of(last) != self.state.global_step:
            self._save_checkpoint(self.model_wrapped, None)

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        """Write a checkpoint; if that fails, warn and keep the one before until a later one succeeds.

        Overrides the Trainer's method, which would write into the final folder at once. All processes vote after
        each of the two phases: one that gave up alone would leave the others waiting in the next collective operation.
        """
        started = time.monotonic()
        final = checkpoints.checkpoint_folder(self.output.checkpoints, self.state.global_step)
        problem = ""
        try:
            self._write_checkpoint(checkpoints.partial_folder(final))
        except (
            *WRITE_ERRORS,
            CheckpointException,  # of FSDP; a BaseException, so that `except Exception` would miss it
        ) as error:
            problem = write_failure_reason(error)
        failed = self._in_any_process(bool(problem))
        # Only after every process has written its part may the folder get its final name.
        if not failed and self.args.should_save:
            try:
                checkpoints.publish(final)
                checkpoints.keep_newest(self.output.checkpoints, self.saving.keep, spare=self.best_step)
            except OSError as error:
                problem = write_failure_reason(error)
        failed = self._in_any_process(bool(problem))
        self.checkpoint_problem = self._abandon_checkpoint(final, problem) if failed else ""
        self.progress.warn(self.checkpoint_problem)
        self._saved_at = time.monotonic()
        self._saving_took = self._saved_at - started

    def _write_checkpoint(self, folder: Path) -> None:
        """Write this process's files; those that are the same everywhere only in the main process."""
        folder.mkdir(parents=True, exist_ok=True)
        if not self._is_sharded and self.args.should_save:
            save_file(_trained_weights(self.accelerator.unwrap_model(self.model)), folder / WEIGHTS)
        self._save_optimizer_and_scheduler(str(folder))
        self._save_scaler(str(folder))
        self._save_rng_state(str(folder))
        if self.args.should_save:
            self.state.save_to_json(str(folder / TRAINER_STATE_NAME))
            replace_json(folder / "training.json", self.explanation | {"step": self.state.global_step})

    def _abandon_checkpoint(self, final: Path, problem: str) -> str:
        """Remove what was written of a checkpoint; the warning to show."""
        if self.args.should_save:
            shutil.rmtree(checkpoints.partial_folder(final), ignore_errors=True)
        last = self.output.last_checkpoint()
        template = _(
            "The checkpoint of step %(step)s could not be written (%(why)s); there is none before it."
        )
        if last:
            template = _(
                "The checkpoint of step %(step)s could not be written (%(why)s); that of step %(kept)s is kept."
            )
        why = problem or _("another process could not write its part")
        kept = checkpoints.step_of(last) if last else None
        return template % {"step": checkpoints.step_of(final), "why": why, "kept": kept}

    def _in_any_process(self, here: bool) -> bool:
        """Whether `here` is true in any process. A collective operation: every process must call it."""
        if self.args.world_size == 1:
            return here
        flag = torch.tensor([here], dtype=torch.long, device=self.args.device)
        return bool(self.accelerator.gather(flag).any())

    def finished_model(self, build: Callable[[], nn.Module]) -> nn.Module | None:
        """The model with the trained weights; None in a process that does not save it.

        Sharded weights are gathered into the memory of the main process's CPU and loaded into a new model there, and
        adapters beside rounded weights into one whose weights are not. build: makes that model. Raises TrainingError.
        """
        if not self._is_sharded:
            trained: nn.Module = self.accelerator.unwrap_model(self.model_wrapped)
            if not self.args.should_save:
                return None
            return _with_trained_weights(build(), trained) if has_rounded_weights(trained) else trained
        weights = self.accelerator.get_state_dict(self.model_wrapped)
        if not self.args.should_save:
            return None
        model = build()
        # A tied weight may arrive under only one of its names.
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

    def model_of_checkpoint(self, checkpoint: Path, build: Callable[[], nn.Module]) -> nn.Module | None:
        """A new model with the weights of a checkpoint; None in a process that does not save it.

        build: makes the model as it was before the first step. Raises TrainingError. Every process calls it; where
        weights are spread over processes, those of the checkpoint replace the trained ones.
        """
        if self._is_sharded:
            self.state.best_model_checkpoint = str(checkpoint)
            self._load_best_model()
            return self.finished_model(build)
        if not self.args.should_save:
            return None
        model = build()
        _load_weights(model, checkpoint)
        return model

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        """Copy saved weights into the model in place, so that the optimiser keeps referring to the same tensors.

        Overrides the Trainer's method, which looks for a whole model's file. Raises TrainingError if the checkpoint
        was written by another launcher, or for other weights (adapters of another rank, for example).
        """
        weights = Path(resume_from_checkpoint) / WEIGHTS
        if self._is_sharded == weights.is_file():
            template = _("%(checkpoint)s was written by FSDP or DeepSpeed.")
            if self._is_sharded:
                template = _("%(checkpoint)s was written without FSDP or DeepSpeed.")
            raise TrainingError(
                template % {"checkpoint": resume_from_checkpoint},
                _("Resume with the launcher and the configuration that it was written with."),
            )
        if self._is_sharded:
            super()._load_from_checkpoint(resume_from_checkpoint, model)
            return
        _load_weights(self.accelerator.unwrap_model(self.model), Path(resume_from_checkpoint))


def _load_weights(model: nn.Module, checkpoint: Path) -> None:
    """Copy the trained weights of a checkpoint into the model in place. Raises TrainingError if they do not fit."""
    mine, saved = _trained_weights(model), load_file(checkpoint / WEIGHTS)
    if saved.keys() != mine.keys():
        raise TrainingError(
            _("The weights in %(checkpoint)s are not those of this model.") % {"checkpoint": checkpoint},
            _("Start again from the beginning."),
        )
    _copy_weights(mine, saved)


def _with_trained_weights(model: nn.Module, trained: nn.Module) -> nn.Module:
    """The model, its trained weights replaced by those of another of the same shape."""
    _copy_weights(_trained_weights(model), _trained_weights(trained))
    return model


def _copy_weights(mine: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, weight in mine.items():
            weight.copy_(others[name])


def _trained_weights(model: nn.Module) -> dict[str, Tensor]:
    """The weights that are trained, by name; a tied weight once.

    `.data` shares memory with the parameter, so that saving does not copy the model.
    """
    return {name: weight.data for name, weight in model.named_parameters() if weight.requires_grad}
