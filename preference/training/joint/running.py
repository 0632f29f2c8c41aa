"""One training run from the data to the saved model."""

from __future__ import annotations

import argparse
import os
import shutil
from functools import partial
from pathlib import Path

import torch
from transformers import TrainingArguments

from generation.backends.hf.loading import folder_hash, is_folder
from preference.training.common import checkpoints
from preference.training.common.errors import TrainingError
from preference.training.common.memory import is_out_of_memory, told_of_memory
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext, together
from preference.training.common.progress import Progress
from preference.training.common.stopping import Stopped, StopRequest
from preference.training.joint.data import TrainingDialogue, read_dialogues
from preference.training.joint.encoding import Encoder
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts import Layout, choose_layout
from preference.training.joint.lora import add_adapters, merge_adapters
from preference.training.joint.output import Explanation, Output, commit, sha256_of, versions
from preference.training.joint.recipe import JointRecipe
from preference.training.joint.schedule import Schedule
from preference.training.joint.trainer import JointTrainer, Saving

GPU_BUDGET, CPU_BUDGET = 16_384, 1024  # tokens of a micro-batch
# Accelerate's ways to load the weights in one process, or none of them whole. What a model can do is found out by
# trying it in every process, before training.
LOADED_WHOLE = {"FSDP_CPU_RAM_EFFICIENT_LOADING": "false", "ACCELERATE_DEEPSPEED_ZERO3_INIT": "false"}


@told_of_memory()
def run(
    options: argparse.Namespace, recipe: JointRecipe, output: Output, progress: Progress, stop: StopRequest
) -> None:
    """Trains and writes output.model. Raises TrainingError and Stopped."""
    torch.set_num_threads(options.threads or torch.get_num_threads())
    trainer = prepare(options, recipe, output, progress, stop)
    checkpoint = output.last_checkpoint()
    done = checkpoints.step_of(checkpoint) if checkpoint else 0
    if options.resume:
        progress.say(
            f"Going on after step {done}." if done else "No checkpoint yet: starting from the beginning."
        )
    progress.begin(done=done, steps=trainer.schedule.steps, epochs=recipe.epochs)
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    except Stopped as stopped:
        if stop.steps_run:  # before, there is no optimiser yet, and nothing that the last checkpoint lacks
            trainer.save_now()
        trainer.accelerator.end_training()
        raise Stopped(stopped.signum, together(stopped.why, trainer.not_saved)) from None
    progress.state("running", _("Saving the model."))
    finished = trainer.finished_model(partial(build, options.model, recipe))
    trainer.accelerator.end_training()  # in all processes at once, which NCCL asks for
    if finished is not None:
        merge_adapters(finished.backbone)
        if options.save_as == "bf16":
            finished.backbone.to(torch.bfloat16)
        about = {"step": trainer.state.global_step, "saved_as": options.save_as}
        save(finished, output, trainer.explanation | about)
    progress.state("done")
    progress.say(f"Done: {output.model}")


def prepare(
    options: argparse.Namespace, recipe: JointRecipe, output: Output, progress: Progress, stop: StopRequest
) -> JointTrainer:
    """Everything that can be wrong with data, model and folder shows here, before training. Raises TrainingError."""
    progress.state("running", _("Reading the data."))
    dialogues = learned_from(options.data)
    schedule = Schedule(dialogues, recipe)
    progress.state("running", _("Loading the model."))
    args = arguments(options.device, recipe, output)
    model = build(options.model, recipe)
    args.use_cache = model.config.use_cache  # the Trainer writes it into the configuration, which is saved
    encoder = Encoder(model.tokenizer, context=recipe.context, reply=recipe.reply, positions=model.positions)
    budget = recipe.token_budget or (CPU_BUDGET if args.device.type == "cpu" else GPU_BUDGET)
    layout = choose_layout(model, dialogues, encoder, wanted=recipe.layout, token_budget=budget)
    explanation: Explanation = {
        "recipe": recipe.as_dict(),
        "data": {"path": str(options.data), "sha256": sha256_of(options.data), "dialogues": len(dialogues)},
        "base_model": {"name": options.model, "version": version_of(options.model, model)},
        "layout": {"name": layout.name, "notes": [*model.notes, *encoder.notes, *layout.notes]},
        "steps": schedule.steps,
        "quadruples_an_epoch": schedule.quadruples,
        "processes": args.world_size,
        "device": args.device.type,
        "precision": "bf16" if args.bf16 else "fp32",
        "commit": commit(),
        "versions": versions(),
    }
    output.check_same_run(explanation)
    if args.should_save:
        output.explain(explanation)
    tell(progress, explanation, model)
    return JointTrainer(
        model,
        args,
        recipe=recipe,
        schedule=schedule,
        lay_out=lambda tokens: Layout(layout.name, dialogues, encoder, token_budget=tokens),
        token_budget=budget,
        output=output,
        progress=progress,
        stop=stop,
        explanation=explanation,
        saving=Saving(options.checkpoint_steps, options.keep),
    )


