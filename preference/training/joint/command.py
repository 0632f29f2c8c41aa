"""Generation-evaluation joint training (Diamante) of a causal language model on what annotators chose.

    python -m preference.training.joint --data SNAPSHOT --model FOLDER_OR_ID --output DIR

trains with the paper's settings on the dialogues of the split train and on those without a split. DIR/model is then an
ordinary Hugging Face folder with its preference head beside it; --chat-template keeps the template of the base, through
which it is then trained and served. Also in DIR: last/ (the model
of the last step, if validation chose an earlier one), checkpoints/, training.json (recipe, data, base model, layout,
versions), progress.jsonl, state.json and tensorboard/.

All visible GPUs take part, one process each, started through torchrun; --processes says how many instead. Weights that
do not fit into one of them are spread by --set sharding=fsdp (or deepspeed). Several machines that share DIR: the same
command after `torchrun … -m` or `accelerate launch … -m`, whose configuration may also choose FSDP or DeepSpeed. The
result is the same, because a step's quadruples are divided among the processes.

SIGTERM or Ctrl-C writes a checkpoint and ends the run (exit 143 or 130); --resume goes on from the last one, and ends
at the same weights as a run that was never stopped. Exit 1: state.json and stderr name cause and remedy.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
from collections.abc import Sequence
from pathlib import Path

from preference.training.common.command import TrainingSession, add_run_options, run_to_status
from preference.training.common.launching import Launch, add_processes_option
from preference.training.common.recipes import with_settings
from preference.training.common.trackers import add_report_option, check_trackers
from preference.training.joint.recipe import RECIPES, JointRecipe, with_lora


def parser() -> argparse.ArgumentParser:
    """The command line of `python -m preference.training.joint`."""
    parser = argparse.ArgumentParser(
        prog="python -m preference.training.joint",
        description=__doc__,
        epilog=_settings_table(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        required=True,
        help="snapshot folder, or a JSONL file in the format diamante or quadruples",
    )
    add(
        "--model", required=True, help="folder or hub id of a causal language model, or a jointly trained one"
    )
    add("--recipe", choices=sorted(RECIPES), default="diamante", help="default: diamante, the paper's")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting; may be repeated")
    add(
        "--lora",
        action="store_true",
        help="train only the head and adapters of rank 16, at a peak_lr of 1e-4 unless the recipe's is higher; "
        "they are merged in the end",
    )
    add(
        "--chat-template",
        action="store_true",
        help="read dialogues through the chat template of the base, as servers do, and keep it; the same as "
        "--set chat_template=true",
    )
    add("--seed", type=int, help="of sampling, order, and new weights; the same as --set seed=…")
    add_report_option(parser)
    add_run_options(parser)
    add_processes_option(parser)
    return parser


def _settings_table() -> str:
    """What --set can change, with each recipe's value."""
    columns = {name: recipe().as_dict() for name, recipe in RECIPES.items()}
    rows = {"setting": list(columns)} | {
        field.name: [str(values[field.name]) for values in columns.values()]
        for field in dataclasses.fields(JointRecipe)
    }
    lines = [f"  {name:16}" + "".join(f"{value:>12}" for value in row) for name, row in rows.items()]
    meaning = inspect.getdoc(JointRecipe) or ""
    return "\n".join(["settings:", *lines, "", meaning.split("\n\n", 1)[-1]])


def build_recipe(options: argparse.Namespace) -> JointRecipe:
    """The recipe with --lora, --seed and --set. Raises TrainingError for a value out of bounds."""
    recipe = RECIPES[options.recipe]()
    if options.lora:
        recipe = with_lora(recipe)
    seed = [] if options.seed is None else [f"seed={options.seed}"]
    template = ["chat_template=true"] if options.chat_template else []
    return with_settings(recipe, [*seed, *template, *options.set])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    launch = Launch("preference.training.joint", arguments)
    return run_to_status(parser().parse_args(arguments), _checked_recipe, _train, launch)


def _checked_recipe(options: argparse.Namespace) -> JointRecipe:
    """The recipe; a tracker that is missing is reported before anything is read. Raises TrainingError."""
    check_trackers(options.report_to)
    return build_recipe(options)


def _train(options: argparse.Namespace, recipe: JointRecipe, session: TrainingSession) -> None:
    # Imported here because PyTorch takes seconds to load, and a wrong option is to be reported at once.
    from preference.training.joint.run import train

    train(options, recipe, session)
