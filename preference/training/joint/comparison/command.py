"""Does joint training pay? The arms of the paper, trained from several seeds and compared (Diamante, Table 5).

    python -m preference.training.joint.comparison --data SNAPSHOT --model FOLDER --recipe quick --output DIR

trains two arms from every seed, into DIR/joint-1, DIR/generation-1, …:

- joint: the recipe as it is;
- generation: the same without the ranking loss (ranking_weight=0), the paper's comparison “w/o joint training”.

Then it ranks the human reply of every held-out turn among its candidates by both arms, by the model before training,
and by controls that cannot have read the context, and writes DIR/comparison.json. Every figure is the mean over the
seeds; its 95 % interval resamples whole dialogues, and says nothing about other seeds, whose range stands beside it.

A run that was stopped goes on where it was when the command is given again; arms that are done are not trained again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from preference.training.common.command import positive_int
from preference.training.common.dialogues import read_dialogues
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.joint.command import build_recipe
from preference.training.joint.evaluation.command import COPIES, TRAIN, dialogues_of_split, without_copies
from preference.training.joint.recipe import RECIPES

STDERR = 2  # file descriptor: a training's lines are progress, and stdout is for the report
# The settings of each arm beside the recipe's.
ARMS = {"joint": (), "generation": ("ranking_weight=0",)}


def parser() -> argparse.ArgumentParser:
    """The command line of `python -m preference.training.joint.comparison`."""
    parser = argparse.ArgumentParser(
        prog="python -m preference.training.joint.comparison",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="snapshot folder, or a JSONL file in the format diamante")
    add("--model", required=True, help="folder or hub id of the model before training")
    add("--output", type=Path, required=True, help="new folder, or that of a comparison to go on with")
    add("--recipe", choices=sorted(RECIPES), default="diamante", help="default: diamante, the paper's")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting; may be repeated")
    add("--seeds", type=positive_int, nargs="+", default=[1, 2, 3], metavar="SEED", help="default: 1 2 3")
    add("--split", default="test", help="whose dialogues are ranked (default: test)")
    add("--copies", choices=COPIES, default=COPIES[0], help="as in preference.training.joint.evaluation")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: a GPU if there is one")
    add("--threads", type=positive_int, help="of PyTorch on the CPU")
    add("--json", action="store_true", help="print the report as JSON, not as a table")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status. On failure the last two lines on stderr are cause and remedy."""
    options = parser().parse_args(arguments)
    try:
        report = compare(options)
    except TrainingError as error:
        print(f"{error.cause}\n{error.remedy}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        from preference.training.joint.comparison.table import table

        print(table(report))
    return 0


def compare(options: argparse.Namespace) -> dict[str, object]:
    """Train what is not trained yet, and compare. Raises TrainingError."""
    options.lora, options.chat_template, options.seed = False, False, None
    recipe = build_recipe(options)
    everything = read_dialogues(options.data)
    held_out = dialogues_of_split(everything, options.split, options.data)
    if options.copies == "removed":
        held_out = [without_copies(dialogue) for dialogue in held_out]
    seeds = sorted(set(options.seeds))
    for seed in seeds:
        for arm in ARMS:
            train_arm(options, arm, seed)
    # Imported here because PyTorch takes seconds to load.
    from preference.training.joint.comparison.report import HeldOut, build_report, score_arms

    train = [dialogue for dialogue in everything if dialogue.split == TRAIN]
    data = HeldOut(
        held_out,
        train,
        recipe.context,
        recipe.reply,
        recipe.dialogue_format,
        options.device,
        options.threads,
    )
    report = {
        "data": str(options.data),
        "model": options.model,
        "recipe": recipe.as_dict(),
        "split": options.split,
        "copies": options.copies,
        "seeds": seeds,
        **build_report(score_arms(data, options.model, options.output, seeds), data),
    }
    text = json.dumps(report, ensure_ascii=False, indent=2)
    (options.output / "comparison.json").write_text(text + "\n", encoding="utf-8")
    return report


def train_arm(options: argparse.Namespace, arm: str, seed: int) -> None:
    """One training run in a process of its own, which goes on from its last checkpoint. Raises TrainingError."""
    output = options.output / f"{arm}-{seed}"
    print(f"== {output.name}", file=sys.stderr, flush=True)
    settings = [part for setting in (*options.set, *ARMS[arm]) for part in ("--set", setting)]
    threads = ["--threads", str(options.threads)] if options.threads else []
    command = [sys.executable, "-m", "preference.training.joint", "--data", str(options.data)]
    command += ["--model", options.model, "--recipe", options.recipe, *settings, "--seed", str(seed)]
    command += ["--output", str(output), "--resume", "--device", options.device, *threads]
    command += ["--parent", str(os.getpid())]
    status = subprocess.run(command, stdout=STDERR, check=False).returncode
    if status:
        raise TrainingError(
            _("The training in %(folder)s ended with status %(status)s.")
            % {"folder": output, "status": status},
            _("Its last lines say why; give the same command again to go on."),
        )
