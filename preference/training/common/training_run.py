"""What every training run does around its trainer: prepare the weights, start or resume, stop, and describe itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import nn
from transformers import TrainingArguments

from generation.backends.hf.loading import folder_hash, is_folder
from preference.training.common import checkpoints
from preference.training.common.arguments import RunArguments, training_arguments
from preference.training.common.command import TrainingSession
from preference.training.common.errors import TrainingError
from preference.training.common.frozen_weights import FP32, check_frozen_weights, widen_trained
from preference.training.common.lora import add_adapters, merge_adapters
from preference.training.common.messages import gettext as _
from preference.training.common.messages import join_sentences
from preference.training.common.model_folder import save_finished
from preference.training.common.output import (
    Explanation,
    OutputFolder,
    code_commit,
    package_versions,
    sha256_of,
)
from preference.training.common.progress import Progress
from preference.training.common.sharding import AUTO
from preference.training.common.step_trainer import StepTrainer
from preference.training.common.stopping import Stopped
from preference.training.common.trackers import integrations, parameters_of

Model = TypeVar("Model", bound=nn.Module)


class WeightSettings(Protocol):
    """Settings of a recipe that decide which weights are trained, and how."""

    @property
    def seed(self) -> int: ...
    @property
    def recompute(self) -> bool: ...
    @property
    def lora_rank(self) -> int: ...
    @property
    def lora_alpha(self) -> int: ...
    @property
    def lora_dropout(self) -> float: ...


class DescribedRecipe(Protocol):
    """A recipe that can be written into training.json."""

    def as_dict(self) -> dict[str, Any]: ...


class RunSettings(WeightSettings, DescribedRecipe, Protocol):
    """Settings of a recipe that every run of the Trainer has."""

    @property
    def precision(self) -> str: ...
    @property
    def clip(self) -> float: ...


def arguments_of_run(options: argparse.Namespace, recipe: RunSettings, output: OutputFolder) -> RunArguments:
    """Arguments of transformers' Trainer. options: those of add_run_options. Raises TrainingError."""
    args = training_arguments(
        output.checkpoints,
        device=options.device,
        precision=recipe.precision,
        clip=recipe.clip,
        seed=recipe.seed,
        sharding=getattr(recipe, "sharding", AUTO),
        report_to=integrations(getattr(options, "report_to", [])),
    )
    frozen = getattr(recipe, "frozen_weights", FP32)
    check_frozen_weights(frozen, device=args.device.type, bf16=args.bf16)
    return args


def explain_run(
    options: argparse.Namespace,
    recipe: RunSettings,
    args: TrainingArguments,
    *,
    base_config: Any,
    data: Mapping[str, Any],
    layout: Mapping[str, Any],
    amount: Mapping[str, int],
) -> Explanation:
    """The content of training.json. options: with `data` and `model`. data: counts.

    amount: of steps.
    """
    origin = explain_origin(options, recipe, data=data, device=args.device.type, bf16=args.bf16)
    base_model = {"name": options.model, "version": base_version(options.model, base_config)}
    return origin | {"base_model": base_model, "layout": layout, "processes": args.world_size, **amount}


def explain_origin(
    options: argparse.Namespace,
    recipe: DescribedRecipe,
    *,
    data: Mapping[str, Any],
    device: str,
    bf16: bool,
) -> Explanation:
    """What every training.json says: recipe, data, device and code. options: with `data`. data: counts."""
    return {
        "recipe": recipe.as_dict(),
        "data": {"path": str(options.data), "sha256": sha256_of(options.data), **data},
        "device": device,
        "precision": "bf16" if bf16 else "fp32",
        "commit": code_commit(),
        "versions": package_versions(),
    }


def prepare_weights(model: Any, recipe: WeightSettings) -> None:
    """Add adapters if the recipe has them, in place. model: a module with a transformers model as its `backbone`.

    Deterministic: adapters are drawn from the recipe's seed, so that every process, and a resumed run, starts from the
    same weights.
    """
    backbone = model.backbone
    if recipe.lora_rank:
        torch.manual_seed(recipe.seed)
        add_adapters(backbone, rank=recipe.lora_rank, alpha=recipe.lora_alpha, dropout=recipe.lora_dropout)
        widen_trained(backbone)
    if recipe.recompute:
        backbone.activation_checkpointing_enable({"use_reentrant": False})
    # The classes of layers that FSDP wraps one by one; it looks for them on the outermost module.
    model._no_split_modules = backbone._no_split_modules


