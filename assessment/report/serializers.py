"""The report as JSON, for the command, the page's download and the API."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from assessment.report.selectors.conversations import TopicAnswers, median_lengths, topic_answers
from assessment.report.selectors.report_cache import cached_lengths
from assessment.report.selectors.run_report import RunPair, RunReport, Split, replications
from measures.participant_agreement import pair_correlations
from measures.system_comparison import Correlations, statement_correlations
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
        "threshold": report.threshold,
        "participants": _whole(report.participants),
        "dialogues": _whole(report.dialogues),
        "minutes_per_dialogue": {
            "all": report.minutes.all,
            "passed": report.minutes.passed,
            "failed": report.minutes.failed,
        },
        "systems": [_system(each, raw[each.system]) for each in report.scores],
        "pairwise": [{"better": test.better, "worse": test.worse, "p": test.p} for test in report.pairwise],
        "correlations": [
            {"scores": list(names), **_correlations(each)}
            for names, each in statement_correlations(report.scores).items()
        ],
        "agreement": _agreement(report),
        "reliability": [
            {
                "participant": test.participant,
                "p": test.p,
                "passed": test.passes(report.threshold),
                "ratings": test.ordinary,
                "ratings_of_degraded": test.degraded,
            }
            for test in report.tests
        ],
        **_conversations(report),
    }


def serialize_pair(pair: RunPair) -> dict[str, Any]:
    """Two runs compared."""
    return {
        "runs": list(pair.runs),
        "scores": {name: _correlations(each) for name, each in pair.replication.by_score.items()},
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
        "intervals": {name: [each.low, each.high] for name, each in scores.by_statement.items()},
        "raw": {
            "overall": raw.overall.value,
            **{name: estimate.value for name, estimate in raw.by_statement.items()},
        },
    }


def _correlations(each: Correlations) -> dict[str, float | None]:
    return {"pearson": each.pearson, "spearman": each.spearman, "kendall": each.kendall}


def _agreement(report: RunReport) -> dict[str, Any]:
    """The median r of every two assignments with the same systems, and the number of such pairs."""
    table = report.ratings.dialogues
    passed = table.of_participants(report.passed)
    found = {
        part: pair_correlations(table, report.z, rows)
        for part, rows in (("passed", passed), ("failed", ~passed))
    }
    return {
        part: {"pairs": r.size, "median": float(np.median(r)) if r.size else None}
        for part, r in found.items()
    }


def _conversations(report: RunReport) -> dict[str, Any]:
    """What participants say about their topics, and how much they write."""
    people = {assignment.participant for assignment in report.ratings.assignments}
    parts = {"passed": report.passed, "failed": people - report.passed}
    answers, lengths = topic_answers(report.run), cached_lengths(report.run)
    return {
        "topics": {
            part: _count(answers, chosen, lambda each: each.opinion) for part, chosen in parts.items()
        },
        "topic_changes": {
            part: _count(answers, chosen, lambda each: each.topic_change) for part, chosen in parts.items()
        },
        "median_lengths": {part: asdict(median_lengths(lengths, chosen)) for part, chosen in parts.items()},
    }


def _count(
    answers: Sequence[TopicAnswers], participants: Collection[int], choice: Callable[[TopicAnswers], str]
) -> dict[str, int]:
    counts = Counter[str]()
    for answer in answers:
        if answer.participant in participants and choice(answer):
            counts[choice(answer)] += answer.n
    return dict(counts)
