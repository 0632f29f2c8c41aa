"""One joint training run, from the data to the saved model. Read `train` from top to bottom.

    read data → plan steps → load model → choose layout → compare with the checkpoint → train → merge adapters → save

Whatever can be wrong with the inputs is found before the first step, in order of cost: data takes seconds to read, a
model minutes to load.
"""

from __future__ import annotations

import argparse
import shutil
from functools import partial
from pathlib import Path
from typing import cast

import torch

from generation.backends.hf.loading import folder_hash, is_folder
from preference.training.common import checkpoints
from preference.training.common.arguments import training_arguments
from preference.training.common.checkpointing import Saving
from preference.training.common.command import Session
from preference.training.common.dialogues import TrainingDialogue, read_dialogues
from preference.training.common.errors import TrainingError
from preference.training.common.lora import add_adapters, merge_adapters
from preference.training.common.memory import is_out_of_memory, report_out_of_memory
from preference.training.common.messages import gettext as _
from preference.training.common.messages import join_sentences, ngettext
from preference.training.common.output import (
    Explanation,
    OutputFolder,
    code_commit,
    package_versions,
    sha256_of,
)
from preference.training.common.progress import Progress
from preference.training.common.stopping import Stopped
from preference.training.joint.encoding import Encoder
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.choice import choose_layout
from preference.training.joint.layouts.micro_batches import Layout
from preference.training.joint.recipe import FREE, JointRecipe
from preference.training.joint.step_plan import StepPlan
from preference.training.joint.trainer import JointTrainer

# Tokens of a micro-batch, padding included. A GPU is busy only with many; a CPU is busy with few.
GPU_BUDGET, CPU_BUDGET = 16_384, 1024


@report_out_of_memory()
def train(options: argparse.Namespace, recipe: JointRecipe, session: Session) -> None:
    """Train and write the model. options: of the command. Raises TrainingError and Stopped.

    Every process of a distributed run executes this; only the main one writes.
    """
    output, progress, stop = session.output, session.progress, session.stop
    torch.set_num_threads(options.threads or torch.get_num_threads())
    trainer = prepare(options, recipe, session)
    checkpoint = output.last_checkpoint()
    done = checkpoints.step_of(checkpoint) if checkpoint else 0
    if options.resume:
        progress.say(
            f"Going on after step {done}." if done else "No checkpoint yet: starting from the beginning."
        )
    progress.begin(done=done, steps=trainer.plan.steps, epochs=recipe.epochs)
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    except Stopped as stopped:
        if stop.steps_run:  # before that there is no optimiser, and nothing new to save
            trainer.save_now()
        trainer.accelerator.end_training()
        raise Stopped(stopped.signum, join_sentences(stopped.why, trainer.checkpoint_problem)) from None
    progress.state("running", _("Saving the model."))
    _finish(trainer, options, recipe, output)
    progress.state("done")
    progress.say(f"Done: {output.model}")


def _finish(
    trainer: JointTrainer, options: argparse.Namespace, recipe: JointRecipe, output: OutputFolder
) -> None:
    """Gather the weights, merge adapters, convert, and save: the result is an ordinary model without traces of how."""
    model = cast(JointModel | None, trainer.finished_model(partial(build_model, options.model, recipe)))
    trainer.accelerator.end_training()  # in all processes at once, as NCCL requires
    if model is None:
        return
    merge_adapters(model.backbone)
    if options.save_as == "bf16":
        model.backbone.to(torch.bfloat16)
    about = {"step": trainer.state.global_step, "saved_as": options.save_as}
    save_model(model, output, trainer.explanation | about)


def prepare(options: argparse.Namespace, recipe: JointRecipe, session: Session) -> JointTrainer:
    """Read the data and load the model; whatever is wrong with either is reported here, before training.

    Raises TrainingError.
    """
    output, progress = session.output, session.progress
    progress.state("running", _("Reading the data."))
    dialogues = read_training_dialogues(options.data)
    plan = StepPlan(dialogues, recipe)
    progress.state("running", _("Loading the model."))
    args = training_arguments(
        output.checkpoints,
        device=options.device,
        precision=recipe.precision,
        clip=recipe.clip,
        seed=recipe.seed,
    )
    model = build_model(options.model, recipe)
    args.use_cache = model.config.use_cache  # the Trainer writes it into the configuration, which is saved
    encoder = Encoder(model.tokenizer, context=recipe.context, reply=recipe.reply, positions=model.positions)
    budget = recipe.token_budget or (CPU_BUDGET if args.device.type == "cpu" else GPU_BUDGET)
    layout = choose_layout(model, dialogues, encoder, name=recipe.layout, token_budget=budget)
    explanation: Explanation = {
        "recipe": recipe.as_dict(),
        "data": {"path": str(options.data), "sha256": sha256_of(options.data), "dialogues": len(dialogues)},
        "base_model": {"name": options.model, "version": base_version(options.model, model)},
        "layout": {"name": layout.name, "notes": [*model.notes, *encoder.notes, *layout.notes]},
        "steps": plan.steps,
        "quadruples_an_epoch": plan.quadruples,
        "processes": args.world_size,
        "device": args.device.type,
        "precision": "bf16" if args.bf16 else "fp32",
        "commit": code_commit(),
        "versions": package_versions(),
    }
    output.check_same_run(explanation, free=FREE)
    if args.should_save:
        output.explain(explanation)
    describe_run(progress, explanation, model)
    return JointTrainer(
        model,
        args,
        recipe=recipe,
        plan=plan,
        layout_for=lambda tokens: Layout(layout.name, dialogues, encoder, token_budget=tokens),
        token_budget=budget,
        session=session,
        explanation=explanation,
        saving=Saving(options.checkpoint_steps, options.keep),
    )


