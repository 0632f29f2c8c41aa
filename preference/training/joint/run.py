"""One joint training run, from the data to the saved model. Read `train` from top to bottom.

    read data → plan steps → load model → choose layout → compare with the checkpoint → train → merge adapters → save

Whatever can be wrong with the inputs is found before the first step, in order of cost: data takes seconds to read, a
model minutes to load.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import cast

import torch

from preference.training.common.checkpointing import Saving
from preference.training.common.command import Session
from preference.training.common.dialogues import TrainingDialogue, read_dialogues
from preference.training.common.errors import TrainingError
from preference.training.common.lora import merge_adapters
from preference.training.common.memory import report_model_too_large, report_out_of_memory
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext
from preference.training.common.model_folder import save_finished
from preference.training.common.output import (
    Explanation,
    OutputFolder,
)
from preference.training.common.progress import Progress
from preference.training.common.training_run import (
    arguments_of_run,
    describe_weights,
    explain_run,
    prepare_weights,
    run_steps,
)
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
    torch.set_num_threads(options.threads or torch.get_num_threads())
    trainer = prepare(options, recipe, session)
    run_steps(
        trainer,
        session,
        epochs=recipe.epochs,
        resume=options.resume,
        finish=lambda: _finish(trainer, options, recipe, session.output),
    )


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
    save_finished(partial(model.save_pretrained, about=trainer.explanation | about), output.model)


def prepare(options: argparse.Namespace, recipe: JointRecipe, session: Session) -> JointTrainer:
    """Read the data and load the model; whatever is wrong with either is reported here, before training.

    Raises TrainingError.
    """
    output, progress = session.output, session.progress
    progress.state("running", _("Reading the data."))
    dialogues = read_training_dialogues(options.data)
    plan = StepPlan(dialogues, recipe)
    progress.state("running", _("Loading the model."))
    args = arguments_of_run(options, recipe, output)
    model = build_model(options.model, recipe)
    args.use_cache = model.config.use_cache  # the Trainer writes it into the configuration, which is saved
    encoder = Encoder(model.tokenizer, context=recipe.context, reply=recipe.reply, positions=model.positions)
    budget = recipe.token_budget or (CPU_BUDGET if args.device.type == "cpu" else GPU_BUDGET)
    layout = choose_layout(model, dialogues, encoder, name=recipe.layout, token_budget=budget)
    explanation = explain_run(
        options,
        recipe,
        args,
        base_config=model.config,
        data={"dialogues": len(dialogues)},
        layout={"name": layout.name, "notes": [*model.notes, *encoder.notes, *layout.notes]},
        amount={"steps": plan.steps, "quadruples_an_epoch": plan.quadruples},
    )
    output.check_same_run(explanation, free=FREE)
    if args.should_save:
        output.explain(explanation)
    describe_run(progress, explanation, model)
    return JointTrainer(
        model,
        args,
        recipe=recipe,
        plan=plan,
        batching_for=lambda tokens: Layout(layout.name, dialogues, encoder, token_budget=tokens),
        token_budget=budget,
        session=session,
        explanation=explanation,
        saving=Saving(options.checkpoint_steps, options.keep),
    )


def read_training_dialogues(data: Path) -> list[TrainingDialogue]:
    """The dialogues of the split `train` and those without a split. Raises TrainingError if none is left."""
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
    with report_model_too_large(source):
        model = JointModel.from_pretrained(source, seed=recipe.seed)
    # The loss sees differences of scores only, so the gradient of the bias is rounding error, which Adam would scale
    # up to full steps.
    model.head.bias.requires_grad_(False)
    prepare_weights(model, recipe)
    return model


def describe_run(progress: Progress, about: Explanation, model: JointModel) -> None:
    """Print, before the first step, what is trained on what."""
    progress.say(
        f"{about['data']['dialogues']} dialogues, {about['quadruples_an_epoch']} quadruples an epoch, "
        f"{about['steps']} steps of {about['recipe']['batch']}."
    )
    describe_weights(progress, about, model, "preference.training.joint")
