"""Learn to tell the topics of dialogues apart, and tag dialogues with them (Diamante, figure 6).

    python -m preference.training.topics train --data labelled.jsonl --column topic --output DIR
    python -m preference.training.topics tag --data dialogues.jsonl --model DIR/model --output topics.jsonl

train takes rows {"id", "dialogue": [{"role", "content"}], "topic"}, and the models, settings and files of
`python -m preference.training.assessor`. A topic is one of 26 categories, by id or name, or one of --categories.
tag takes rows {"id", "dialogue"} and writes {"id", "topic", "probability"}; --resume goes on behind the last row that
an earlier run of the same model and data wrote.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from preference.training.assessor.command import add_assessor_options, build_recipe, settings_table
from preference.training.assessor.data import read_unlabelled
from preference.training.assessor.recipe import AssessorRecipe
from preference.training.common.command import TrainingSession, run_to_status
from preference.training.common.errors import TrainingError
from preference.training.common.output import sha256_of
from preference.training.common.progress import read_lines
from preference.training.common.reporting import show_progress
from preference.training.common.scoring_run import score_to_file
from preference.training.topics.categories import CATEGORIES, read_categories, topic_task
from preference.training.topics.tagged import DialogueToTag


def parser() -> argparse.ArgumentParser:
    """The command line of `python -m preference.training.topics`."""
    parser = argparse.ArgumentParser(
        prog="python -m preference.training.topics",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser(
        "train", epilog=settings_table(), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_assessor_options(train)
    train.add_argument("--column", default="topic", help="where a row has its topic (default: topic)")
    train.add_argument(
        "--categories",
        type=Path,
        metavar="FILE",
        help='JSON list of {"id", "en", "zh"} (default: 26 of them)',
    )
    tag = commands.add_parser("tag")
    tag.add_argument(
        "--data", type=Path, required=True, help="JSONL file with dialogues, or a snapshot folder"
    )
    tag.add_argument("--model", type=Path, required=True, help="folder `model` of a training")
    tag.add_argument("--output", type=Path, required=True, help="JSONL file to write")
    tag.add_argument("--resume", action="store_true", help="go on with --output, if it exists")
    tag.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status. On failure the last two lines on stderr are cause and remedy."""
    options = parser().parse_args(arguments)
    if options.command == "train":
        return run_to_status(options, build_recipe, _train)
    try:
        counts = tag_file(
            options.data, options.model, options.output, device=options.device, resume=options.resume
        )
        print(describe_topics(counts))
    except TrainingError as error:
        print(f"{error.cause}\n{error.remedy}", file=sys.stderr)
        return 1
    return 0


def _train(options: argparse.Namespace, recipe: AssessorRecipe, session: TrainingSession) -> None:
    # Imported here because PyTorch takes seconds to load, and a wrong option is to be reported at once.
    from preference.training.assessor.run import Experiments, train

    categories = read_categories(options.categories) if options.categories else CATEGORIES
    task = topic_task(categories, options.column)
    train(options, recipe, session, task, Experiments(curve=options.curve))


def tag_file(
    data: Path, model: Path, output: Path, *, device: str = "auto", resume: bool = False
) -> Counter[str]:
    """Write the most probable topic of every dialogue; returns how many dialogues have each. Raises TrainingError."""
    dialogues = [DialogueToTag(name, turns) for name, turns in read_unlabelled(data).items()]
    from preference.training.topics.tagger import TopicTagger

    tagger = TopicTagger(model, device=device)
    score_to_file(
        tagger, dialogues, output, data_sha256=sha256_of(data), resume=resume, progress=show_progress
    )
    return Counter(str(row["topic"]) for row in read_lines(output))


def describe_topics(counts: Counter[str]) -> str:
    """A line for each topic, the most frequent first."""
    total = counts.total()
    return "\n".join(f"{topic:24}{count:8}  {count / total:6.1%}" for topic, count in counts.most_common())
