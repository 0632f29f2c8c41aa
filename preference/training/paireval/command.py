"""Judge replies by comparing them with a few others (PairEval), or by asking whether they are good (DirectEval).

    python -m preference.training.paireval score --model DIR --comparisons FILE --data FILE --output FILE
    python -m preference.training.paireval train --data FILE --model DIR --output DIR
    python -m preference.training.paireval draw  --data FILE --output FILE

score: rows {"id", "history": [..], "response"} in; rows {"id", "score", "mass", "renormalised", "position_bias",
"orders": [[p_first, p_second] per example]} out. A reply that cannot be scored has "score": null and a "reason"; what
was changed, such as utterances left out because the history is too long, is in "dropped_utterances" and "note".

train: fine-tunes on pairs of a true and a worse reply. DIR/model is then an ordinary Hugging Face folder with its
comparison examples beside it, which score reads without --comparisons. SIGTERM or Ctrl-C writes a checkpoint and ends
the run (exit 143 or 130); --resume goes on from the last one.

draw: comparison examples from a corpus, once, by a seed.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from preference.training.common.command import (
    TrainingSession,
    add_run_options,
    positive_int,
    run_to_status,
)
from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import read_replies
from preference.training.common.launching import Launch, add_processes_option
from preference.training.common.messages import gettext as _
from preference.training.common.output import sha256_of
from preference.training.common.recipes import with_settings
from preference.training.paireval.corpus import ORIGINS
from preference.training.paireval.prompts import QUESTIONS, TEMPLATES
from preference.training.paireval.recipe import RECIPES, PairRecipe

PROGRAM = "python -m preference.training.paireval"
WEIGHTS = ("equal", "human")


def parser() -> argparse.ArgumentParser:
    """The command line of `python -m preference.training.paireval`."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    actions = parser.add_subparsers(dest="action", required=True)
    _add_score(actions.add_parser("score", help="score the replies of a file"))
    train = actions.add_parser(
        "train",
        help="fine-tune a model on pairs",
        epilog=_settings_table(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_train(train)
    _add_draw(actions.add_parser("draw", help="draw comparison examples from a corpus"))
    return parser


def _add_score(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", required=True, help="folder or hub id of a causal language model")
    add(
        "--comparisons", type=Path, help="JSONL of comparison examples (default: those in the model's folder)"
    )
    add("--data", type=Path, required=True, help="JSONL of replies to score")
    add("--output", type=Path, required=True, help="JSONL of scores, written batch by batch")
    add("--template", choices=TEMPLATES, help="default: the one of the training, else inst")
    add("--k", type=positive_int, default=3, help="comparison examples for each reply (default: 3)")
    add(
        "--question",
        choices=sorted(QUESTIONS),
        help="pair: PairEval, direct: DirectEval (default: as --template)",
    )
    add(
        "--weights",
        choices=WEIGHTS,
        default="equal",
        help="human: weight each comparison by the example's human score, as the authors' code does",
    )
    add("--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: a GPU if there is one")
    add("--threads", type=positive_int, help="of PyTorch on the CPU")
    add("--token-budget", type=positive_int, metavar="N", help="tokens of a forward pass")
    add("--resume", action="store_true", help="keep the rows that are in --output, and score the rest")


def _add_train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        required=True,
        help="snapshot folder, or JSONL of dialogues (format diamante) or of histories with replies",
    )
    add("--model", required=True, help="folder or hub id of a causal language model")
    add("--question", choices=sorted(QUESTIONS), help="pair: PairEval (default), direct: DirectEval")
    add("--template", choices=TEMPLATES, help="default: inst")
    add("--negatives", nargs="+", choices=ORIGINS, help="origins of the worse replies (default: all)")
    add("--recipe", choices=sorted(RECIPES), default="paper", help="default: paper")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting; may be repeated")
    add("--seed", type=int, help="of pairs, order and new weights; the same as --set seed=…")
    add_run_options(parser)
    add_processes_option(parser)


def _add_draw(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, help="a corpus, in a format that `train` reads")
    add("--output", type=Path, required=True, help="new JSONL of comparison examples")
    add("--count", type=positive_int, default=3, help="how many (default: 3)")
    add("--seed", type=int, default=1, help="default: 1")


def _settings_table() -> str:
    """What --set can change, with each recipe's value."""
    columns = {name: recipe().as_dict() for name, recipe in RECIPES.items()}
    rows = {"setting": list(columns)} | {
        field.name: [str(values[field.name]) for values in columns.values()]
        for field in dataclasses.fields(PairRecipe)
        if field.name != "negatives"
    }
    lines = [f"  {name:14}" + "".join(f"{value:>15}" for value in row) for name, row in rows.items()]
    meaning = inspect.getdoc(PairRecipe) or ""
    return "\n".join(["settings:", *lines, "", meaning.split("\n\n", 1)[-1]])


def build_recipe(options: argparse.Namespace) -> PairRecipe:
    """The recipe with the options that change a setting. Raises TrainingError for a value out of bounds."""
    recipe = RECIPES[options.recipe]()
    named = {
        "seed": options.seed,
        "question": options.question,
        "template": options.template,
        "negatives": " ".join(options.negatives) if options.negatives else None,
    }
    given = [f"{name}={value}" for name, value in named.items() if value is not None]
    return with_settings(recipe, [*given, *options.set])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status. On failure the last two lines on stderr are cause and remedy."""
    options = parser().parse_args(arguments)
    if options.action == "train":
        launch = Launch("preference.training.paireval", arguments)
        return run_to_status(options, build_recipe, _train, launch)
    try:
        (_score if options.action == "score" else _draw)(options)
    except TrainingError as error:
        print(f"{error.cause}\n{error.remedy}", file=sys.stderr)
        return 1
    except Exception as error:
        traceback.print_exc()
        print(f"{type(error).__name__}: {error}\n{_('See the log above.')}", file=sys.stderr)
        return 1
    return 0


def _train(options: argparse.Namespace, recipe: PairRecipe, session: TrainingSession) -> None:
    # Imported here because PyTorch takes seconds to load, and a wrong option is to be reported at once.
    from preference.training.paireval.run import train

    train(options, recipe, session)


def _score(options: argparse.Namespace) -> None:
    replies = read_replies(options.data)
    import torch

    from preference.training.common.scoring_run import score_to_file
    from preference.training.paireval.scorer import load_paireval

    if options.threads:
        torch.set_num_threads(options.threads)
    evaluator = load_paireval(
        options.model,
        comparisons=options.comparisons,
        k=options.k,
        template=options.template,
        question=options.question,
        weights=options.weights,
        device=options.device,
        token_budget=options.token_budget,
    )
    score_to_file(
        evaluator,
        replies,
        options.output,
        data_sha256=sha256_of(options.data),
        resume=options.resume,
        progress=_show_progress,
    )
    for note in evaluator.notes:
        print(note, file=sys.stderr)


def _draw(options: argparse.Namespace) -> None:
    from preference.training.paireval.comparisons import draw_comparisons, write_comparisons
    from preference.training.paireval.corpus import read_examples

    drawn = draw_comparisons(read_examples(options.data), options.count, options.seed)
    if options.output.exists():
        raise TrainingError(
            _("%(file)s exists already.") % {"file": options.output},
            _("Scores by other examples cannot be compared: name another file."),
        )
    try:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        write_comparisons(options.output, drawn)
    except OSError as error:
        raise TrainingError(
            _("%(file)s cannot be written: %(reason)s.") % {"file": options.output, "reason": error.strerror},
            _("Name another file with --output."),
        ) from error


def _show_progress(done: int, total: int) -> None:
    """Rewrite one line of the terminal; silent in a log, where it would be thousands of lines."""
    if sys.stderr.isatty():
        print(f"\r{done} of {total} replies", end="\n" if done == total else "", file=sys.stderr, flush=True)
