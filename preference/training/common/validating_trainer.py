"""A StepTrainer that measures held-out data now and then, keeps the best weights, and stops when they get no better.

The weights of the best validation are those of a checkpoint, which is written right after it and stays until a better
one is complete. There is no other copy, so that a kill at any moment leaves a whole one.
"""

from __future__ import annotations

import math
from typing import Any

from torch import nn

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.messages import join_sentences, ngettext
from preference.training.common.step_trainer import StepTrainer
from preference.training.common.validation import (
    LAST,
    Figures,
    Validation,
    ValidationRules,
    best_of,
    validations_in,
)


class ValidatingTrainer(StepTrainer):
    """A subclass says what is measured: `held_out_figures`."""

    def __init__(self, *arguments: Any, rules: ValidationRules, **more: Any) -> None:
        """arguments, more: those of StepTrainer."""
        self.rules = rules
        super().__init__(*arguments, **more)

    def held_out_figures(self) -> Figures:
        """Measure the model as it is now. A collective operation: every process calls it and gets the same figures."""
        raise NotImplementedError

    @property
    def validations(self) -> list[Validation]:
        """The oldest first, also those before a stop."""
        return list(validations_in(self.state.log_history))

    @property
    def best_step(self) -> int | None:
        best = best_of(self.validations)
        return best.step if best else None

    @property
    def is_stopped_early(self) -> bool:
        return self.state.global_step < self.plan.steps and self.rules.is_exhausted(self.validations)

    def validate(self) -> Figures:
        """Validate if it is due; {} if not. The result is stored before a checkpoint can be written.

        A request to stop waits for the end: a checkpoint of this step without its validation would make a resumed run
        differ.
        """
        step = self.state.global_step
        is_last = step == self.plan.steps
        ends_epoch = is_last or self.plan.epoch_of(step) != self.plan.epoch_of(step - 1)
        if not self.rules.is_due(step, ends_epoch=ends_epoch, is_last=is_last):
            return {}
        figures = self.held_out_figures()
        if not all(map(math.isfinite, figures.values())):
            raise TrainingError(
                _("The validation loss after step %(step)s is %(value)s.")
                % {"step": step, "value": figures["loss"]},
                _("Start again with a lower peak_lr or clip=1."),
            )
        is_best = self.rules.improves(figures, self.validations)
        self.state.log_history.append(Validation(step, figures, is_best).as_entry())
        return figures

    def report_step(self) -> None:
        """As in StepTrainer; a best validation is followed by a checkpoint, unless the run ends with it anyway."""
        super().report_step()
        step = self.state.global_step
        if self.best_step == step < self.plan.steps:
            self.control.should_save = True
        if self.is_stopped_early:
            # A checkpoint of this step could only be resumed to train on.
            self.control.should_save, self.control.should_training_stop = False, True

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        """As in CheckpointingTrainer; where the disk is full, the validation of this step no longer counts as best."""
        super()._save_checkpoint(model, trial)
        step = self.state.global_step
        if self.checkpoint_problem and self.best_step == step:
            history = self.state.log_history
            self.state.log_history = [
                entry | {"is_best": False} if entry["step"] == step else entry for entry in history
            ]

    def result(self) -> dict[str, Any]:
        """What training.json says of the validations."""
        best = best_of(self.validations)
        if not self.validations:
            return {}
        about = {
            "best_by": self.rules.best_by,
            "best_step": best.step if best else None,
            "best": best.figures if best else None,
            "last": self.validations[-1].figures,
            "stopped_early": self.is_stopped_early,
        }
        return {"validation": about}

    def outcome(self) -> str:
        """Which weights the run ends with, and why, in sentences; "" if no validation chose."""
        best = best_of(self.validations)
        if best is None or self.rules.best_by == LAST:
            return ""
        chosen = ngettext(
            "The model is that of step %(step)s, the only validation (%(measure)s %(value)s); the last step was "
            "%(last)s.",
            "The model is that of step %(step)s, the best of %(count)s validations (%(measure)s %(value)s); the last "
            "step was %(last)s.",
            len(self.validations),
        ) % {
            "step": best.step,
            "count": len(self.validations),
            "measure": self.rules.best_by,
            "value": f"{best.figures[self.rules.best_by]:.4f}",
            "last": self.state.global_step,
        }
        if not self.is_stopped_early:
            return chosen
        stopped = ngettext(
            "Training stopped early, after %(count)s validation without a better one.",
            "Training stopped early, after %(count)s validations without a better one.",
            self.rules.patience,
        )
        return join_sentences(stopped % {"count": self.rules.patience}, chosen)
