"""One PairEval or DirectEval training run, from the data to the saved model. Read `prepare` from top to bottom.

read data → draw comparison examples → plan steps → load model → find the label tokens → train → merge adapters → save
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
from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyToScore
from preference.training.common.memory import report_model_too_large, report_out_of_memory
from preference.training.common.messages import gettext as _
from preference.training.common.messages import ngettext
from preference.training.common.shared_context.forward import longest_sequence
from preference.training.common.shared_context.probe import why_not_shared
from preference.training.common.training_run import (
    begin_run,
    describe_weights,
    explain_run,
    finish_run,
    load_model,
    prepare_weights,
    run_steps,
)
from preference.training.paireval.batching import PromptBatching
from preference.training.paireval.comparisons import draw_comparisons
from preference.training.paireval.corpus import Example, read_examples
from preference.training.paireval.encoding import PromptEncoder
from preference.training.paireval.label_model import LabelModel
from preference.training.paireval.pairs import PairSampler
from preference.training.paireval.prompts import DIRECT, QUESTIONS
from preference.training.paireval.reading import BUDGET
from preference.training.paireval.recipe import BEFORE, FREE, PairRecipe
from preference.training.paireval.step_plan import PairPlan
from preference.training.paireval.trainer import PairTrainer

# Of a prompt, for one of the comparison examples that are stored with the model.
LARGEST_SHARE = 1 / 3


@report_out_of_memory()
def train(options: argparse.Namespace, recipe: PairRecipe, session: TrainingSession) -> None:
    """Train and write the model. options: of the command. Raises TrainingError and Stopped."""
    torch.set_num_threads(options.threads or torch.get_num_threads())
    trainer, comparisons = prepare(options, recipe, session)
    run_steps(
        trainer,
        session,
        epochs=recipe.epochs,
        resume=options.resume,
        finish=lambda: finish_run(
            trainer,
            partial(build_model, options.model, recipe),
            save_as=options.save_as,
            comparisons=comparisons,
        ),
    )


def prepare(
    options: argparse.Namespace, recipe: PairRecipe, session: TrainingSession
) -> tuple[PairTrainer, list[ReplyToScore]]:
    """The trainer, and the comparison examples that go with the model.

    Whatever is wrong with data or model is reported here, before training. Raises TrainingError.
    """
    session.progress.state("running", _("Reading the data."))
    examples = read_examples(options.data)
    learned = training_examples(examples, options.data)
    args, model = load_model(options, recipe, session, partial(build_model, options.model, recipe))
    encoder = build_encoder(model, recipe)
    fitting, notes = leave_out_too_long(learned, encoder)
    sampler = PairSampler(fitting, seed=recipe.seed, origins=recipe.origins)
    plan = PairPlan(sampler, batch=recipe.batch, epochs=recipe.epochs)
    reason = why_not_shared(model.backbone, encoder.positions or recipe.longest)
    explanation = explain_run(
        options,
        recipe,
        args,
        base_config=model.config,
        data={"histories": len(fitting), "negatives": plan.origins},
        layout={"name": "naive" if reason else "trees", "notes": [*model.notes, *notes]},
        amount={"steps": plan.steps, "pairs_an_epoch": plan.pairs},
    )
    comparisons = comparisons_to_store(examples, recipe, encoder)
    amount = f"{plan.pairs} pairs an epoch, {plan.steps} steps of {recipe.batch}."
    begin_run(explanation, args, session, free=FREE, before=BEFORE, amount=amount)
    describe_weights(session.progress, explanation, model)
    trainer = PairTrainer(
        model,
        args,
        recipe=recipe,
        plan=plan,
        batching_for=lambda tokens: PromptBatching(
            encoder, pad=model.tokenizer.eos_token_id, token_budget=tokens, share=not reason
        ),
        token_budget=BUDGET.choose(recipe.token_budget, args.device.type),
        session=session,
        explanation=explanation,
        saving=Saving(options.checkpoint_steps, options.keep),
    )
    return trainer, comparisons


def build_model(source: str, recipe: PairRecipe) -> LabelModel:
    """The model before its first step, on the CPU; source: folder or hub id. Raises TrainingError."""
    with report_model_too_large(source):
        model = LabelModel.from_pretrained(source)
    prepare_weights(model, recipe)
    return model


def build_encoder(model: LabelModel, recipe: PairRecipe) -> PromptEncoder:
    """Prompts of the recipe's question, at most as long as recipe and model allow. Raises TrainingError."""
    positions = min(recipe.longest, longest_sequence(model.config) or recipe.longest)
    return PromptEncoder(model.tokenizer, QUESTIONS[recipe.question], recipe.template, positions)


def training_examples(examples: Sequence[Example], data: Path) -> list[Example]:
    """The examples of the split `train` and those without a split. Raises TrainingError if none is left."""
    chosen = [example for example in examples if example.split in ("train", "")]
    if not chosen:
        raise TrainingError(
            _("No reply in %(data)s is of the split train.") % {"data": data},
            _("Take a snapshot that has training dialogues."),
        )
    return chosen


def comparisons_to_store(
    examples: Sequence[Example], recipe: PairRecipe, encoder: PromptEncoder
) -> list[ReplyToScore]:
    """The comparison examples that go with the model: as many as the recipe says, or as there are dialogues.

    Only examples that leave a prompt room for a reply with a longer history, and none of the split `test`.
    """
    if encoder.question is DIRECT:
        return []
    room = ((encoder.positions or recipe.longest) - encoder.frame) * LARGEST_SHARE
    usable = [
        example
        for example in examples
        if example.split != "test"
        and sum(map(encoder.length, (*example.history, max(example.positives, key=len)))) <= room
    ]
    held_out = [example for example in usable if example.split == "valid"]
    dialogues = {example.dialogue for example in held_out or usable}
    count = min(recipe.comparisons, len(dialogues))
    return draw_comparisons(usable, count, recipe.seed) if count else []


def leave_out_too_long(
    examples: Sequence[Example], encoder: PromptEncoder
) -> tuple[list[Example], list[str]]:
    """The examples without replies of which two do not fit into a prompt, and a note about those left out.

    A history can be shortened and a reply cannot: half of it would be another reply.
    """
    if encoder.positions is None:
        return list(examples), []
    room = (encoder.positions - encoder.frame) // encoder.question.conversations
    count = 0

    def fitting(texts: tuple[str, ...]) -> tuple[str, ...]:
        nonlocal count
        kept = tuple(text for text in texts if encoder.length(text) <= room)
        count += len(texts) - len(kept)
        return kept

    shorter = [
        dataclasses.replace(
            example,
            positives=fitting(example.positives),
            negatives={origin: fitting(texts) for origin, texts in example.negatives.items()},
        )
        for example in examples
    ]
    template = ngettext(
        "One reply has more than %(room)s tokens and is left out.",
        "%(count)s replies have more than %(room)s tokens and are left out.",
        count,
    )
    notes = [template % {"count": count, "room": room}] if count else []
    return [example for example in shorter if example.positives], notes
