"""Score a file of replies with any evaluator.

    python -m preference.training.evaluators score --evaluator length --data replies.jsonl --output scores.jsonl

Rows in:   {"id": "7", "history": ["Hi!", "Hello."], "response": "How are you?", "reference": "…"}
Rows out:  {"id": "7", "score": 0.71, …}, or {"id": "8", "score": null, "reason": "…"}

--resume goes on behind the last row that an earlier run of the same evaluator and data wrote.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preference.training.common.evaluators import read_replies
from preference.training.common.messages import gettext as _
from preference.training.common.output import sha256_of
from preference.training.common.progress import read_lines
from preference.training.common.reporting import exit_status, show_progress
from preference.training.common.scoring_run import BATCH, score_to_file
from preference.training.evaluators.table import build_evaluator, usage


def parser() -> argparse.ArgumentParser:
    """The command line of `python -m preference.training.evaluators`."""
    parser = argparse.ArgumentParser(
        prog="python -m preference.training.evaluators",
        description=f"{__doc__}\nEvaluators:\n{usage()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("score", help="score every reply of a file").add_argument
    add("--evaluator", required=True, metavar="SPEC", help="NAME, or NAME=VALUE,setting=value")
    add("--data", type=Path, required=True, help="JSONL file with replies")
    add("--output", type=Path, required=True, metavar="FILE", help="JSONL file with scores")
    add("--resume", action="store_true", help="go on with --output, if it exists")
    return parser


def score(options: argparse.Namespace) -> None:
    """Write the scores, then a summary to stderr. Raises TrainingError."""
    replies = read_replies(options.data)
    evaluator = build_evaluator(options.evaluator)
    score_to_file(
        evaluator,
        replies,
        options.output,
        data_sha256=sha256_of(options.data),
        resume=options.resume,
        batch=BATCH,
        progress=show_progress,
    )
    print("\n".join(summary(read_lines(options.output))), file=sys.stderr)


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """How many rows have a score, why the others have none, and what a judge cost."""
    reasons = Counter(row.get("reason", "") for row in rows if row["score"] is None)
    lines = [
        _("%(scored)s of %(total)s replies have a score.")
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
    return exit_status(parser().parse_args(arguments), score)