def save_model(model: JointModel, output: OutputFolder, about: Explanation) -> None:
    """Write output.model. Raises TrainingError if the disk is full; the run can then be resumed.

    The half-written folder is removed, because it holds the space that the next attempt needs.
    """
    try:
        model.save_pretrained(output.model, about=about)
    except TrainingError as error:
        shutil.rmtree(output.model.with_name("model.part"), ignore_errors=True)
        raise TrainingError(error.cause, _("Free some disk space, then go on with --resume.")) from error
    for file in output.model.iterdir():
        # safetensors writes files that only their owner may read.
        file.chmod((output.model / "config.json").stat().st_mode)


def read_training_dialogues(data: Path) -> list[TrainingDialogue]:
    """The dialogues of the split `train` and those without a split. Raises TrainingError if there are none."""
    dialogues = read_dialogues(data)
    chosen = [dialogue for dialogue in dialogues if dialogue.split in ("train", "")]
    if not chosen:
        raise TrainingError(
            ngettext(
                "The one dialogue in %(data)s is not of the split train.",
                "None of the %(count)s dialogues in %(data)s is of the split train.",
                len(dialogues),
            )
            % {"count": len(dialogues), "data": data},
            _("Take a snapshot that has training dialogues."),
        )
    return chosen


def build_model(source: str, recipe: JointRecipe) -> JointModel:
    """The model before its first step, on the CPU; source: folder or hub id. Raises TrainingError.

    Deterministic: a new head and new adapters are drawn from the recipe's seed, so that every process, and a resumed
    run, starts from the same weights.
    """
    try:
        model = JointModel.from_pretrained(source, seed=recipe.seed)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(
            _("The model %(model)s does not fit into memory.") % {"model": source}, _("Use a smaller model.")
        ) from error
    # The loss sees differences of scores only, so the gradient of the bias is rounding error, which Adam would scale
    # up to full steps.
    model.head.bias.requires_grad_(False)
    if recipe.lora_rank:
        torch.manual_seed(recipe.seed)
        add_adapters(
            model.backbone, rank=recipe.lora_rank, alpha=recipe.lora_alpha, dropout=recipe.lora_dropout
        )
    if recipe.recompute:
        model.backbone.activation_checkpointing_enable({"use_reentrant": False})
    # The classes of layers that FSDP wraps one by one; it looks for them on the outermost module.
    model._no_split_modules = model.backbone._no_split_modules
    return model


def base_version(source: str, model: JointModel) -> str:
    """What identifies the base model: the hash of a folder's files, or the commit of a hub id.

    A name would not do: a folder can be overwritten, and a hub id moves with its default branch.
    """
    if is_folder(source):
        return folder_hash(Path(source).expanduser())
    return str(getattr(model.config, "_commit_hash", None) or "unknown")


def describe_run(progress: Progress, about: Explanation, model: JointModel) -> None:
    """Print, before the first step, what is trained on what."""
    total = sum(weight.numel() for weight in model.parameters())
    trained = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    share = "all" if trained == total else f"{trained / 1e6:.2f} M"
    progress.say(
        f"{about['data']['dialogues']} dialogues, {about['quadruples_an_epoch']} quadruples an epoch, "
        f"{about['steps']} steps of {about['recipe']['batch']}."
    )
    progress.say(
        f"{about['base_model']['name']}: {total / 1e6:.1f} M weights, {share} trained, in {about['precision']} on "
        f"{about['processes']} × {about['device']}; layout {about['layout']['name']}."
    )
    for note in about["layout"]["notes"]:
        progress.say(note)
    gpus = torch.cuda.device_count() if about["device"] == "cuda" else 0
    if about["processes"] == 1 < gpus:
        progress.say(
            f"One of {gpus} GPUs is used; for all: torchrun --nproc-per-node {gpus} -m preference.training.joint …"
        )
