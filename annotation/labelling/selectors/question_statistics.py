"""Statistics of one question's ratings: bias and spread of its raters, and agreement over time."""

from dataclasses import asdict
from datetime import date, timedelta
from typing import Any, Final

import numpy as np

from annotation.labelling.schema.questions import Question
from annotation.labelling.selectors.agreement import by_item, table_agreement
from annotation.labelling.selectors.ratings import NUMERIC, RatingTable
from measures.agreement import percent_agreement
from measures.bootstrap import Ints
from measures.icc import icc
from measures.raters import rater_bias, z_scores
from measures.ratings import Ratings

EPOCH: Final = date(1970, 1, 1)
# Spans up to so many days are counted by day and by week; longer ones by month.
MAX_DAYS_BY_DAY, MAX_DAYS_BY_WEEK = 60, 420


def question_statistics(table: RatingTable) -> dict[str, Any]:
    """All statistics of one question as plain JSON.

    {"name", "kind", "raters", "ratings", "measures", "people", "scale", "unit", "course"}; see the functions below.
    "scale" is None for questions whose answers are not numbers.
    """
    question, agreement = table.rated.question, table_agreement(table)
    is_numeric = has_numeric_answers(question)
    return {
        "name": agreement.name,
        "kind": str(question.kind),
        "raters": agreement.raters,
        "ratings": agreement.ratings,
        "measures": {name: estimate.as_dict() for name, estimate in agreement.measures.items()},
        "people": _people(table, is_numeric=is_numeric),
        "scale": _scale(table.ratings) if is_numeric else None,
        **_agreement_over_time(table),
    }


def has_numeric_answers(question: Question) -> bool:
    return question.kind in NUMERIC


def _people(table: RatingTable, *, is_numeric: bool) -> list[dict[str, Any]]:
    """One entry per rater: {"id", "n", "agrees", "pairs"}; for numeric answers also {"mean", "sd", "bias"}.

    agrees: the share of equal pairs among all pairs with others' ratings of the same items; None without pairs.
    sd: None below two ratings; 0 if they are all equal (such a rater has no z-scores).
    """
    ratings = table.merged_ratings()
    counts = ratings.counts()
    others = counts.sum(axis=1)[ratings.item] - 1
    same = counts[ratings.item, ratings.code] - 1
    people = [
        {"id": rater, "n": n, "agrees": equal / pairs if pairs else None, "pairs": pairs}
        for rater, n, equal, pairs in zip(
            ratings.raters,
            *(_sum_by_rater(ratings, values) for values in (np.ones_like(same), same, others)),
            strict=True,
        )
    ]
    if is_numeric:
        for person, bias, spread in zip(
            people, rater_bias(table.ratings), z_scores(table.ratings).spreads, strict=True
        ):
            bias_data = {name: value for name, value in asdict(bias).items() if name != "rater"}
            person |= {"mean": spread.mean, "sd": spread.sd, "bias": bias_data}
    return people


def _sum_by_rater(ratings: Ratings, values: Ints) -> list[int]:
    sums = np.bincount(ratings.rater, values, minlength=len(ratings.raters))
    return [round(total) for total in sums.tolist()]


def _scale(ratings: Ratings) -> dict[str, Any]:
    """Whether z-scores increase agreement: {"raw", "z"} are the ICC(1,1) before and after.

    excluded: number of raters without variance, who have no z-scores. left_out: number of their ratings.
    """
    scored = z_scores(ratings)
    return {
        "raw": icc(by_item(ratings.item, ratings.values())).as_dict(),
        "z": icc(by_item(scored.item, scored.z)).as_dict(),
        "excluded": len(scored.excluded),
        "left_out": scored.left_out,
    }


def _agreement_over_time(table: RatingTable) -> dict[str, Any]:
    """Percent agreement of the items whose last rating falls in each period, oldest first, gaps included.

    {"unit": "day" | "week" | "month", "course": [{"start", "value", "low", "high", "n"}]}
    """
    ratings = table.merged_ratings()
    if not ratings.item.size:
        return {"unit": "day", "course": []}
    counts, completed = ratings.counts(), np.zeros(len(ratings.items), np.int64)
    np.maximum.at(completed, ratings.item, table.day)
    rated = counts.sum(axis=1) >= 2
    counts, completed = counts[rated], completed[rated]
    if not completed.size:
        return {"unit": "day", "course": []}
    span = int(completed.max() - completed.min())
    unit = "day" if span <= MAX_DAYS_BY_DAY else "week" if span <= MAX_DAYS_BY_WEEK else "month"
    starts = _period_starts(completed, unit)
    at, course = int(starts.min()), []
    while at <= int(starts.max()):
        estimate = percent_agreement(counts[starts == at]).as_dict()
        course.append({"start": (EPOCH + timedelta(at)).isoformat(), **estimate})
        at = _next_start(at, unit)
    return {"unit": unit, "course": course}


def _period_starts(days: Ints, unit: str) -> Ints:
    """The first day of each day's period. Weeks begin on Monday; 1 January 1970 was a Thursday."""
    if unit == "day":
        return days
    if unit == "week":
        weeks: Ints = (days + 3) // 7 * 7 - 3
        return weeks
    months = days.astype("datetime64[D]").astype("datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int64)


def _next_start(start: int, unit: str) -> int:
    if unit == "month":
        later = (EPOCH + timedelta(start + 32)).replace(day=1)
        return (later - EPOCH).days
    return start + (7 if unit == "week" else 1)
