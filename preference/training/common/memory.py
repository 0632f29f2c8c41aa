"""Memory that runs out: how it shows, and what to tell of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

NO_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    """CUDA says it mostly by class, its libraries and a CPU's allocator in words."""
    known = isinstance(error, (torch.OutOfMemoryError, MemoryError))
    return known or any(words in str(error) for words in NO_MEMORY)


@contextlib.contextmanager
def told_of_memory() -> Iterator[None]:
    """Raises TrainingError where weights, gradients or the optimiser's state do not fit: smaller rows do not help."""
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
