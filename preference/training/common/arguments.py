"""Options and devices that every training command has.

transformers' Trainer supplies the parts that are the same for every model: accelerate, FSDP, DeepSpeed, mixed
precision, clipping, optimiser state. Which text a step learns, when a checkpoint is written and what is reported are
decided in this package, so the Trainer's own ways of doing these are turned off.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import TrainingArguments

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.sharding import AUTO, sharding_environment

# By default accelerate loads the weights into one process only, or into none as a whole. Every process needs the
# whole model before training, because what its architecture supports is found out by running it.
LOAD_EVERYWHERE = {"FSDP_CPU_RAM_EFFICIENT_LOADING": "false", "ACCELERATE_DEEPSPEED_ZERO3_INIT": "false"}


def choose_device(device: str) -> str:
    """cpu or cuda, from auto, cpu or cuda. Raises TrainingError if a GPU is asked for and there is none."""
    if device == "cuda" and not torch.cuda.is_available():
        raise TrainingError(
            _("A GPU is requested, but PyTorch sees none."),
            _("Install PyTorch for CUDA and check `nvidia-smi`, or leave --device out."),
        )
    return "cpu" if device == "cpu" or not torch.cuda.is_available() else "cuda"


def choose_bf16(precision: str, device: str) -> bool:
    """Whether to compute in bf16. precision: auto (if the GPU has it), fp32 or bf16. device: cpu or cuda.

    Raises TrainingError if the GPU lacks what is asked for.
    """
    gpu_has_it = device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    if precision == "bf16" and device == "cuda" and not gpu_has_it:
        raise TrainingError(_("This GPU does not compute in bf16."), _("Use --set precision=fp32."))
    return precision == "bf16" or (precision == "auto" and gpu_has_it)


@dataclass
class RunArguments(TrainingArguments):
    """parameters: what trackers store of the run, once it is known.

    They store `to_dict`, whose own values would be wrong: the learning rate, for one, is the recipe's.
    """

    parameters: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        own: dict[str, Any] = super().to_dict()  # type: ignore[no-untyped-call]
        return dict(self.parameters) or own


def training_arguments(
    folder: Path,
    *,
    device: str,
    precision: str,
    clip: float,
    seed: int,
    sharding: str = AUTO,
    report_to: Sequence[str] = (),
) -> RunArguments:
    """Arguments of transformers' Trainer for one batch per optimiser step, without its own saving and logging.

    folder: of the checkpoints. device: auto, cpu or cuda. precision: auto (bf16 if the GPU has it), fp32 or bf16.
    clip: largest norm of the gradient, 0 does not clip. sharding: see `sharding`. report_to: names of transformers'
    integrations. Raises TrainingError if the device lacks what is asked for.
    """
    chosen = choose_device(device)
    bf16 = choose_bf16(precision, chosen)
    # accelerate reads the environment first; the recipe's precision must win over the launcher's, or a resumed run
    # could continue in another precision without saying so.
    os.environ.update(LOAD_EVERYWHERE, ACCELERATE_MIXED_PRECISION="bf16" if bf16 else "no")
    os.environ.update(sharding_environment(sharding, chosen))
    return RunArguments(
        output_dir=str(folder),
        # One "sample" is the number of an optimiser step; the trainer itself builds its rows and micro-batches.
        per_device_train_batch_size=1,
        num_train_epochs=1,
        max_grad_norm=clip,
        seed=seed,
        use_cpu=chosen == "cpu",
        bf16=bf16,
        # Checkpoints go by the clock, and reports to files of our own (checkpointing.py, progress.py).
        save_strategy="no",
        logging_strategy="no",
        report_to=list(report_to) or "none",
        run_name=folder.parent.name,
        disable_tqdm=True,
        log_level="error",
        # The loader's column "step" is not an argument of the model's forward, and must not be dropped.
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        # Every trained weight is in the graph of every micro-batch, so DDP need not search for unused ones.
        ddp_find_unused_parameters=False,
    )
