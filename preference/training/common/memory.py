"""Recognising and reporting that memory ran out.

Memory runs out in two ways with different remedies. Activations grow with the tokens of a micro-batch: the trainer
halves it and tries again. Weights, gradients and Adam's moments do not: only a smaller model, adapters or more GPUs
help.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of PyTorch means that memory ran out.

    CUDA mostly raises a class of its own; its libraries (cuBLAS, NCCL) and the CPU allocator only say so in
    the message.
    """
    known = isinstance(error, (torch.OutOfMemoryError, MemoryError))
    return known or any(words in str(error) for words in OUT_OF_MEMORY)


@contextlib.contextmanager
def report_model_too_large(source: str) -> Iterator[None]:
    """Raise TrainingError if a model does not fit into memory while it is loaded. source: its folder or hub id."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(
            _("The model %(model)s does not fit into memory.") % {"model": source}, _("Use a smaller model.")
        ) from error


@contextlib.contextmanager
def report_out_of_memory() -> Iterator[None]:
    """Raise TrainingError if weights, gradients or the optimiser's state do not fit.

    A model in fp32 with Adam needs 16 bytes per trained weight (weight, gradient and two moments of 4 bytes each) and
    4 bytes per frozen one. Smaller micro-batches change none of that; what they change is activations.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(
            _(
                "The weights, their gradients and the optimiser's state do not fit into memory: "
                "16 bytes a trained weight, 4 a frozen one."
            ),
            _(
                "Use --lora or a smaller model, or spread them over several GPUs (FSDP, by `accelerate config`)."
            ),
        ) from error


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Tokens of a micro-batch, padding included. A GPU is busy only with many; a CPU is busy with few."""

    gpu: int
    cpu: int

    def choose(self, wanted: int | None, device: str) -> int:
        """wanted: of the recipe or the caller; None or 0 for what suits the device. device: cpu or cuda."""
        return wanted or (self.cpu if device == "cpu" else self.gpu)
