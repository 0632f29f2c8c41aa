"""The report as JSON, for the command, the page's download and the API."""

from collections.abc import Sequence
from typing import Any

from assessment.report.selectors.run_report import RunPair, RunReport, Split, replications
from measures.system_scores import SystemScores


def serialize_report(reports: Sequence[RunReport]) -> dict[str, Any]:
    """The reports of runs and the comparison of every two of them. Undefined numbers are null."""
    return {
        "runs": [serialize_run(report) for report in reports],
        "replication": [serialize_pair(pair) for pair in replications(reports)],
    }


def serialize_run(report: RunReport) -> dict[str, Any]:
    """One run. Scores are standardised; "raw" is 0-100; "low" and "high" bound the overall score."""
    raw = {each.system: each for each in report.raw}
    return {
        "run": report.run.number,
        "participants": _whole(report.participants),
        "dialogues": _whole(report.dialogues),
        "minutes_per_dialogue": {
            "all": report.minutes.all,
            "passed": report.minutes.passed,
            "failed": report.minutes.failed,
        },
        "systems": [_system(each, raw[each.system]) for each in report.scores],
        "pairwise": [{"better": test.better, "worse": test.worse, "p": test.p} for test in report.pairwise],
    }


def serialize_pair(pair: RunPair) -> dict[str, Any]:
    """Two runs compared."""
    return {
        "runs": list(pair.runs),
        "scores": {
            name: {"pearson": each.pearson, "spearman": each.spearman, "kendall": each.kendall}
            for name, each in pair.replication.by_score.items()
        },
        "same_conclusions": {
            f"{level:g}": same.share for level, same in pair.replication.same_conclusions.items()
        },
    }


def _whole(split: Split) -> dict[str, float | None]:
    return {"all": split.all, "passed": split.passed}


def _system(scores: SystemScores, raw: SystemScores) -> dict[str, Any]:
    return {
        "system": scores.system,
        "n": scores.overall.n,
        "overall": scores.overall.value,
        "low": scores.overall.low,
        "high": scores.overall.high,
        "scores": {name: estimate.value for name, estimate in scores.by_statement.items()},
        "raw": {
            "overall": raw.overall.value,
            **{name: estimate.value for name, estimate in raw.by_statement.items()},
        },
    }