def load_model(
    options: argparse.Namespace, recipe: RunSettings, session: TrainingSession, build: Callable[[], Model]
) -> tuple[RunArguments, Model]:
    """Arguments of the Trainer, and the model before its first step. Raises TrainingError."""
    session.progress.state("running", _("Loading the model."))
    args = arguments_of_run(options, recipe, session.output)
    model = build()
    config: Any = model.config
    args.use_cache = config.use_cache  # the Trainer writes it into the configuration, which is saved
    return args, model


def begin_run(
    explanation: Explanation,
    args: RunArguments,
    session: TrainingSession,
    *,
    free: Collection[str],
    before: Mapping[str, Any],
    amount: str,
) -> None:
    """Write training.json, unless the last checkpoint is of another run, and print what is trained.

    free: settings of the recipe that may differ. before: what runs did before a setting existed. amount: a sentence.
    Raises TrainingError.
    """
    session.output.check_same_run(explanation, free=free, before=before)
    if args.should_save:
        session.output.explain(explanation)
    args.parameters = parameters_of(explanation)
    session.progress.say(amount)


def finish_run(trainer: StepTrainer, build: Callable[[], nn.Module], *, save_as: str, **files: Any) -> None:
    """Gather the weights, merge adapters, convert, and save: the result is an ordinary model without traces of how.

    Where a validation chose an earlier step, the model is that step's, and the last step's goes into DIR/last. build:
    the model as it was before the first step. save_as: fp32 or bf16. files: further arguments of the model's
    save_pretrained. Raises TrainingError.
    """
    best, last_step = trainer.best_checkpoint(), trainer.state.global_step
    last: Any = trainer.finished_model(build)
    chosen: Any = trainer.model_of_checkpoint(best, build) if best else last
    trainer.accelerator.end_training()  # in all processes at once, as NCCL requires
    if last is None:
        return
    about = trainer.explanation | {"last_step": last_step, "saved_as": save_as} | trainer.result()

    def save(model: Any, step: int, folder: Path) -> None:
        merge_adapters(model.backbone)
        if save_as == "bf16":
            model.backbone.to(torch.bfloat16)
        save_finished(partial(model.save_pretrained, about={**about, "step": step}, **files), folder)

    if best:
        try:
            save(last, last_step, trainer.output.last)
        except TrainingError as error:
            trainer.progress.say(error.cause)  # the chosen one matters more
    save(chosen, checkpoints.step_of(best) if best else last_step, trainer.output.model)


def run_steps(
    trainer: StepTrainer, session: TrainingSession, *, epochs: int, resume: bool, finish: Callable[[], None]
) -> None:
    """Train from the last checkpoint on, if there is one, and then `finish`, which saves the model.

    Raises TrainingError, and Stopped after a checkpoint was written.
    """
    output, progress = session.output, session.progress
    checkpoint = output.last_checkpoint()
    done = checkpoints.step_of(checkpoint) if checkpoint else 0
    if resume:
        progress.say(
            f"Going on after step {done}." if done else "No checkpoint yet: starting from the beginning."
        )
    progress.begin(done=done, steps=trainer.plan.steps, epochs=epochs)
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    except Stopped as stopped:
        if session.stop.steps_run:  # before that there is no optimiser, and nothing new to save
            trainer.save_now()
        trainer.accelerator.end_training()
        raise Stopped(stopped.signum, join_sentences(stopped.why, trainer.checkpoint_problem)) from None
    progress.state("running", _("Saving the model."))
    finish()
    progress.state("done", trainer.outcome())
    if trainer.outcome():
        progress.say(trainer.outcome())
    progress.say(f"Done: {output.model}")


def base_version(source: str, config: Any) -> str:
    """What identifies the base model: the hash of a folder's files, or the commit of a hub id.

    A name would not do: a folder can be overwritten, and a hub id moves with its default branch.
    """
    if is_folder(source):
        return folder_hash(Path(source).expanduser())
    return str(getattr(config, "_commit_hash", None) or "unknown")


def describe_weights(progress: Progress, about: Explanation, model: torch.nn.Module) -> None:
    """Print, before the first step, which weights are trained where, and the notes."""
    total = sum(weight.numel() for weight in model.parameters())
    trained = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    share = "all" if trained == total else f"{trained / 1e6:.2f} M"
    progress.say(
        f"{about['base_model']['name']}: {total / 1e6:.1f} M weights, {share} trained, in {about['precision']} on "
        f"{about['processes']} × {about['device']}; layout {about['layout']['name']}."
    )
    for note in about["layout"]["notes"]:
        progress.say(note)
    gpus = torch.cuda.device_count() if about["device"] == "cuda" else 0
    if about["processes"] == 1 < gpus:
        progress.say(f"One of {gpus} GPUs is used.")