def save(model: JointModel, output: Output, about: Explanation) -> None:
    """Raises TrainingError where the disk is full; the run can then be resumed."""
    try:
        model.save_pretrained(output.model, about=about)
    except TrainingError as error:
        shutil.rmtree(output.model.with_name("model.part"), ignore_errors=True)
        raise TrainingError(error.cause, _("Free some disk space, then go on with --resume.")) from error
    for file in output.model.iterdir():
        file.chmod((output.model / "config.json").stat().st_mode)  # safetensors lets nobody else read


def learned_from(data: Path) -> list[TrainingDialogue]:
    """The dialogues of the split `train`, and those of no split. Raises TrainingError."""
    found = read_dialogues(data)
    kept = [dialogue for dialogue in found if dialogue.split in ("train", "")]
    if not kept:
        raise TrainingError(
            ngettext(
                "The one dialogue in %(data)s is not of the split train.",
                "None of the %(count)s dialogues in %(data)s is of the split train.",
                len(found),
            )
            % {"count": len(found), "data": data},
            _("Take a snapshot that has training dialogues."),
        )
    return kept


def build(source: str, recipe: JointRecipe) -> JointModel:
    """The model before its first step, on the CPU. Raises TrainingError."""
    try:
        model = JointModel.from_pretrained(source, seed=recipe.seed)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(
            _("The model %(model)s does not fit into memory.") % {"model": source}, _("Use a smaller model.")
        ) from error
    # Differences of scores do not depend on it: its gradient is rounding alone, which Adam would blow up.
    model.head.bias.requires_grad_(False)
    if recipe.lora_rank:
        torch.manual_seed(recipe.seed)
        add_adapters(model.backbone, recipe)
    if recipe.recompute:
        model.backbone.activation_checkpointing_enable({"use_reentrant": False})
    # What FSDP wraps on its own.
    model._no_split_modules = model.backbone._no_split_modules
    return model


def arguments(device: str, recipe: JointRecipe, output: Output) -> TrainingArguments:
    """Raises TrainingError where the device cannot what is asked for."""
    gpu = torch.cuda.is_available()
    if device == "cuda" and not gpu:
        raise TrainingError(
            _("A GPU is asked for, and PyTorch sees none."),
            _("Install PyTorch for CUDA and check `nvidia-smi`, or leave --device out."),
        )
    use_cpu = device == "cpu" or not gpu
    able = not use_cpu and torch.cuda.is_bf16_supported(including_emulation=False)
    if recipe.precision == "bf16" and not use_cpu and not able:
        raise TrainingError(_("This GPU does not compute in bf16."), _("Use --set precision=fp32."))
    half = recipe.precision == "bf16" or (recipe.precision == "auto" and able)
    # The recipe's precision also where the launcher has another.
    os.environ.update(LOADED_WHOLE, ACCELERATE_MIXED_PRECISION="bf16" if half else "no")
    return TrainingArguments(
        output_dir=str(output.checkpoints),
        per_device_train_batch_size=1,
        num_train_epochs=1,
        max_grad_norm=recipe.clip,
        seed=recipe.seed,
        use_cpu=use_cpu,
        bf16=half,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        log_level="error",
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        ddp_find_unused_parameters=False,
    )


def version_of(source: str, model: JointModel) -> str:
    """A folder by the hash of its files, a hub id by its commit."""
    if is_folder(source):
        return folder_hash(Path(source).expanduser())
    return str(getattr(model.config, "_commit_hash", None) or "unknown")


def tell(progress: Progress, about: Explanation, model: JointModel) -> None:
    """Before the first step, for a person."""
    every = sum(weight.numel() for weight in model.parameters())
    trained = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    share = "all" if trained == every else f"{trained / 1e6:.2f} M"
    progress.say(
        f"{about['data']['dialogues']} dialogues, {about['quadruples_an_epoch']} quadruples an epoch, "
        f"{about['steps']} steps of {about['recipe']['batch']}."
    )
    progress.say(
        f"{about['base_model']['name']}: {every / 1e6:.1f} M weights, {share} trained, in {about['precision']} on "
        f"{about['processes']} × {about['device']}; layout {about['layout']['name']}."
    )
    for note in about["layout"]["notes"]:
        progress.say(note)
    there = torch.cuda.device_count() if about["device"] == "cuda" else 0
    if about["processes"] == 1 < there:
        progress.say(
            f"One of {there} GPUs is used; for all: torchrun --nproc-per-node {there} -m preference.training.joint …"
        )
