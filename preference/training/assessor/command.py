"""Train models that judge the quality of a dialogue, and compare them (DiQAD, section 5).

    python -m preference.training.assessor --data labelled.jsonl --output DIR --models majority gru FOLDER_OR_ID

--data holds rows {"id", "dialogue": [{"role", "content"}], "label": 0 | 1 | 2, "domain"?, "split"?}, as the export
format diqad writes them. A split that the data does not give is drawn by seed, a tenth of every label.

Models: majority, naive_bayes, logistic_regression, gradient_boosting (n-grams), gru, transformer (from scratch), and
any folder or hub id of a pretrained encoder or decoder, which gets a new output layer. --judge adds a language model
behind an OpenAI-compatible server, asked directly and asked to reason first; --predictions adds what others predict.

In DIR: metrics.json (by model, on the split test), predictions.jsonl (splits valid and test), report.html, report.json,
and model/, the trained network with the best macro F1 on the split valid: an ordinary Hugging Face folder.

--leave-out, --perturb and --curve examine one model: that of --examine, or else the best on the split valid.

SIGTERM or Ctrl-C writes a checkpoint and ends the run (exit 143 or 130); --resume goes on. Models that are done are not
trained again, also if --resume adds others. Exit 1: stderr and state.json name cause and remedy.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Sequence
from pathlib import Path

from preference.training.assessor.recipe import AssessorRecipe, with_lora
from preference.training.assessor.task import QUALITY
from preference.training.common.command import TrainingSession, add_run_options, run_to_status
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.recipes import with_settings

JUDGE_ROWS = ("judge", "judge_steps")  # in the table: asked directly, and asked to reason first
DEFAULT_MODELS = ("majority", "naive_bayes", "logistic_regression", "gradient_boosting", "gru", "transformer")


def parser() -> argparse.ArgumentParser:
    """The command line of `python -m preference.training.assessor`."""
    parser = argparse.ArgumentParser(
        prog="python -m preference.training.assessor",
        description=__doc__,
        epilog=settings_table(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_assessor_options(parser)
    parser.add_argument(
        "--leave-out",
        metavar="DOMAIN",
        help="train without a domain and test on it; `domain` does so with every domain in turn",
    )
    parser.add_argument(
        "--perturb", action="store_true", help="test with a satisfied, and with a dissatisfied ending"
    )
    return parser


def add_assessor_options(parser: argparse.ArgumentParser) -> None:
    """The options that do not depend on what is predicted."""
    add = parser.add_argument
    add("--data", type=Path, required=True, help="JSONL file with labelled dialogues, or a snapshot folder")
    add("--models", nargs="+", default=list(DEFAULT_MODELS), metavar="MODEL", help="default: all baselines")
    add(
        "--predictions",
        nargs="+",
        type=named_file,
        default=[],
        metavar="NAME=FILE",
        help="compare predictions made elsewhere, too: JSONL with id and prediction",
    )
    add("--judge", metavar="URL", help="OpenAI-compatible server that labels the test dialogues, with /v1")
    add("--judge-model", metavar="NAME", help="model of the judge")
    add(
        "--judge-questions",
        type=Path,
        metavar="FILE",
        help="labelling schema, as JSON or YAML, with the question",
    )
    add("--judge-language", choices=("en", "zh"), default="en", help="of the question")
    add("--judge-key-env", default="OPENAI_API_KEY", metavar="NAME", help="environment variable with its key")
    add("--curve", action="store_true", help="number of training dialogues, longest input, number of weights")
    add("--examine", metavar="MODEL", help="which of --models the experiments examine")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting; may be repeated")
    add(
        "--lora",
        action="store_true",
        help="train adapters of rank 16 in pretrained models, at a rate of 1e-4",
    )
    add("--seed", type=int, help="of splits, order, and new weights; the same as --set seed=…")
    add_run_options(parser)


def named_file(text: str) -> tuple[str, Path]:
    """A type for argparse: `judge=predictions.jsonl` as a name and a path."""
    name, equals, file = text.partition("=")
    if not (name and equals and file):
        raise argparse.ArgumentTypeError(f"{text!r} must be NAME=FILE")
    return name, Path(file)


def settings_table() -> str:
    """What --set can change."""
    lines = [f"  {name:14}{value!s:>12}" for name, value in AssessorRecipe().as_dict().items()]
    meaning = inspect.getdoc(AssessorRecipe) or ""
    return "\n".join(["settings:", *lines, "", meaning.split("\n\n", 1)[-1]])


def build_recipe(options: argparse.Namespace) -> AssessorRecipe:
    """The recipe with --lora, --seed and --set. Raises TrainingError for a value out of bounds or a wrong name."""
    names = {*options.models, *(JUDGE_ROWS if options.judge else ())}
    if taken := next((name for name, _file in options.predictions if name in names), ""):
        raise TrainingError(
            _("%(model)s is a model and the name of predictions, too.") % {"model": taken},
            _("Give the predictions another name."),
        )
    if options.examine is not None and options.examine not in options.models:
        raise TrainingError(
            _("%(model)s is not among the models.") % {"model": options.examine},
            _("Name one of %(models)s with --examine.") % {"models": ", ".join(options.models)},
        )
    if options.judge and not (options.judge_model and options.judge_questions):
        raise TrainingError(
            _("A judge needs a model and a question."),
            _("Give --judge-model and --judge-questions, for example the preset of the labelling project."),
        )
    recipe = AssessorRecipe()
    if options.lora:
        recipe = with_lora(recipe)
    seed = [] if options.seed is None else [f"seed={options.seed}"]
    return with_settings(recipe, [*seed, *options.set])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    return run_to_status(parser().parse_args(arguments), build_recipe, _train)


def _train(options: argparse.Namespace, recipe: AssessorRecipe, session: TrainingSession) -> None:
    # Imported here because PyTorch takes seconds to load, and a wrong option is to be reported at once.
    from preference.training.assessor.run import Experiments, train

    wanted = Experiments(options.leave_out, perturb=options.perturb, curve=options.curve)
    train(options, recipe, session, QUALITY, wanted)
