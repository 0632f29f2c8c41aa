"""Training a network to classify dialogues. Read `train_network` from top to bottom.

Loss: the mean cross-entropy of the right class. AdamW, a constant learning rate, gradients clipped to norm 1, up to 10
epochs; the weights after the epoch with the best macro F1 on the split valid are the result (DiQAD, section 5.1).

FOLDER/checkpoints/checkpoint-STEP/state.pt   trained weights, optimiser, random generators, and the curve so far
FOLDER/best.safetensors                       trained weights after the best epoch so far
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy

from measures.classification import classification
from preference.training.assessor.data import LabelledDialogue, turns_of
from preference.training.assessor.input_text import encode
from preference.training.assessor.network import Network
from preference.training.assessor.prediction import (
    autocast,
    batches_of_similar_length,
    class_probabilities,
    pad,
)
from preference.training.assessor.recipe import AssessorRecipe
from preference.training.common import checkpoints
from preference.training.common.checkpointing import SAVE_EVERY, Saving
from preference.training.common.disk import WRITE_ERRORS, report_unwritable, write_failure_reason
from preference.training.common.errors import TrainingError
from preference.training.common.memory import is_out_of_memory
from preference.training.common.messages import gettext as _
from preference.training.common.stopping import Stopped, StopRequest


@dataclass(frozen=True, slots=True)
class Epoch:
    """number: from 1. loss: mean of its steps, in nats. valid_f1: macro F1 on the split valid, None if undefined."""

    number: int
    loss: float
    valid_f1: float | None


@dataclass(slots=True)
class TrainingPosition:
    """How far training is; saved with every checkpoint. loss_sum: over the steps of the current epoch, in nats."""

    step: int = 0
    loss_sum: float = 0.0
    epochs: list[Epoch] = field(default_factory=list)

    @property
    def best(self) -> Epoch | None:
        """The first epoch with the best F1; None before the end of the first."""
        return max(self.epochs, key=lambda epoch: (epoch.valid_f1 or 0.0, -epoch.number), default=None)


@dataclass(frozen=True, slots=True)
class TrainingContext:
    """What training needs besides network and data.

    folder: of this training's files. report: called after every optimiser step with (step from 1, epoch from 1, loss).
    announce: called after every epoch.
    """

    folder: Path
    stop: StopRequest
    saving: Saving
    report: Callable[[int, int, float], None]
    announce: Callable[[Epoch], None] = lambda epoch: None
    bf16: bool = False


def steps_of(recipe: AssessorRecipe, dialogues: int) -> int:
    """Optimiser steps of a training on so many dialogues."""
    return recipe.epochs * math.ceil(dialogues / recipe.batch)


def train_network(
    network: Network,
    train: Sequence[LabelledDialogue],
    valid: Sequence[LabelledDialogue],
    recipe: AssessorRecipe,
    *,
    rate: float,
    context: TrainingContext,
) -> list[Epoch]:
    """Train in place, and leave the network with the weights of its best epoch. Returns all epochs.

    rate: learning rate. Goes on from a checkpoint in context.folder, and then ends at the same weights as a training
    that was never stopped. Raises TrainingError and Stopped.
    """
    run = _Run(network, train, recipe, rate, context)
    run.resume()
    try:
        for number in range(len(run.position.epochs) + 1, recipe.epochs + 1):
            loss = run.epoch(number)
            probabilities = class_probabilities(
                network, turns_of(valid), bf16=context.bf16, check=context.stop.check
            )
            run.finish_epoch(Epoch(number, loss, macro_f1(network, probabilities, valid)))
    except Stopped:
        run.save()
        raise
    _load_trained(network, context.folder / "best.safetensors")
    return run.position.epochs


def macro_f1(network: Network, probabilities: Any, dialogues: Sequence[LabelledDialogue]) -> float | None:
    """Macro F1 of the most probable classes; None without dialogues. probabilities: (dialogues, classes)."""
    predicted = network.task.labels(probabilities.argmax(axis=1))
    gold = [dialogue.label for dialogue in dialogues]
    return classification(gold, predicted, network.task.classes, replicates=0).f1.value


class _Run:
    """The state of one training: weights, optimiser, random generators and position."""

    def __init__(
        self,
        network: Network,
        train: Sequence[LabelledDialogue],
        recipe: AssessorRecipe,
        rate: float,
        context: TrainingContext,
    ) -> None:
        self.network, self.recipe, self.context = network, recipe, context
        self.rows = encode(network.tokenizer, turns_of(train), network.max_length)
        self.targets = torch.from_numpy(network.task.codes(dialogue.label for dialogue in train))
        trained = [weight for weight in network.model.parameters() if weight.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=recipe.weight_decay)
        self.position = TrainingPosition()
        self.micro_batch = recipe.batch  # dialogues of a forward pass; halved when memory runs out
        self.saved_at = time.monotonic()

    # One epoch

    def epoch(self, number: int) -> float:
        """All optimiser steps of an epoch that are not done yet; the mean loss of the epoch, in nats.

        The order of the batches follows from seed and epoch, so that a resumed epoch skips exactly what was learned.
        """
        generator = torch.Generator().manual_seed(self.recipe.seed * 1000 + number)
        batches = list(
            batches_of_similar_length([len(row) for row in self.rows], self.recipe.batch, generator)
        )
        done = self.position.step - (number - 1) * len(batches)
        for batch in batches[done:]:
            self.context.stop.check()
            # From here on a signal waits until the step is complete.
            self.context.stop.steps_run = True
            loss = self.step(batch)
            self.position.step += 1
            self.position.loss_sum += loss
            self.context.report(self.position.step, number, loss)
            if self.checkpoint_is_due():
                self.save()
        return self.position.loss_sum / len(batches)

    def step(self, batch: Sequence[int]) -> float:
        """One optimiser step on these training rows; returns its loss. Raises TrainingError if it is not finite."""
        self.network.model.train()
        loss = self.gradients(batch)
        trained = [weight for group in self.optimizer.param_groups for weight in group["params"]]
        limit = self.recipe.clip or math.inf
        norm = float(torch.nn.utils.clip_grad_norm_(trained, limit))
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise TrainingError(
                _("At step %(step)s the loss is %(loss)s and the norm of its gradient %(norm)s.")
                % {"step": self.position.step + 1, "loss": loss, "norm": norm},
                _("Use a lower rate, or --set precision=fp32."),
            )
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss

    def gradients(self, batch: Sequence[int]) -> float:
        """Gradients of the mean loss over the batch, in micro-batches that fit into memory."""
        while True:
            generators = _random_states()
            try:
                return sum(self.backward(part, len(batch)) for part in self.micro_batches(batch))
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                if self.micro_batch == 1:
                    raise TrainingError(
                        _("Memory ran out with a single dialogue of at most %(length)s tokens.")
                        % {"length": self.network.max_length},
                        _("Use --lora, a smaller model, or a shorter max_length."),
                    ) from error
            # Outside the handler, because the traceback keeps the tensors of the failed attempt alive.
            self.optimizer.zero_grad(set_to_none=True)
            _restore_random_states(generators)
            self.micro_batch = (self.micro_batch + 1) // 2

    def micro_batches(self, batch: Sequence[int]) -> Iterator[Sequence[int]]:
        for start in range(0, len(batch), self.micro_batch):
            yield batch[start : start + self.micro_batch]

    def backward(self, part: Sequence[int], batch: int) -> float:
        """Add the gradients of this part's share of the mean over `batch` dialogues; returns the share, in nats."""
        device = self.network.device
        ids, mask = pad([self.rows[place] for place in part], self.network.tokenizer.pad_token_id)
        with autocast(device, bf16=self.context.bf16):
            logits = self.network.model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
        targets = self.targets[list(part)].to(device)
        loss = cross_entropy(logits.float(), targets, reduction="sum") / batch
        torch.autograd.backward(loss)
        return float(loss.detach())

    def finish_epoch(self, epoch: Epoch) -> None:
        """Remember the epoch, keep its weights if it is the best so far, and write a checkpoint."""
        self.position.epochs.append(epoch)
        self.context.announce(epoch)
        self.position.loss_sum = 0.0
        if self.position.best is epoch:
            _replace_weights(self.context.folder / "best.safetensors", self.network)
        self.save()

    # Checkpoints

    @property
    def folder(self) -> Path:
        return self.context.folder / "checkpoints"

    def checkpoint_is_due(self) -> bool:
        """Every so many steps, or by the clock."""
        if self.context.saving.every:
            return self.position.step % self.context.saving.every == 0
        return time.monotonic() - self.saved_at > SAVE_EVERY

    def save(self) -> None:
        """Write a checkpoint of the last complete step. Raises TrainingError if the disk is full."""
        final = checkpoints.checkpoint_folder(self.folder, self.position.step)
        partial = checkpoints.partial_folder(final)
        try:
            partial.mkdir(parents=True, exist_ok=True)
            torch.save(self.state(), partial / "state.pt")
            checkpoints.publish(final)
            checkpoints.keep_newest(self.folder, self.context.saving.keep)
        except WRITE_ERRORS as error:
            raise TrainingError(
                _("The checkpoint of step %(step)s could not be written (%(why)s).")
                % {"step": self.position.step, "why": write_failure_reason(error)},
                _("Free some disk space, then continue with --resume."),
            ) from error
        self.saved_at = time.monotonic()

    def state(self) -> dict[str, Any]:
        """Everything that the next step depends on, besides data and recipe."""
        return {
            "weights": _trained_weights(self.network),
            "optimizer": self.optimizer.state_dict(),
            "random": _random_states(),
            "position": asdict(self.position),
        }

    def resume(self) -> None:
        """Continue from the newest checkpoint, if there is one."""
        checkpoints.remove_partial(self.folder)
        newest = checkpoints.newest(self.folder)
        if newest is None:
            return
        state = torch.load(newest / "state.pt", map_location=self.network.device, weights_only=True)
        _copy_weights(self.network, state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        _restore_random_states(state["random"])
        saved = state["position"]
        epochs = [Epoch(**epoch) for epoch in saved["epochs"]]
        self.position = TrainingPosition(saved["step"], saved["loss_sum"], epochs)


def _trained_weights(network: Network) -> dict[str, torch.Tensor]:
    """By name; shares memory with the model."""
    return {name: weight.data for name, weight in network.model.named_parameters() if weight.requires_grad}


def _copy_weights(network: Network, weights: dict[str, torch.Tensor]) -> None:
    with torch.no_grad():
        for name, weight in _trained_weights(network).items():
            weight.copy_(weights[name])


def _replace_weights(path: Path, network: Network) -> None:
    """Write beside the old file and swap, so that a kill leaves a complete one. Raises TrainingError."""
    partial = path.with_name(f".{path.name}.part")
    weights = {name: weight.contiguous().cpu() for name, weight in _trained_weights(network).items()}
    with report_unwritable(path, errors=WRITE_ERRORS):
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(weights, partial)
        partial.replace(path)


def _load_trained(network: Network, path: Path) -> None:
    _copy_weights(network, load_file(path))


def _random_states() -> list[torch.Tensor]:
    """States of the random generators of CPU and GPUs; dropout draws from them."""
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [])]


def _restore_random_states(states: list[torch.Tensor]) -> None:
    torch.set_rng_state(states[0].cpu())
    if len(states) > 1:
        torch.cuda.set_rng_state_all([state.cpu() for state in states[1:]])
