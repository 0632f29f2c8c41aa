"""Collections and their reports as JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from assessment.collections.selectors.report import CollectionReport, Criterion, SystemRow
from assessment.collections.selectors.verdict import verdict_sentences

CSV_HEAD = ("system", "criterion", "mean", "low", "high", "items", "made", "missing", "rated")


def serialize_report(report: CollectionReport) -> dict[str, Any]:
    """The report as JSON. A system is null where the human reply is meant."""
    return {
        "kind": report.kind.value,
        "verdict": verdict_sentences(report),
        "planned": report.planned,
        "rated": report.rated,
        "systems": [_serialize_system(row) for row in report.systems],
        "agreement": report.overall_agreement.as_dict(),
        "criteria": [_serialize_criterion(criterion) for criterion in report.criteria],
        "better_than_human": [asdict(each) for each in report.beaten],
        "missing": [{**asdict(each), "system": each.system or None} for each in report.missing],
    }


def _serialize_system(row: SystemRow) -> dict[str, Any]:
    return {
        "system": row.system or None,
        "made": row.made,
        "missing": row.missing,
        "rated": row.rated,
        "scores": {name: score.as_dict() for name, score in row.scores.items()},
    }


def _serialize_criterion(criterion: Criterion) -> dict[str, Any]:
    return {
        "name": criterion.name,
        "text": {"en": criterion.text.en, "zh": criterion.text.zh},
        "agreement": criterion.agreement.as_dict(),
        "without_majority": criterion.split,
        "comparisons": [
            {
                "better": each.better or None,
                "worse": each.worse or None,
                "means": list(each.means),
                "p": each.p,
                "n": each.n,
                "needed": each.needed,
            }
            for each in criterion.comparisons
        ],
        "one_sided": [
            {"better": test.better or None, "worse": test.worse or None, "p": test.p}
            for test in criterion.pairwise
        ],
    }


def report_rows(report: CollectionReport) -> Iterator[dict[str, Any]]:
    """The table of scores in long form, with the columns CSV_HEAD. An empty system is the human reply."""
    for row in report.systems:
        for name, score in row.scores.items():
            yield {
                "system": row.system,
                "criterion": name,
                "mean": score.value,
                "low": score.low,
                "high": score.high,
                "items": score.n,
                "made": row.made,
                "missing": row.missing,
                "rated": row.rated,
            }
