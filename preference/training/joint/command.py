"""Generation-evaluation joint training (Diamante) of a causal language model on what annotators chose.

    python -m preference.training.joint --data SNAPSHOT --model FOLDER_OR_ID --output DIR

trains with the paper's settings, on the dialogues of the split train and on those of no split. DIR/model is then an
ordinary Hugging Face folder, its preference head beside it, without a chat template. Also in DIR: checkpoints/,
training.json (recipe, data, base model, layout, versions), progress.jsonl, state.json and tensorboard/.

Several GPUs: the same after `torchrun --nproc-per-node N -m` or `accelerate launch -m`, whose configuration also
chooses FSDP or DeepSpeed; several machines too, where they share DIR. The result is the same, as a step's quadruples
are divided among the processes.

SIGTERM or Ctrl-C writes a checkpoint and ends the run (exit 143 or 130); --resume goes on from the last one, and
ends at the same weights as a run that was never stopped. Exit 1: state.json and stderr name cause and remedy.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.messages import together
from preference.training.common.progress import Progress
from preference.training.common.stopping import Stopped, StopRequest
from preference.training.joint.output import Output
from preference.training.joint.recipe import RECIPES, JointRecipe, changed, with_lora


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m preference.training.joint",
        description=__doc__,
        epilog=_settings(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add(
        "--data",
        type=Path,
        required=True,
        help="snapshot folder, or a JSONL file in shape diamante or quadruples",
    )
    add(
        "--model", required=True, help="folder or hub id of a causal language model, or a jointly trained one"
    )
    add("--output", type=Path, required=True, help="new or empty folder, or that of the run to --resume")
    add("--recipe", choices=sorted(RECIPES), default="diamante", help="default: diamante, the paper's")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting; may be repeated")
    add(
        "--lora",
        action="store_true",
        help="train the head and adapters of rank 16 only, at a peak_lr of 1e-4 unless the recipe's is higher; "
        "they are merged in the end",
    )
    add("--seed", type=int, help="of sampling, order, and new weights; the same as --set seed=…")
    add("--resume", action="store_true", help="go on from the last checkpoint in --output, if there is one")
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: a GPU where there is one")
    add("--threads", type=at_least_one, help="of PyTorch on the CPU")
    add(
        "--checkpoint-steps",
        type=at_least_one,
        metavar="N",
        help="default: every minute, or rarer where that costs > 5 %%",
    )
    add(
        "--save-as",
        choices=("fp32", "bf16"),
        default="fp32",
        help="weights of the finished model; bf16 takes half the space, on a GPU that serves it too (default: fp32)",
    )
    add("--keep", type=at_least_one, default=2, metavar="N", help="checkpoints to keep (default: the last 2)")
    add("--parent", type=int, metavar="PID", help="stop as on SIGTERM when this process has ended")
    add(
        "--quiet", action="store_true", help="no lines on stdout; progress.jsonl and state.json tell the same"
    )
    return made


def at_least_one(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number of at least 1")
    return int(text)


def _settings() -> str:
    """What --set can change, with each recipe's value."""
    columns = {name: recipe().as_dict() for name, recipe in RECIPES.items()}
    rows = {"setting": list(columns)} | {
        field.name: [str(values[field.name]) for values in columns.values()]
        for field in dataclasses.fields(JointRecipe)
    }
    lines = [f"  {name:14}" + "".join(f"{value:>12}" for value in row) for name, row in rows.items()]
    meaning = inspect.getdoc(JointRecipe) or ""
    return "\n".join(["settings:", *lines, "", meaning.split("\n\n", 1)[-1]])


def recipe_of(options: argparse.Namespace) -> JointRecipe:
    """Raises TrainingError where a value cannot be."""
    recipe = RECIPES[options.recipe]()
    if options.lora:
        recipe = with_lora(recipe)
    seed = [] if options.seed is None else [f"seed={options.seed}"]
    return changed(recipe, [*seed, *options.set])


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    main_process = os.environ.get("RANK", "0") == "0"
    output, stop = Output(options.output), StopRequest()
    progress = Progress(options.output, quiet=options.quiet, main=main_process)
    claimed = False
    try:
        stop.listen()
        if options.parent is not None:
            stop.watch_parent(options.parent)
        recipe = recipe_of(options)
        if main_process:
            output.claim(resume=options.resume)
        claimed = True
        if output.finished:
            progress.say(f"This run has ended; its model is in {output.model}.")
            return 0
        # Here, because PyTorch takes seconds to load, and a wrong option shall be told at once.
        from preference.training.joint.running import run

        run(options, recipe, output, progress, stop)
        return 0
    except Stopped as stopped:
        progress.state("stopped", stopped.why)
        progress.say(together(stopped.why, _("Go on with --resume.")))
        return 128 + stopped.signum
    except KeyboardInterrupt:
        progress.state("stopped", _("Interrupted while the checkpoint was written."))
        return 130
    except TrainingError as error:
        return _failed(progress if claimed else None, error.cause, error.remedy)
    except Exception as error:
        traceback.print_exc()
        return _failed(progress if claimed else None, f"{type(error).__name__}: {error}", _("See the log."))
    finally:
        output.release()


def leave(status: int) -> NoReturn:
    """Ends this process without the interpreter's own clean-up.

    A thread of gloo or NCCL that still holds a tensor asks for the interpreter to let go of it, and aborts a process
    whose interpreter is being taken apart: a run whose model is written would count as failed (seen in one of some
    hundred runs). A process group that FSDP holds cannot be ended before.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _failed(progress: Progress | None, cause: str, remedy: str) -> int:
    """progress: None while the folder may be another run's."""
    print(f"{cause}\n{remedy}", file=sys.stderr, flush=True)
    if progress is not None:
        progress.fail(cause, remedy)
    return 1
