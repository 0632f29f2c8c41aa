"""Score a file of replies with any evaluator, or let a judge label whole dialogues.

    python -m preference.training.evaluators score --evaluator length --data replies.jsonl --output scores.jsonl
    python -m preference.training.evaluators label --evaluator judge=URL,model=NAME,questions=FILE,only=quality ...
    python -m preference.training.evaluators label --evaluator judge=URL,model=NAME --topics ...
    python -m preference.training.evaluators rank --data SNAPSHOT --evaluators paireval=FOLDER length

score: rows {"id", "history": [..], "response"} in; {"id", "score", …} out, or "score": null and a "reason".
rank: how often each evaluator puts the human reply above the candidates that the annotator saw; a table, or --json.
label: rows {"id", "dialogue": [{"role", "content"}]} in; {"id", "prediction", …} out, or null and a "reason".
--resume goes on behind the last row that an earlier run of the same evaluator and data wrote.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from preference.training.common.dialogues import read_dialogues
from preference.training.common.evaluators import read_replies
from preference.training.common.messages import gettext as _
from preference.training.common.output import sha256_of
from preference.training.common.progress import read_lines
from preference.training.common.reporting import exit_status, show_progress
from preference.training.common.scoring_run import BATCH, Item, Scorer, score_to_file
from preference.training.evaluators.labels import build_labeller, read_dialogues_to_label
from preference.training.evaluators.table import build_evaluator, build_evaluators, usage
from preference.training.joint.evaluation.command import dialogues_of_split
from preference.training.topics.categories import CATEGORIES, read_categories


def parser() -> argparse.ArgumentParser:
    """The command line of `python -m preference.training.evaluators`."""
    parser = argparse.ArgumentParser(
        prog="python -m preference.training.evaluators",
        description=f"{__doc__}\nEvaluators:\n{usage()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    score = commands.add_parser("score", help="score every reply of a file")
    _add_options(score, "replies", "scores")
    score.add_argument(
        "--no-knowledge", action="store_true", help="ignore the column `knowledge`, which makes prompts long"
    )
    _add_rank_options(commands.add_parser("rank", help="rank human replies among their candidates"))
    label = commands.add_parser("label", help="label every dialogue of a file with a judge")
    _add_options(label, "dialogues", "labels")
    topics = label.add_mutually_exclusive_group()
    topics.add_argument("--topics", action="store_true", help="the label is one of 26 topics")
    topics.add_argument("--categories", type=Path, metavar="FILE", help="the label is one of these topics")
    return parser


def _add_options(parser: argparse.ArgumentParser, items: str, results: str) -> None:
    add = parser.add_argument
    add("--evaluator", required=True, metavar="SPEC", help="NAME, or NAME=VALUE,setting=value")
    add("--data", type=Path, required=True, help=f"JSONL file with {items}")
    add("--output", type=Path, required=True, metavar="FILE", help=f"JSONL file with {results}")
    add("--resume", action="store_true", help="go on with --output, if it exists")


def _add_rank_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--evaluators", required=True, nargs="+", metavar="SPEC", help="NAME, or NAME=VALUE,setting=value")
    add("--data", type=Path, required=True, help="snapshot folder, or a JSONL file in the format diamante")
    add("--split", default="test", help="train, valid, test (default), or all")
    add("--seed", type=int, default=1, help="of the random replies and of the intervals")
    add("--json", action="store_true", help="print the report as JSON, not as a table")


def rank(options: argparse.Namespace) -> None:
    """Print how the evaluators rank the human replies of a split. Raises TrainingError."""
    from preference.training.evaluators.candidate_ranking import rank_candidates, ranking_table

    dialogues = dialogues_of_split(read_dialogues(options.data), options.split, options.data)
    evaluators = build_evaluators(options.evaluators)
    report = rank_candidates(
        evaluators,
        dialogues,
        seed=options.seed,
        progress=lambda _name, done, total: show_progress(done, total),
    )
    described = {each.name: each.describe() for each in evaluators}
    report = {
        "split": options.split,
        "data_sha256": sha256_of(options.data),
        "described": described,
        **report,
    }
    print(json.dumps(report, ensure_ascii=False, indent=2) if options.json else ranking_table(report))


def score(options: argparse.Namespace) -> None:
    """Write the scores, then a summary to stderr. Raises TrainingError."""
    replies, data = read_replies(options.data), sha256_of(options.data)
    if options.no_knowledge:
        replies = [replace(reply, knowledge="") for reply in replies]
        data += " without knowledge"
    _write(options, build_evaluator(options.evaluator), replies, data, "score")


def label(options: argparse.Namespace) -> None:
    """Write the labels, then a summary to stderr. Raises TrainingError."""
    categories = CATEGORIES if options.topics else ()
    if options.categories:
        categories = read_categories(options.categories)
    dialogues = read_dialogues_to_label(options.data)
    labeller = build_labeller(options.evaluator, categories)
    _write(options, labeller, dialogues, sha256_of(options.data), "prediction")


def _write(
    options: argparse.Namespace, evaluator: Scorer[Item], items: Sequence[Item], data_sha256: str, column: str
) -> None:
    score_to_file(
        evaluator,
        items,
        options.output,
        data_sha256=data_sha256,
        resume=options.resume,
        batch=BATCH,
        progress=show_progress,
    )
    print("\n".join(summary(read_lines(options.output), column)), file=sys.stderr)


def summary(rows: Sequence[dict[str, Any]], column: str = "score") -> list[str]:
    """How many rows have a result, why the others have none, and what a judge cost."""
    reasons = Counter(row.get("reason", "") for row in rows if row[column] is None)
    lines = [
        _("%(scored)s of %(total)s rows have a result.")
        % {"scored": len(rows) - reasons.total(), "total": len(rows)}
    ]
    lines += [f"  {count} × {reason}" for reason, count in reasons.most_common(5)]
    costs = [row["tokens"] for row in rows if isinstance(row.get("tokens"), dict)]
    if costs:
        lines.append(
            _("The judge read %(prompt)s tokens and wrote %(completion)s in %(requests)s answers.")
            % {
                "prompt": sum(cost["prompt"] for cost in costs),
                "completion": sum(cost["completion"] for cost in costs),
                "requests": sum(row.get("requests", 0) for row in rows),
            }
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status. On failure the last two lines on stderr are cause and remedy."""
    options = parser().parse_args(arguments)
    return exit_status(options, {"label": label, "rank": rank, "score": score}[options.command])
