"""One joint training run, from the data to the saved model. Read `train` from top to bottom.

    read data → plan steps → load model → choose layout → compare with the checkpoint → train → merge adapters → save

Whatever can be wrong with the inputs is found before the first step, in order of cost: data takes seconds to read, a
model minutes to load.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from preference.training.common.checkpointing import Saving
from preference.training.common.command import TrainingSession
from preference.training.common.dialogues import TrainingDialogue, read_dialogues
from preference.training.common.errors import TrainingError
from preference.training.common.frozen_weights import FP32, dtype_of, loading_arguments
from preference.training.common.memory import TokenBudget, report_model_too_large, report_out_of_memory
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext
from preference.training.common.trackers import close_trackers
from preference.training.common.training_run import (
    begin_run,
    describe_weights,
    explain_run,
    finish_run,
    load_model,
    prepare_weights,
    run_steps,
)
from preference.training.joint.encoding import Encoder, prompt_format
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.choice import choose_layout
from preference.training.joint.layouts.micro_batches import Layout
from preference.training.joint.recipe import BEFORE, FREE, JointRecipe
from preference.training.joint.step_plan import QuadruplePlan
from preference.training.joint.trainer import JointTrainer
from preference.training.joint.validation import VALID, HeldOutTurns, draw_validation

BUDGET = TokenBudget(gpu=16_384, cpu=1024)


@report_out_of_memory()
def train(options: argparse.Namespace, recipe: JointRecipe, session: TrainingSession) -> None:
    """Train and write the model. options: of the command. Raises TrainingError and Stopped.

    Every process of a distributed run executes this; only the main one writes.
    """
    torch.set_num_threads(options.threads or torch.get_num_threads())
    trainer = prepare(options, recipe, session)
    unrounded = dataclasses.replace(recipe, frozen_weights=FP32)
    try:
        run_steps(
            trainer,
            session,
            epochs=recipe.epochs,
            resume=options.resume,
            finish=lambda: finish_run(
                trainer, partial(build_model, options.model, unrounded), save_as=options.save_as
            ),
        )
    finally:
        close_trackers(options.report_to)


def prepare(options: argparse.Namespace, recipe: JointRecipe, session: TrainingSession) -> JointTrainer:
    """Read the data and load the model; whatever is wrong with either is reported here, before training.

    Raises TrainingError.
    """
    session.progress.state("running", _("Reading the data."))
    everything = read_dialogues(options.data)
    dialogues = training_dialogues(everything, options.data)
    plan = QuadruplePlan(dialogues, recipe)
    args, model = load_model(options, recipe, session, partial(build_model, options.model, recipe))
    encoder = model.encoder(context=recipe.context, reply=recipe.reply)
    budget = BUDGET.choose(recipe.token_budget, args.device.type)
    layout = choose_layout(model, dialogues, encoder, name=recipe.layout, token_budget=budget)
    held_out, validation_notes = turns_to_validate(
        everything, recipe, encoder, share_contexts=layout.name != "naive"
    )
    explanation = explain_run(
        options,
        recipe,
        args,
        base_config=model.config,
        data={"dialogues": len(dialogues)} | ({"validation": held_out.counts} if held_out else {}),
        layout={
            "name": layout.name,
            "notes": [*model.notes, *encoder.notes, *layout.notes, *validation_notes],
        },
        amount={"steps": plan.steps, "quadruples_an_epoch": plan.quadruples},
    )
    explanation["prompt_format"] = prompt_format(model.tokenizer, encoder)
    amount = f"{len(dialogues)} dialogues, {plan.quadruples} quadruples an epoch, {plan.steps} steps of {recipe.batch}."
    begin_run(explanation, args, session, free=FREE, before=BEFORE, amount=amount)
    describe_weights(session.progress, explanation, model)
    return JointTrainer(
        model,
        args,
        recipe=recipe,
        held_out=held_out,
        plan=plan,
        batching_for=lambda tokens: Layout(layout.name, dialogues, encoder, token_budget=tokens),
        token_budget=budget,
        session=session,
        explanation=explanation,
        saving=Saving(options.checkpoint_steps, options.keep),
    )


def training_dialogues(dialogues: Sequence[TrainingDialogue], data: Path) -> list[TrainingDialogue]:
    """The dialogues of the split `train` and those without a split. Raises TrainingError if none is left."""
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


def turns_to_validate(
    dialogues: Sequence[TrainingDialogue], recipe: JointRecipe, encoder: Encoder, *, share_contexts: bool
) -> tuple[HeldOutTurns | None, list[str]]:
    """The turns of the split `valid` and a note if it has none; no turns either if the recipe never validates."""
    if recipe.validate_every is None:
        return None, []
    valid = [dialogue for dialogue in dialogues if dialogue.split == VALID]
    quadruples = draw_validation(valid, recipe)
    if quadruples:
        return HeldOutTurns(valid, quadruples, encoder, share_contexts=share_contexts), []
    note = _(
        "The split valid has no turns to rank, with candidates and with random replies from another dialogue, so "
        "that the run is not validated: it takes all its steps and ends with the last weights."
    )
    return None, [note]


def build_model(source: str, recipe: JointRecipe) -> JointModel:
    """The model before its first step, on the CPU; source: folder or hub id. Raises TrainingError.

    Deterministic: a new head and new adapters are drawn from the recipe's seed, so that every process, and a resumed
    run, starts from the same weights.
    """
    with report_model_too_large(source):
        model = JointModel.from_pretrained(
            source,
            seed=recipe.seed,
            dtype=dtype_of(recipe.frozen_weights),
            dialogue_format=recipe.dialogue_format,
            **loading_arguments(recipe.frozen_weights),
        )
    # The loss sees differences of scores only, so the gradient of the bias is rounding error, which Adam would scale
    # up to full steps.
    model.head.bias.requires_grad_(False)
    model.loss_weights = (recipe.nll_weight, recipe.ranking_weight)
    model.loss_chunk = recipe.loss_chunk
    prepare_weights(model, recipe)
    return model
