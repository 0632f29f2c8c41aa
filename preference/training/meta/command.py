"""How far evaluators can be trusted: their scores beside those of people.

    python -m preference.training.meta --data judged.jsonl --evaluators length likelihood=FOLDER --scores mine=FILE

Rows: {"id", "history": [..], "response", "human"}, and if known "humans" (one score for each person), "label" and
"labels" (categories), "system" (who wrote the reply) and "reference".

Reports Pearson, Spearman and Kendall with 95 % intervals, paired differences, a ranking, people beside machines, and
for every evaluator how many rows it could not score, and why. --probes adds replies that were spoiled on purpose.

OUTPUT/report.html, OUTPUT/report.json   the report
OUTPUT/NAME.jsonl                        scores of each evaluator; a second run with the same data keeps them
OUTPUT/NAME.svg                          people's scores and the evaluator's
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from measures.bootstrap import REPLICATES, SEED
from plots.standalone import standalone_svg
from preference.training.common.command import positive_int
from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import Evaluator
from preference.training.common.messages import gettext as _
from preference.training.common.output import sha256_of
from preference.training.common.reporting import exit_status, show_progress, write_text
from preference.training.common.scoring_run import score_in_batches, score_to_file
from preference.training.evaluators.table import build_evaluators, usage
from preference.training.meta.data import EvaluatorResult, JudgedReply, read_judged_replies, read_scores
from preference.training.meta.page import render_report, scatter_plots
from preference.training.meta.probes import good_replies, make_probes, probe_figures
from preference.training.meta.public_sets import FORMATS
from preference.training.meta.report import build_report
from preference.training.meta.scores import Resampling
from preference.training.meta.table import table


def parser() -> argparse.ArgumentParser:
    """The command line of `python -m preference.training.meta`."""
    parser = argparse.ArgumentParser(
        prog="python -m preference.training.meta",
        description=f"{__doc__}\nEvaluators:\n{usage()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="file with judged replies")
    add("--format", choices=list(FORMATS), help="a published set as it is; without it JSONL, see above")
    add("--evaluators", nargs="+", default=[], metavar="SPEC", help="NAME, or NAME=VALUE,setting=value")
    add("--scores", nargs="+", default=[], metavar="NAME=FILE", help="scores that were computed before")
    add("--human", default="human", metavar="COLUMN", help="column, or column.key, of people's score")
    add("--no-knowledge", action="store_true", help="ignore the column `knowledge`, which makes prompts long")
    add("--probes", action="store_true", help="also score replies that were spoiled on purpose")
    add("--replicates", type=positive_int, default=REPLICATES, help="resamples of every interval")
    add("--seed", type=int, default=SEED, help="of the resamples and the probes")
    add("--json", action="store_true", help="print the report as JSON, not as tables")
    add("--output", type=Path, metavar="DIR", help="write report, scores and plots there")
    return parser


def run(options: argparse.Namespace) -> None:
    """Print the report, and write it with --output. Raises TrainingError."""
    files = [_score_file(text) for text in options.scores]
    replies = read_judged_replies(options.data, options.human, options.format)
    if options.no_knowledge:
        replies = [replace(each, reply=replace(each.reply, knowledge="")) for each in replies]
    evaluators = build_evaluators(options.evaluators)
    _check_names([*(evaluator.name for evaluator in evaluators), *(name for name, _file in files)])
    results = [_score(evaluator, replies, options) for evaluator in evaluators]
    results += [read_scores(name, file, replies) for name, file in files]
    resampling = Resampling(options.replicates, options.seed)
    report: dict[str, Any] = {
        "data": {"path": str(options.data), "sha256": sha256_of(options.data), "human": options.human},
        **build_report(replies, results, resampling),
    }
    if options.probes:
        probes = make_probes(good_replies(replies), seed=options.seed)
        report["probes"] = {each.name: probe_figures(each, probes, resampling) for each in evaluators}
    text = json.dumps(report, ensure_ascii=False, indent=2, allow_nan=False)
    if options.output:
        _write(options.output, report, text, replies, results)
    print(text if options.json else table(report))


def _score(
    evaluator: Evaluator, judged: Sequence[JudgedReply], options: argparse.Namespace
) -> EvaluatorResult:
    """Scores of all replies; with --output kept in a file, from which an interrupted run goes on."""
    replies = [each.reply for each in judged]
    if not options.output:
        scores = score_in_batches(evaluator, replies, progress=show_progress)
        return EvaluatorResult(evaluator.name, scores, evaluator.describe())
    file = options.output / f"{_file_name(evaluator.name)}.jsonl"
    score_to_file(
        evaluator,
        replies,
        file,
        data_sha256=sha256_of(options.data) + (" without knowledge" if options.no_knowledge else ""),
        resume=file.exists(),
        progress=show_progress,
    )
    found = read_scores(evaluator.name, file, judged)
    return EvaluatorResult(found.name, found.scores, evaluator.describe())


def _score_file(text: str) -> tuple[str, Path]:
    name, equals, file = text.partition("=")
    if not (name and equals and file):
        raise TrainingError(
            _("%(text)s does not name a file of scores.") % {"text": text},
            _("Write --scores NAME=FILE."),
        )
    return name, Path(file)


def _check_names(names: Sequence[str]) -> None:
    """Raise TrainingError unless there are evaluators, with different names, also as names of files."""
    if not names:
        raise TrainingError(
            _("No evaluator is named."), _("Name some with --evaluators, or files with --scores.")
        )
    files = [_file_name(name).casefold() for name in names]
    twice = next((name for name, file in zip(names, files, strict=True) if files.count(file) > 1), None)
    if twice is not None:
        raise TrainingError(
            _("Two evaluators are called %(name)s.") % {"name": twice},
            _("Add name=… to one of them."),
        )


def _write(
    folder: Path,
    report: dict[str, Any],
    text: str,
    replies: Sequence[JudgedReply],
    results: Sequence[EvaluatorResult],
) -> None:
    plots = scatter_plots(replies, results)
    write_text(folder / "report.json", text + "\n")
    write_text(folder / "report.html", render_report(report, replies, results, plots))
    for name, svg in plots:
        write_text(folder / f"{_file_name(name)}.svg", standalone_svg(svg) + "\n")


def _file_name(name: str) -> str:
    """The name of an evaluator without what a file's name cannot hold."""
    return re.sub(r"[^\w.-]", "_", name).lstrip(".") or "_"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status. On failure the last two lines on stderr are cause and remedy."""
    return exit_status(parser().parse_args(arguments), run)
